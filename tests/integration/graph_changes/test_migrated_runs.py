"""Runs that wait while the graph changes, carried over by `temporal-adapter checkpoint migrate`: on a real server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from temporal_adapter import BlobStore, Deadline, DurableRun
from temporal_adapter.store import CheckpointStore
from tests.support.renaming import OUTER, after, before
from tests.support.running import pending, serving
from tests.support.shells import Shell

MIGRATE = ("--workflow", "tests.support.renaming:after", "--function", "tests.support.renaming:migrate")
EXPIRES = [Deadline(expire_after=timedelta(days=30))]


@dataclass(frozen=True)
class Site:
    """A server, a store, and a shell that knows both."""

    client: Client
    store: BlobStore
    shell: Shell
    task_queue: str

    async def ids(self) -> list[str]:
        """Return the checkpoints of the run, in the order of its lineage."""
        checkpoints = CheckpointStore(self.store, self.client.namespace)
        return [one.header.checkpoint_id for one in await checkpoints.headers("renaming", self.task_queue)]

    async def migrated(self, checkpoint_id: str) -> dict[str, Any]:
        return await self.json("migrate", checkpoint_id, *MIGRATE)

    async def json(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        ended = await self.shell.serve("checkpoint", *arguments, "--json")
        assert ended.code == code, ended
        return self.shell.read(ended)


@pytest.fixture
async def site(client: Client, server: str, tmp_path: Path, task_queue: str) -> Site:
    folder = tmp_path / "checkpoints"
    variables = {
        "TEMPORAL_ADDRESS": server,
        "TEMPORAL_NAMESPACE": client.namespace,
        "TEMPORAL_ADAPTER_CHECKPOINT_STORE": str(folder),
    }
    return Site(client, BlobStore(folder), Shell(tmp_path, **variables), task_queue)


async def answer_all(run: DurableRun, times: int) -> None:
    for _ in range(times):
        [request] = await pending(run)
        await run.respond(request.request_id, True)


async def test_a_run_that_waits_goes_on_with_the_changed_graph_to_its_end(site: Site) -> None:
    # Given what it would have shown, had nothing changed
    async with serving(site.client, site.task_queue, before, store=site.store) as durable:
        whole = await durable.start(1, id=f"{site.task_queue}-whole")
        await answer_all(whole, 4)
        expected = (await whole.result()).get_outputs()
        # and a run that has been answered once
        run = await durable.start(1, id=site.task_queue)
        await answer_all(run, 1)
        [request] = await pending(run)
        head = (await run.checkpoints())[-1].checkpoint_id
    await run.handle.terminate()

    # When its checkpoint is migrated, and the run is resumed on workers that have the new graph
    told = await site.migrated(head)
    async with serving(site.client, site.task_queue, after, store=site.store) as durable:
        words = ("checkpoint", "resume", site.task_queue, "--checkpoint", told["checkpoint_id"])
        resumed = await site.shell.serve(*words)
        assert resumed.code == 0, resumed
        run = durable.get_run(site.task_queue)
        [again] = await pending(run)
        # Then the same request waits, of the executor under its new name
        assert (again.request_id, again.source_executor_id) == (request.request_id, "consent")
        await answer_all(run, 3)
        assert (await run.result()).get_outputs() == expected

    # and its checkpoints are one lineage
    listed = await site.json("list", site.task_queue)
    rows = listed["checkpoints"]
    parents = [one["previous_checkpoint_id"] for one in rows]
    assert parents == [None, *(one["checkpoint_id"] for one in rows[:-1])]
    assert [one["checkpoint_id"] for one in rows if one["migrated"]] == [told["checkpoint_id"]]
    assert await site.json("verify", site.task_queue)


async def test_a_migrated_checkpoint_can_be_looked_at_like_any_other(site: Site) -> None:
    async with serving(site.client, site.task_queue, before, store=site.store, deadlines=EXPIRES) as durable:
        run = await durable.start(1, id=site.task_queue)
        [request] = await pending(run)
        head = (await run.checkpoints())[-1].checkpoint_id
    await run.handle.terminate()

    told = await site.migrated(head)
    carried = told["checkpoint_id"]
    listed = await site.shell.serve("checkpoint", "list", site.task_queue)
    shown = await site.json("show", carried)
    changed = await site.json("diff", head, carried, code=1)
    drawn = await site.json("graph", site.task_queue)
    verified = await site.json("verify", site.task_queue)

    assert "superstep 5, migrated" in listed.out
    assert shown["metadata"]["migrated_from"]["checkpoint_id"] == head
    assert shown["graph_signature"] == told["graph_signature"] == after().graph_signature_hash
    assert {one["executor_id"] for one in shown["pending_requests"].values()} == {"consent"}
    assert [*shown["executors"]] == list(after().executors)
    assert shown["executors"]["port"]["attributes"] == {"seen": 1}  # of a handler, by no hook
    assert shown["executors"]["starboard"]["state"] == {"calls": [2]}
    assert shown["missing"] == []
    assert {one["place"] for one in changed["changes"]} >= {
        "executors.port",
        "executors.left",
    }
    assert [one["checkpoint_id"] for one in drawn["checkpoints"] if one["head"]] == [carried]
    assert verified["differences"] == []
    manifest = await CheckpointStore(site.store, site.client.namespace).load_by_id(carried)
    assert manifest is not None
    [kept] = manifest.requests.values()
    assert (kept.asked_at, kept.deadline) == _asked(await _manifest(site, head))
    assert kept.request_id == request.request_id


async def _manifest(site: Site, checkpoint_id: str) -> Any:
    return await CheckpointStore(site.store, site.client.namespace).load_by_id(checkpoint_id)


def _asked(manifest: Any) -> tuple[Any, Any]:
    [request] = manifest.requests.values()
    assert request.deadline is not None
    return request.asked_at, request.deadline


async def test_a_fork_of_a_migrated_checkpoint_runs_on_the_new_graph(site: Site) -> None:
    async with serving(site.client, site.task_queue, before, store=site.store) as durable:
        run = await durable.start(1, id=site.task_queue)
        [request] = await pending(run)
        head = (await run.checkpoints())[-1].checkpoint_id

    # While the run itself waits for a worker that has its graph
    told = await site.migrated(head)
    async with serving(site.client, site.task_queue, after, store=site.store) as durable:
        answer = f"{request.request_id}=true"
        forked = await site.shell.serve("checkpoint", "fork", told["checkpoint_id"], "--respond", answer, "--json")
        assert forked.code == 0, forked
        fork = durable.get_run(site.shell.read(forked)["workflow_id"])
        [asked] = await pending(fork)
        assert asked.source_executor_id == OUTER["approve"]
        await fork.handle.terminate()
        await run.handle.terminate()


async def test_a_session_takes_itself_to_its_migrated_checkpoint(site: Site) -> None:
    async with serving(site.client, site.task_queue, before, store=site.store) as durable:
        session = durable.session(site.task_queue)
        await session.run(1)
        head = (await durable.get_run(site.task_queue).checkpoints())[-1].checkpoint_id

    told = await site.migrated(head)

    async with serving(site.client, site.task_queue, after, store=site.store) as durable:
        session = durable.session(site.task_queue)
        result = await session.run(checkpoint_id=told["checkpoint_id"])
        [asked] = result.get_request_info_events()
        assert asked.source_executor_id == "consent"
        await session.close()
