"""Trouble writing the blob store never fails a run: it shows, and is made good before the run ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowRunState
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, DurableRun, RunStatus
from tests.support.faulty import FaultyStore
from tests.support.graphs import Report
from tests.support.running import serving, until
from tests.support.scripted import Script, asking, step, steps


def side_by_side(script: Script) -> Callable[[], Workflow]:
    """Return a factory of a graph whose supersteps have two deliveries each, so that no delivery makes a checkpoint."""

    def build() -> Workflow:
        start, left, right = step(script, "start"), step(script, "left"), step(script, "right")
        builder = WorkflowBuilder(name="side-by-side", start_executor=start)
        return builder.add_fan_out_edges(start, [left, right]).add_fan_in_edges([left, right], Report("join")).build()

    return build


async def in_trouble(run: DurableRun) -> RunStatus:
    """Await until the run shows that checkpoints are missing in the store; return its status."""

    async def look() -> RunStatus | None:
        status = await run.status()
        return status if status.unmirrored_checkpoints and status.mirror_error else None

    return await until(look)


@pytest.mark.parametrize("make", [side_by_side, lambda script: steps(script, "start", "left", "right")])
async def test_a_run_goes_on_without_the_store_and_catches_up(
    client: Client, task_queue: str, make: Callable[[Script], Callable[[], Workflow]]
) -> None:
    script, store = Script(), FaultyStore()
    script.hold("left")
    script.hold("right")
    build = make(script)
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(1)
        await script.entered("left")
        store.away = True
        script.release("left")
        script.release("right")

        status = await in_trouble(run)
        assert "The blob store is away." in (status.mirror_error or "")
        store.away = False
        await run.result()

        warnings = [event.data async for event in run.events() if event.type == "warning"]
        headers = await run.checkpoints()
        after = await run.status()
    assert any("not yet in the blob store: The blob store is away." in warning for warning in warnings)
    assert (after.unmirrored_checkpoints, after.mirror_error) == (0, None)
    storage = BlobCheckpointStorage(store, workflow=build())
    stored = await storage.list_checkpoints(workflow_name=build().name)
    assert [one.checkpoint_id for one in stored] == [header.checkpoint_id for header in headers]
    assert [one.previous_checkpoint_id for one in stored] == [header.previous_checkpoint_id for header in headers]


async def test_a_run_that_starts_without_the_store_catches_up(client: Client, task_queue: str) -> None:
    script, store = Script(), FaultyStore()
    build = steps(script, "one", "two", "three")
    async with serving(client, task_queue, build, store=store) as durable:
        await (await durable.start(0, id=f"{task_queue}-before")).result()  # the worker is up
        store.away = True
        run = await durable.start(1)
        await in_trouble(run)
        store.away = False
        await run.result()
        headers = await run.checkpoints()

    storage = BlobCheckpointStorage(store, workflow=build(), workflow_id=run.id)
    stored = await storage.list_checkpoint_ids(workflow_name="steps")
    assert stored == [header.checkpoint_id for header in headers]


async def test_a_run_that_ends_in_trouble_waits_until_its_checkpoints_are_stored(
    client: Client, task_queue: str
) -> None:
    script, store = Script(), FaultyStore()
    script.hold("three")
    build = steps(script, "one", "two", "three")
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(1)
        await script.entered("three")
        store.away = True
        script.release("three")
        await until(lambda: _is_idle(run))

        assert (await run.handle.describe()).close_time is None
        store.away = False
        await run.result()
        headers = await run.checkpoints()
    storage = BlobCheckpointStorage(store, workflow=build())
    assert len(await storage.list_checkpoint_ids(workflow_name="steps")) == len(headers)


async def test_a_response_is_accepted_without_the_store_and_its_checkpoint_follows(
    client: Client, task_queue: str
) -> None:
    script, store = Script(), FaultyStore()
    script.hold("ask answered")
    build = asking(script)
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(1)
        [request] = await until(run.pending_requests)
        store.away = True

        accepted = await run.respond(request.request_id, True)

        await in_trouble(run)
        store.away = False
        script.release("ask answered")
        await run.result()
    storage = BlobCheckpointStorage(store, workflow=build())
    assert accepted.checkpoint_id in await storage.list_checkpoint_ids(workflow_name="asking")


async def _is_idle(run: DurableRun) -> bool:
    return (await run.status()).state is WorkflowRunState.IDLE
