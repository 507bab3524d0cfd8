"""`temporal-adapter cancel`: ends a run, or takes back requests of it."""

from __future__ import annotations

import asyncio
from unittest import mock

from temporalio.client import Client

from tests.support.graphs import ask_once, ask_twice
from tests.support.running import pending, until

from .conftest import Desk, Serve


async def test_a_run_is_cancelled_and_its_end_waited_for(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)
        shown = await desk.type("cancel", task_queue, "--wait")
        again = await desk.type("cancel", task_queue)

    assert (shown.code, shown.out) == (0, f"cancellation requested: {task_queue}\nstate: CANCELED\n")
    assert (again.code, again.err) == (1, f"Error: the run {task_queue!r} is over already: CANCELED.\n")


async def test_a_request_is_cancelled_and_the_run_goes_on(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_twice) as durable:
        run = await durable.start(1, id=task_queue)
        left, right = await pending(run, 2)
        words = ["--responder", "Ada", "--comment", "moot"]
        document = await desk.json("cancel", task_queue, "--request", left.request_id, *words)
        refused = await desk.type("cancel", task_queue, "--request", right.request_id, "--request", "none")
        [still] = await run.open_requests()
        record, _ = await run.responses()  # and that of the refusal

    assert document["cancelled_requests"] == [left.request_id]
    assert (record.outcome, record.responder, record.comment) == ("cancelled", "Ada", "moot")
    assert refused.code == 1
    assert refused.err.startswith("Error: nothing was cancelled: ")
    assert still.request_id == right.request_id


async def test_what_does_not_go_together_is_told(desk: Desk, task_queue: str) -> None:
    unknown = await desk.type("cancel", task_queue)
    of_nothing = await desk.type("cancel", task_queue, "--comment", "moot")
    waits = await desk.type("cancel", task_queue, "--request", "a", "--wait")

    assert [one.code for one in (unknown, of_nothing, waits)] == [4, 2, 2]


# --- runs that no worker takes ------------------------------------------------------------------------------


async def test_without_waiting_only_the_request_to_cancel_is_told(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)
        shown = await desk.type("cancel", task_queue)

    assert (shown.code, shown.out, shown.err) == (0, f"cancellation requested: {task_queue}\n", "")


async def test_where_no_worker_serves_the_queue_the_run_is_said_to_end_when_one_does(
    desk: Desk, client: Client, task_queue: str
) -> None:
    handle = await client.start_workflow("ask-once", 1, id=task_queue, task_queue=task_queue)
    shown = await desk.type("cancel", task_queue)
    document = await desk.json("cancel", task_queue)
    await handle.terminate()

    assert (shown.code, shown.out) == (0, f"cancellation requested: {task_queue}\n")
    assert f"No worker serves task queue {task_queue!r}: the run ends when one does." in shown.err
    assert f"temporal workflow terminate --workflow-id {task_queue}" in shown.err
    assert (document["state"], document["cancelled_requests"]) == (None, None)


async def test_waiting_without_a_worker_says_so_and_goes_on_until_one_has_ended_the_run(
    desk: Desk, client: Client, serve: Serve, task_queue: str
) -> None:
    await client.start_workflow("ask-once", 1, id=task_queue, task_queue=task_queue)
    notices: asyncio.Queue[str] = asyncio.Queue()
    with mock.patch("temporal_adapter.cli.runs.cancel.tell", notices.put_nowait):
        cancelling = asyncio.create_task(desk.type("cancel", task_queue, "--wait"))
        notice = await asyncio.wait_for(notices.get(), 60)
        async with serve(ask_once):
            shown = await cancelling

    assert notice.startswith(f"Waiting: no worker serves task queue {task_queue!r}")
    assert (shown.code, shown.out) == (0, f"cancellation requested: {task_queue}\nstate: CANCELED\n")


async def test_a_run_whose_workflow_no_worker_has_is_not_waited_for(
    desk: Desk, client: Client, serve: Serve, task_queue: str
) -> None:
    async with serve(ask_once):
        handle = await client.start_workflow("ask-one", 1, id=task_queue, task_queue=task_queue)

        async def failing() -> bool:
            return (await handle.describe()).raw_description.pending_workflow_task.attempt > 1

        await until(failing)
        waited = await desk.type("cancel", task_queue, "--wait")
        requested = await desk.type("cancel", task_queue)
        await handle.terminate()

    for shown in (waited, requested):
        assert shown.out == f"cancellation requested: {task_queue}\n"
        assert "have no workflow called 'ask-one' (they have 'ask-once')" in shown.err
        assert "temporal workflow terminate --workflow-id" in shown.err
    assert (waited.code, requested.code) == (3, 0)
