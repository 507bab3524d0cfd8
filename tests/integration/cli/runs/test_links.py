"""A run that went on as new Temporal runs is one run to whoever lists, watches or looks at checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from temporalio.client import Client

from temporal_adapter import BlobStore, continuation
from temporal_adapter.client.listing import adapter_runs, open_requests
from temporal_adapter.host import context
from tests.support.graphs import chain
from tests.support.links import links_of
from tests.support.running import pending, until

from .conftest import Desk, Serve


@pytest.fixture(autouse=True)
def links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs go on as new Temporal runs at each chance, and take everything through the blob store."""
    monkeypatch.setattr(context, "DEFAULT_CONTINUES_AFTER", 1)
    monkeypatch.setattr(continuation, "_TAIL_BYTES", 0)
    monkeypatch.setattr(continuation, "_CARRIED_BYTES", 0)
    monkeypatch.setattr(continuation, "_OPENING", 0)
    monkeypatch.setattr(continuation, "_PER_PART", 0)


async def test_a_run_is_listed_once_with_the_time_it_began(
    desk: Desk, serve: Serve, client: Client, task_queue: str
) -> None:
    async with serve() as durable:
        run = await durable.start(1, id=task_queue)
        requests = await pending(run)

        async def listed_open() -> bool:
            return len((await open_requests(client, task_queue=task_queue)).requests) == len(requests)

        await until(listed_open)
        [is_open] = await adapter_runs(client, task_queue=task_queue, state="open")
        told = await desk.json("list", "--task-queue", task_queue)
        for request in requests:
            await run.respond(request.request_id, True)
        await run.result()

    async def closed() -> bool:
        return bool(await adapter_runs(client, task_queue=task_queue, state="closed"))

    await until(closed)
    [is_closed] = await adapter_runs(client, task_queue=task_queue)
    first, *_, last = await links_of(client, task_queue)
    began = first.events[0].event_time.ToDatetime(tzinfo=is_open.started_at.tzinfo)
    assert abs((is_open.started_at - began).total_seconds()) < 0.01
    assert is_open.started_at == is_closed.started_at
    assert is_closed.run_id == last.run_id
    assert (is_closed.status, is_open.status) == ("COMPLETED", "RUNNING")
    assert [(one["state"], one["pending_requests"]) for one in told["runs"]] == [
        ("IDLE_WITH_PENDING_REQUESTS", len(requests))
    ]


async def test_watch_shows_a_run_from_its_first_event_where_it_is_told_the_store(
    desk: Desk, serve: Serve, task_queue: str, tmp_path: Path
) -> None:
    store = ("--checkpoint-store", str(tmp_path))
    async with serve(store=BlobStore(tmp_path)) as durable:
        run = await durable.start(1, id=task_queue)
        requests = await pending(run)
        before = await desk.json("watch", task_queue, "--once", *store)
        for request in requests:
            await run.respond(request.request_id, True)
        result = await run.result()
        await until(lambda: watched(desk, task_queue, *store))
        shown = await desk.type("watch", task_queue, "--json", *store)
        without = await desk.type("watch", task_queue, "--checkpoint-store", str(tmp_path / "nowhere"))
        events = [event.type async for event in run.events()]

    *lines, ended = [json.loads(line) for line in shown.out.splitlines()]
    assert before["outputs"] == []
    assert [line["type"] for line in lines] == events
    assert len(ended["outputs"]) == len(result.get_outputs())
    assert (without.code, 0 < len(without.out.splitlines()) < len(events)) == (0, True)
    assert without.err.startswith("Events 0 to ")
    assert "are in the checkpoint store, and not shown: there is no checkpoint store at" in without.err


async def watched(desk: Desk, task_queue: str, *store: str) -> bool:
    """Whether a picture of the run has its state, whatever link it is in."""
    return (await desk.json("watch", task_queue, "--once", *store))["state"] == "IDLE"


async def test_commands_about_checkpoints_take_the_links_of_a_run_together(
    desk: Desk, serve: Serve, task_queue: str, tmp_path: Path
) -> None:
    store = ("--checkpoint-store", str(tmp_path))
    async with serve(chain, store=BlobStore(tmp_path)) as durable:
        run = await durable.start(1, id=task_queue)
        result = await run.result()
        ids = [one.checkpoint_id for one in await run.checkpoints()]

        listed = await desk.json("checkpoint", "list", task_queue, *store)
        overview = await desk.json("checkpoint", "list", *store)
        verified = await desk.json("checkpoint", "verify", task_queue, *store)
        rebuilt = await desk.json("checkpoint", "rebuild", task_queue, *store)
        debugged = await desk.json("checkpoint", "debug", ids[1], "--workflow", "tests.support.graphs:chain", *store)
        replayed = await desk.json("checkpoint", "replay", ids[0], "--wait", *store)

    assert [one["checkpoint_id"] for one in listed["checkpoints"]] == ids
    assert [one["checkpoint_id"] for one in listed["checkpoints"] if one["head"]] == ids[-1:]
    assert [(one["workflow_id"], one["checkpoints"]) for one in overview["workflows"]] == [(task_queue, len(ids))]
    assert verified["same"]
    assert (len(verified["run_ids"]) > 1, verified["checkpoints"], verified["gone"]) == (True, len(ids), [])
    assert rebuilt["complete"]
    assert [one for run in rebuilt["runs"] for one in run["kept"]] == ids
    assert debugged["outputs"] == [list(one) for one in result.get_outputs()]
    assert len(replayed["outputs"]) == len(result.get_outputs())


async def test_a_run_that_was_terminated_in_a_later_link_is_resumed(
    client: Client, serve: Serve, task_queue: str
) -> None:
    async with serve() as durable:
        run = await durable.start(1, id=task_queue)
        requests = await pending(run)
        before = [one.checkpoint_id for one in await run.checkpoints()]
        await run.handle.terminate()

        resumed = await durable.resume(task_queue)

        assert [one.request_id for one in await pending(resumed, len(requests))]
        for request in requests:
            await resumed.respond(request.request_id, True)
        assert (await resumed.result()).get_outputs()
        assert (await resumed.checkpoints())[0].checkpoint_id == before[-1]
        attached = await durable.start_or_attach(1, id=task_queue)
        assert (await attached.result()).get_outputs() == (await resumed.result()).get_outputs()
    assert len(await links_of(client, task_queue)) > 1
