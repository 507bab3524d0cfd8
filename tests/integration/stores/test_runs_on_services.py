"""A URL and the usual environment are all that workers, clients and `BlobCheckpointStorage` need to use a service."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableWorkflow
from tests.support import commands
from tests.support.long_report import LENGTH, build
from tests.support.running import pending
from tests.support.stores import Service


@pytest.fixture(params=["s3", "azure"])
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service that the environment leads to."""
    found: Service = request.getfixturevalue(f"{request.param}_service")
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    return found


@contextmanager
def worker(client: Client, task_queue: str, url: str) -> Iterator[None]:
    """A worker in a process of its own serves while the block is open, and then is told to stop."""
    env = commands.environment(
        TEMPORAL_ADDRESS=client.service_client.config.target_host, TEMPORAL_NAMESPACE=client.namespace
    )
    options = ["--workflow", "tests.support.long_report:build", "--task-queue", task_queue, "--checkpoint-store", url]
    with commands.started("-m", "workers", *options, env=env) as process:
        assert f"checkpoints in {url}" in commands.line_with(process, "Serving")
        yield
        process.send_signal(signal.SIGTERM)
        assert commands.ended(process).code == 0


async def test_a_run_goes_on_in_another_process_from_what_the_service_holds(
    client: Client, task_queue: str, service: Service
) -> None:
    url = f"{service.url}/{uuid4().hex[:12]}"
    durable = DurableWorkflow(client, "long-report", task_queue=task_queue, checkpoint_store=url)
    with worker(client, task_queue, url):
        run = await durable.start("a")
        [request] = await pending(run)
    with worker(client, task_queue, url):
        await run.respond(request.request_id, True)
        [output] = (await run.result()).get_outputs()
        headers = await run.checkpoints()

    assert output == "a" * LENGTH
    assert len((await run.handle.fetch_history()).to_json()) < LENGTH / 4
    storage = BlobCheckpointStorage(url, workflow=build, namespace=client.namespace, workflow_id=run.id)
    ids = await storage.list_checkpoint_ids(workflow_name="long-report")
    assert ids == [header.checkpoint_id for header in headers]
    latest = await storage.get_latest(workflow_name="long-report")
    assert latest is not None
    assert latest.checkpoint_id == headers[-1].checkpoint_id
    assert latest.state["draft"] == "a" * LENGTH
    sizes = [len(await BlobStore(url).get(name)) for name in await BlobStore(url).list(client.namespace)]
    assert sum(sizes) < 2 * LENGTH  # the draft is in every checkpoint, and there once

    asked = next(header for header in headers if header.kind == "superstep")
    resumed = await build().run(
        checkpoint_id=asked.checkpoint_id, responses={request.request_id: False}, checkpoint_storage=storage
    )
    assert resumed.get_outputs() == ["rejected"]


async def test_a_worker_that_cannot_use_the_service_says_so_and_ends(client: Client, service: Service) -> None:
    url = f"{service.url}-of-others"
    env = commands.environment(
        TEMPORAL_ADDRESS=client.service_client.config.target_host, TEMPORAL_NAMESPACE=client.namespace
    )

    ended = commands.run(
        *("-m", "workers", "--workflow", "tests.support.long_report:build", "--task-queue", "unused"),
        *("--checkpoint-store", url),
        env=env,
    )

    assert ended.code == 1
    assert f"The blob store {url} cannot be used: " in ended.err
    assert "bucket exists" in ended.err
    assert not [secret for name, secret in service.environment.items() if "KEY" in name and secret in ended.err]
