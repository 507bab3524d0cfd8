"""`temporal-adapter cancel`: ends a run, or takes back requests of it."""

from __future__ import annotations

from tests.support.graphs import ask_once, ask_twice
from tests.support.running import pending

from .conftest import Desk, Serve


async def test_a_run_is_cancelled_and_its_end_waited_for(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)
        shown = await desk.type("cancel", task_queue, "--wait")
        again = await desk.type("cancel", task_queue)

    assert (shown.code, shown.out) == (0, f"cancelled: {task_queue}\nstate: CANCELED\n")
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
