"""Callers that hold nothing but a workflow id: they start or find, list, answer, and make turns of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from temporalio.client import Client

from temporal_adapter import DurableWorkflow
from temporal_adapter.testing.on_temporal import Serving
from tests.support.running import pending, until


@pytest.fixture
def handler(serving: Serving) -> Callable[[], DurableWorkflow]:
    """Returns what each request of the web makes for itself."""

    def made() -> DurableWorkflow:
        client = Client(**serving.client.config())
        return DurableWorkflow(client, "ledger", task_queue=serving.task_queue, checkpoint_store=serving.store)

    return made


async def test_those_who_come_at_once_find_one_run(handler: Callable[[], DurableWorkflow], task_queue: str) -> None:
    runs = await asyncio.gather(*(handler().start_or_attach(500 + one, id=task_queue) for one in range(5)))
    [request] = await pending(handler().get_run(task_queue))

    await handler().get_run(task_queue).respond(request.request_id, True)

    results = [await run.result() for run in runs]
    assert len({str(one.get_outputs()) for one in results}) == 1
    assert 500 <= results[0].get_outputs()[0][0] < 505


async def test_a_run_that_has_ended_is_found_and_not_begun_again(
    handler: Callable[[], DurableWorkflow], task_queue: str
) -> None:
    first = await handler().start_or_attach(1, id=task_queue)
    await first.result()

    again = await handler().start_or_attach(2, id=task_queue)

    assert (await again.result()).get_outputs() == [(1, [1])]


async def test_a_turn_opens_its_session_or_goes_on_with_it_by_one_call(
    handler: Callable[[], DurableWorkflow], task_queue: str
) -> None:
    totals = [(await handler().session(task_queue).run(one)).get_outputs()[0][0] for one in (1, 2)]
    await handler().session(task_queue).run(500)
    [request] = await handler().get_run(task_queue).pending_requests()

    answers = [await handler().get_run(task_queue).respond(request.request_id, True) for _ in range(2)]

    async def taken() -> bool:
        return (await handler().get_run(task_queue).status()).state.value == "IDLE"

    await until(taken)
    assert totals == [1, 3]
    assert answers[0] == answers[1]
    assert (await handler().session(task_queue).run(1)).get_outputs()[0][0] == 504
