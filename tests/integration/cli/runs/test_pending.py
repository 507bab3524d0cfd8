"""`temporal-adapter pending`: what waits for people, of all runs or of one."""

from __future__ import annotations

from typing import Any

from tests.support.graphs import ask_once, ask_twice
from tests.support.running import pending, until

from .conftest import Desk, Serve


async def inbox(desk: Desk, task_queue: str, count: int, *words: str) -> dict[str, Any]:
    """Await until so many requests are listed: a run is in a list a moment after it started."""

    async def all_of_them() -> dict[str, Any] | None:
        document = await desk.json("pending", "--task-queue", task_queue, *words)
        return document if len(document["requests"]) == count else None

    return await until(all_of_them)


async def test_requests_of_all_runs_come_newest_first(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_once) as durable:
        older, newer = f"{task_queue}-older", f"{task_queue}-newer"
        for workflow_id in (older, newer):
            await pending(await durable.start(1, id=workflow_id))
        document = await inbox(desk, task_queue, 2)
        cut = await inbox(desk, task_queue, 1, "--limit", "1")
        shown = await desk.type("pending", "--task-queue", task_queue)

    assert [one["workflow_id"] for one in document["requests"]] == [newer, older]
    first = document["requests"][0]
    assert (first["workflow_name"], first["executor_id"], first["response_type"]) == ("ask-once", "ask", "bool")
    assert first["data"] == {"text": "ask: 1?", "amount": 0.5}
    assert (document["more"], document["unanswered"], cut["more"]) == (0, [], 1)
    heading, row, _ = shown.out.splitlines()
    assert heading.split() == ["AGE", "WORKFLOW", "ID", "EXECUTOR", "REQUEST", "DATA", "RESPONSE", "TYPE"]
    assert row.split()[1:4] == [newer, "ask", first["request_id"]]
    assert '{"text": "ask: 1?", "amount": 0.5}' in row
    assert (shown.code, shown.err) == (0, "")


async def test_requests_are_chosen_by_workflow_and_age(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_once) as durable:
        await pending(await durable.start(1, id=task_queue))
        await inbox(desk, task_queue, 1, "--workflow", "ask-once")

        of_another = await desk.json("pending", "--task-queue", task_queue, "--workflow", "ask-twice")
        young = await desk.json("pending", "--task-queue", task_queue, "--older-than", "1d12h")
        old_enough = await inbox(desk, task_queue, 1, "--older-than", "0s")
        nothing = await desk.type("pending", "--task-queue", task_queue, "--older-than", "1d")

    assert (of_another["requests"], young["requests"]) == ([], [])
    assert len(old_enough["requests"]) == 1
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.startswith("No request waits for a response in namespace")


async def test_the_requests_of_one_run_are_shown_in_full(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_twice) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run, 2)
        first, second = await run.open_requests()
        shown = await desk.type("pending", task_queue)
        document = await desk.json("pending", task_queue)

    lines = shown.out.splitlines()
    assert shown.code == 0
    assert lines[0] == f"request {first.request_id}"
    assert '  asks: {"text": "left: 2?", "amount": 0.5} (tests.support.graphs:Question)' in lines
    assert "  wants: bool" in lines
    assert '  schema: {"type": "boolean"}' in lines
    assert any(
        line.startswith(f"  to answer it: temporal-adapter respond {task_queue} {second.request_id}") for line in lines
    )
    assert [one["request_id"] for one in document["requests"]] == [first.request_id, second.request_id]


async def test_a_run_that_waits_for_nothing_or_is_over_is_said(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)
        await run.handle.terminate()
        over = await desk.type("pending", task_queue)
        unknown = await desk.type("pending", f"{task_queue}-none")
        both = await desk.type("pending", task_queue, "--workflow", "ask-once")

    assert (over.code, over.out, over.err) == (0, "", f"The run {task_queue!r} is over: TERMINATED.\n")
    assert (unknown.code, both.code) == (4, 2)
    assert "There is no run with workflow id" in unknown.err
