"""`temporal-adapter list`: runs and where they stand."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from temporal_adapter import DurableWorkflow
from tests.support.graphs import ask_once
from tests.support.running import pending, until

from .conftest import Desk, Serve


@pytest.fixture
async def durable(serve: Serve) -> AsyncIterator[DurableWorkflow]:
    async with serve(ask_once) as durable:
        yield durable


async def listed(desk: Desk, task_queue: str, count: int, *words: str) -> list[dict[str, object]]:
    """Await until so many runs are listed: a run is in a list a moment after it started."""

    async def all_of_them() -> list[dict[str, object]] | None:
        runs = (await desk.json("list", "--task-queue", task_queue, *words))["runs"]
        return runs if len(runs) == count else None

    return await until(all_of_them)


async def test_runs_come_newest_first_with_where_they_stand(
    desk: Desk, durable: DurableWorkflow, task_queue: str
) -> None:
    older = await durable.start(1, id=f"{task_queue}-older")
    [request] = await pending(older)
    await older.respond(request.request_id, True)
    await older.result()
    newer = await durable.start(1, id=f"{task_queue}-newer")
    await pending(newer)

    first, second = await listed(desk, task_queue, 2)
    shown = await desk.type("list", "--task-queue", task_queue)

    assert (first["workflow_id"], first["status"], first["state"]) == (
        newer.id,
        "RUNNING",
        "IDLE_WITH_PENDING_REQUESTS",
    )
    assert (first["iteration"], first["pending_requests"], first["closed_at"]) == (1, 1, None)
    assert (second["workflow_id"], second["status"], second["state"]) == (older.id, "COMPLETED", None)
    assert second["closed_at"] is not None
    heading, *rows = shown.out.splitlines()
    assert heading.split()[:2] == ["WORKFLOW", "ID"]
    assert [row.split()[0] for row in rows] == [newer.id, older.id]
    assert shown.code == 0


async def test_runs_are_chosen_by_state_and_number(desk: Desk, durable: DurableWorkflow, task_queue: str) -> None:
    runs = [await durable.start(1, id=f"{task_queue}-{number}") for number in range(3)]
    for run in runs:
        await pending(run)
    await runs[0].handle.terminate()
    await listed(desk, task_queue, 1, "--state", "closed")

    opened = await listed(desk, task_queue, 2, "--state", "open")
    document = await desk.json("list", "--task-queue", task_queue, "--limit", "1")
    cut = await desk.type("list", "--task-queue", task_queue, "--limit", "1")

    assert {run["workflow_id"] for run in opened} == {runs[1].id, runs[2].id}
    assert (len(document["runs"]), document["more"]) == (1, True)
    assert "--limit shows them" in cut.err


async def test_a_run_that_nobody_answers_for_is_named(desk: Desk, client: Client, task_queue: str) -> None:
    handle = await client.start_workflow("ask-once", 1, id=task_queue, task_queue=task_queue)

    async def is_listed() -> str | None:
        ended = await desk.type("list", "--task-queue", task_queue)
        return ended.err if ended.code == 1 else None

    told = await until(is_listed)
    await handle.terminate()

    assert told == f"Warning: {task_queue!r} could not be asked: no worker serves its task queue {task_queue!r}.\n"


async def test_nothing_to_list_is_said(desk: Desk, client: Client, task_queue: str) -> None:
    ended = await desk.type("list", "--task-queue", task_queue, "--workflow", "it's none")

    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"There are no such runs in namespace {client.namespace!r}.\n"
