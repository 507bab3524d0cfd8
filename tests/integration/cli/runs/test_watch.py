"""`temporal-adapter watch`: a run followed to its end."""

from __future__ import annotations

import asyncio
import functools
import json
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.support import shells
from tests.support.graphs import ask_once, ask_twice, chain
from tests.support.nested import messages
from tests.support.running import failure_of, pending, until

from .conftest import Desk, Serve


async def test_behind_a_pipe_each_event_is_a_line_until_the_run_has_ended(
    desk: Desk, serve: Serve, task_queue: str
) -> None:
    async with serve(ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        watching = asyncio.create_task(desk.type("watch", task_queue))
        await run.respond(request.request_id, True)
        ended = await watching

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "started",
        "status IN_PROGRESS",
        "superstep_started 1",
        "executor_invoked ask 1",
        f'request_info ask {request.request_id} {{"text": "ask: 1?", "amount": 0.5}}',
        "status IN_PROGRESS_PENDING_REQUESTS",
        "executor_completed ask",
        "superstep_completed 1",
        "status IDLE_WITH_PENDING_REQUESTS",
        "started",
        "status IN_PROGRESS",
        "superstep_started 2",
        "executor_invoked ask true",
        'executor_completed ask ["ask: 1? True"]',
        "superstep_completed 2",
        "superstep_started 3",
        'executor_invoked last "ask: 1? True"',
        'output last ["last", "ask: 1? True"]',
        'executor_completed last [["last", "ask: 1? True"]]',
        "superstep_completed 3",
        "status IDLE",
        "state: IDLE",
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_run_that_is_over_is_told_without_a_worker(
    desk: Desk, serve: Serve, task_queue: str, stream: bool
) -> None:
    async with serve(chain) as durable:
        run = await durable.start(1, id=task_queue, stream=stream)
        await run.result()
        events = [event.type async for event in run.events()]

    ended = await desk.type("watch", task_queue, "--json")

    *shown, last = map(json.loads, ended.out.splitlines())
    assert ended.code == 0
    assert [event["type"] for event in shown] == events
    assert last == {
        "type": "ended",
        "state": "IDLE",
        "outputs": [["last", 12]],
        "pending_requests": [],
        "error": None,
    }


async def test_a_run_that_failed_is_a_finding(desk: Desk, serve: Serve, client: Client, task_queue: str) -> None:
    async with serve(chain):
        handle = await client.start_workflow("chain", "no number", id=task_queue, task_queue=task_queue)
        await failure_of(handle)
        ended = await desk.type("watch", task_queue)

    assert ended.code == 1
    assert "failed InputNotHandled:" in ended.out
    assert ended.err.startswith(f"Error: the run {task_queue!r} failed: InputNotHandled: ")


async def test_a_run_that_ended_without_any_worker_is_told_as_far_as_temporal_knows_it(
    desk: Desk, client: Client, task_queue: str
) -> None:
    handle = await client.start_workflow("chain", 1, id=task_queue, task_queue=task_queue)
    await handle.terminate("not wanted")

    ended = await desk.type("watch", task_queue)

    assert (ended.code, ended.out) == (1, "")
    nobody, reason = ended.err.splitlines()
    assert nobody.startswith(f"No worker answers on task queue {task_queue!r}")
    assert reason.startswith(f"Error: the run {task_queue!r} did not end by itself")


async def test_once_shows_where_a_run_stands(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_twice) as durable:
        run = await durable.start(1, id=task_queue)
        by_executor = {one.source_executor_id: one.request_id for one in await pending(run, 2)}
        await run.respond(by_executor["left"], True)

        async def answered() -> bool:
            return (await run.status()).iteration == 4

        await until(answered)
        shown = await desk.type("watch", task_queue, "--once")
        document = await desk.json("watch", task_queue, "--once")

    lines = shown.out.splitlines()
    assert shown.code == 0
    assert lines[0].startswith(f"{task_queue} (ask-twice)  IDLE_WITH_PENDING_REQUESTS  superstep 4  ")
    assert "3 of 4 executors have worked" in lines[1]
    rows = [line.split() for line in lines if line.split()[:1] in (["start"], ["left"], ["right"], ["join"])]
    assert rows == [
        ["start", "completed", "1", "left,", "right"],
        ["left", "completed", "2", "join"],
        ["right", "waiting", "1", "1", "join"],
        ["join", "idle", "0"],
    ]
    assert any(line.startswith(by_executor["right"]) for line in lines)
    assert document["state"] == "IDLE_WITH_PENDING_REQUESTS"
    assert {one["executor_id"]: one["state"] for one in document["graph"]["executors"]} == {
        "start": "completed",
        "left": "completed",
        "right": "waiting",
        "join": "idle",
    }
    assert [one["request_id"] for one in document["pending_requests"]] == [by_executor["right"]]


async def test_once_needs_a_worker_of_an_open_run(desk: Desk, client: Client, task_queue: str) -> None:
    handle = await client.start_workflow("chain", 1, id=task_queue, task_queue=task_queue)
    ended = await desk.type("watch", task_queue, "--once")
    await handle.terminate()
    over = await desk.json("watch", task_queue, "--once", code=1)

    assert (ended.code, ended.out) == (3, "")
    assert f"no worker serves task queue {task_queue!r}" in ended.err
    assert (over["status"], over["state"], over["graph"]) == ("TERMINATED", None, None)
    assert over["unanswered"] == f"No worker serves task queue {task_queue!r}."


async def test_a_sub_workflow_is_shown_below_its_executor(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(messages) as durable:
        await (await durable.start(1, id=task_queue)).result()
        shown = await desk.type("watch", task_queue, "--once")

    assert any(line.startswith("  ") and "completed" in line for line in shown.out.splitlines())


async def test_at_a_terminal_the_picture_moves_until_the_run_has_ended(
    serve: Serve, server: str, client: Client, task_queue: str, tmp_path: Path
) -> None:
    shell = shells.Shell(tmp_path, TEMPORAL_ADDRESS=server, TEMPORAL_NAMESPACE=client.namespace)
    async with serve(ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        drawn = asyncio.Event()
        begun = (
            "Waits for a response to",
            functools.partial(asyncio.get_running_loop().call_soon_threadsafe, drawn.set),
        )
        watching = asyncio.create_task(asyncio.to_thread(shell.at_terminal, "watch", task_queue, width=150, when=begun))
        await drawn.wait()
        await run.respond(request.request_id, True)
        lines = await watching

    text = "\n".join(lines)
    assert lines[-1] == "state: IDLE"
    assert f"{task_queue} (ask-once)  IDLE_WITH_PENDING_REQUESTS  superstep 1" in text
    assert "1 of 2 executors have worked" in text
    assert f"{task_queue} (ask-once)  IDLE  superstep 3" in text
    assert "2 of 2 executors have worked" in text
    assert 'output ["last", "ask: 1? True"]' in text


async def test_an_unknown_run_is_told(desk: Desk, task_queue: str) -> None:
    ended = await desk.type("watch", task_queue)

    assert (ended.code, ended.out) == (4, "")
    assert "There is no run with workflow id" in ended.err


async def test_a_run_whose_workflow_no_worker_has_is_told_with_those_that_they_have(
    desk: Desk, serve: Serve, client: Client, task_queue: str
) -> None:
    async with serve(ask_once):
        handle = await client.start_workflow("ask-one", 1, id=task_queue, task_queue=task_queue)
        ended = await desk.type("watch", task_queue)
        await handle.terminate()

    assert (ended.code, ended.out) == (3, "")
    assert "have no workflow called 'ask-one' (they have 'ask-once')" in ended.err
