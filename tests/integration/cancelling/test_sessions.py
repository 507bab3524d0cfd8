"""Sessions: requests are cancelled while one is at rest or at work; what follows is nobody's turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowContext, WorkflowRunState
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import CancelRefused, SessionRefused
from tests.support import releasing
from tests.support.graphs import ask_once
from tests.support.replaying import assert_replays
from tests.support.running import pending, serving, until
from tests.support.scripted import Script

ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))


async def test_a_session_goes_on_after_a_cancellation_as_a_workflow_in_process_does(
    client: Client, task_queue: str
) -> None:
    workflow = releasing.several()
    await workflow.run(1)
    in_process = [
        await workflow.cancel_pending_requests(["ask-1"]),
        await workflow.run(responses={"ask-0": True, "ask-2": False}),
        await workflow.run(2),
    ]
    async with serving(client, task_queue, releasing.several) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        run = session.durable_run

        before = (await run.status()).events
        assert await run.cancel_pending_requests(["ask-1"]) == ["ask-1"]
        await until(lambda: _at_rest(run))
        cancelled = await run.events_between(before, (await run.status()).events)
        answered = await session.run(responses={"ask-0": True, "ask-2": False})
        again = await session.run(2)
        await session.close()

    outputs = [event.data.inline for event in cancelled if event.type == "output"]
    assert outputs[0] == in_process[0].get_outputs()[0]
    assert len(outputs) == len(in_process[0].get_outputs())
    assert answered.get_outputs() == in_process[1].get_outputs()
    assert again.get_final_state() is in_process[2].get_final_state() is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
    await assert_replays(run)


async def _at_rest(run: Any) -> bool:
    status = await run.status()
    return status.state.value.startswith("IDLE") and not status.unmirrored_checkpoints


async def test_an_input_is_refused_while_a_cancellation_is_at_work(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("told")

    class Slow(releasing.Releases):
        async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[str, Any]) -> None:
            await script.enter("told")
            await super()._cancel_pending_request(request_id, ctx)

    async with serving(client, task_queue, lambda: releasing.releasing(Slow("ask", 2))) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        await session.durable_run.cancel_pending_requests(["ask-0"])
        await script.entered("told")

        with pytest.raises(SessionRefused, match="is running"):
            await session.run(2)
        with pytest.raises(SessionRefused, match="is running"):
            await session.run(responses={"ask-1": True})
        with pytest.raises(SessionRefused, match="is running"):
            await session.reset()
        script.release("told")
        await until(lambda: _at_rest(session.durable_run))

        result = await session.run(responses={"ask-1": True})
        assert ("last", "ask-1? True, after ['ask-0']") in result.get_outputs()
        assert result.get_final_state() is WorkflowRunState.IDLE
        await assert_replays(session.durable_run)


@pytest.mark.parametrize("kwargs", [None, {"budget": 1}], ids=["plain", "with kwargs"])
async def test_a_turn_and_a_cancellation_at_once_both_come_to_an_end(
    client: Client, task_queue: str, kwargs: dict[str, Any] | None
) -> None:
    async with serving(client, task_queue, releasing.two) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        run = session.durable_run
        responses = session.run(responses={"right-0": True}, function_invocation_kwargs=kwargs)

        outcomes = await asyncio.wait_for(
            asyncio.gather(responses, run.cancel_pending_requests(["left-0"]), return_exceptions=True), 60
        )

        turn, cancelled = outcomes
        assert cancelled == ["left-0"]
        if isinstance(turn, SessionRefused):  # the cancellation was first
            await until(lambda: _at_rest(run))
            turn = await session.run(responses={"right-0": True})
        assert not isinstance(turn, BaseException), repr(turn)
        assert ("last", "right-0? True, after []") in turn.get_outputs()
        await until(lambda: _at_rest(run))
        assert sorted(one.request_id for one in await pending(run, 2)) == ["left-1", "right-1"]
        await session.run(2)
        await assert_replays(run)


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        (releasing.fails_to_release, ("last", "ask-0? True, after []")),
        (releasing.fails_inside, ("say", "ask-0? True, after []")),
    ],
    ids=["plain", "sub-workflow"],
)
async def test_a_session_whose_executor_cannot_be_told_has_the_request_again(
    client: Client, task_queue: str, factory: Callable[[], Workflow], told: Any
) -> None:
    async with serving(client, task_queue, factory, default_activity_options=ONCE) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        run = session.durable_run
        [request] = await run.pending_requests()
        await run.cancel_pending_requests([request.request_id])

        async def failed() -> bool:
            return (await run.status()).state is WorkflowRunState.FAILED

        await until(failed)
        assert [one.request_id for one in await run.pending_requests()] == [request.request_id]
        result = await session.run(responses={request.request_id: True})
        assert told in result.get_outputs()
        assert result.get_final_state() is WorkflowRunState.IDLE
        await assert_replays(run)


async def test_a_session_without_requests_refuses(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(1)).get_request_info_events()
        await session.run(responses={request.request_id: True})

        with pytest.raises(CancelRefused, match="was already answered"):
            await session.durable_run.cancel_pending_requests([request.request_id])

        await session.reset()
        with pytest.raises(CancelRefused):
            await session.durable_run.cancel_pending_requests([request.request_id])
        assert (await session.run(1)).get_final_state() is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
        await assert_replays(session.durable_run)
