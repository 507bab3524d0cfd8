"""A session: a run kept open for many inputs, which does what MAF's `Workflow` does when it is run again and again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import (
    Executor,
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowException,
    WorkflowRunState,
    handler,
    response_handler,
)
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import RetryPolicy
from temporalio.worker import Replayer
from temporalio.workflow import ActivityConfig

from temporal_adapter import (
    BlobCheckpointStorage,
    BlobStore,
    InputRefused,
    ResponseRefused,
    RunNotFound,
    SessionRefused,
    workflow_type,
)
from tests.support import nested
from tests.support.graphs import Question, ask_once
from tests.support.running import serving, until

ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))


class Ledger(Executor):
    """Adds up what it is given, in an attribute and in shared state; asks before it takes more than 100."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.total = 0

    @handler
    async def add(self, amount: int, ctx: WorkflowContext[None, Any]) -> None:
        if amount < 0:
            raise ValueError("less than nothing")
        if amount > 100:
            await ctx.request_info(Question(text=f"{amount}?"), bool)
            return
        await self._take(amount, ctx)

    @response_handler
    async def decided(self, question: Question, yes: bool, ctx: WorkflowContext[None, Any]) -> None:
        await self._take(int(question.text.rstrip("?")) if yes else 0, ctx)

    async def _take(self, amount: int, ctx: WorkflowContext[None, Any]) -> None:
        self.total += amount
        ctx.set_state("amounts", [*(ctx.get_state("amounts") or []), amount])
        await ctx.yield_output((self.total, ctx.get_state("amounts")))


def ledger() -> Workflow:
    return WorkflowBuilder(name="ledger", start_executor=Ledger("ledger")).build()


async def test_state_is_kept_from_one_input_to_the_next_as_in_maf(client: Client, task_queue: str) -> None:
    in_process, storage = ledger(), InMemoryCheckpointStorage()
    expected = [(await in_process.run(one, checkpoint_storage=storage)).get_outputs() for one in (1, 2, 3)]
    store = BlobStore("memory://")

    async with serving(client, task_queue, ledger, store=store) as durable:
        session = durable.session(f"{task_queue}-session")
        results = [await session.run(one) for one in (1, 2, 3)]

    assert [result.get_outputs() for result in results] == expected
    assert [result.get_final_state() for result in results] == [WorkflowRunState.IDLE] * 3
    ours = await BlobCheckpointStorage(store, workflow=ledger()).list_checkpoints(workflow_name="ledger")
    theirs = await storage.list_checkpoints(workflow_name="ledger")
    assert [one.iteration_count for one in ours] == [one.iteration_count for one in theirs] == [0, 1, 0, 1, 0, 1]
    assert [one.previous_checkpoint_id for one in ours][1:] == [one.checkpoint_id for one in ours][:-1]


async def test_a_turn_ends_at_a_request_and_responses_begin_the_next(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        asked = await session.run(500)
        [request] = asked.get_request_info_events()
        assert asked.get_final_state() is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
        with pytest.raises(ResponseRefused, match="must be bool"):
            await session.run(responses={request.request_id: "perhaps"})

        answered = await session.run(responses={request.request_id: True})

        assert answered.get_outputs() == [(500, [500])]
        assert (await session.run(1)).get_outputs() == [(501, [500, 1])]


async def test_an_input_while_requests_wait_is_told_and_they_go_on_waiting(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(500)).get_request_info_events()

        second = await session.run(2)

        assert second.get_outputs() == [(2, [2])]
        assert second.get_final_state() is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
        warning = next(event.data for event in second if event.type == "warning")
        assert request.request_id in str(warning)
        assert (await session.run(responses={request.request_id: True})).get_outputs() == [(502, [2, 500])]


async def test_an_error_ends_the_turn_and_not_the_session(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger, default_activity_options=ONCE) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        with pytest.raises(ValueError, match="less than nothing"):
            await session.run(-1)
        assert (await session.durable_run.status()).state is WorkflowRunState.FAILED

        assert (await session.run(2)).get_outputs() == [(3, [1, 2])]


async def test_an_error_within_a_sub_workflow_leaves_it_as_the_last_checkpoint_has_it(
    client: Client, task_queue: str
) -> None:
    def build() -> Workflow:
        return nested.keeps_state()

    async with serving(client, task_queue, build, default_activity_options=ONCE) as durable:
        session, twin = (durable.session(f"{task_queue}-{one}") for one in ("failing", "well"))
        await session.run(1)
        with pytest.raises(InputRefused):
            await session.run("no number")

        assert (await session.run(2)).get_outputs() == [(await twin.run(one)).get_outputs() for one in (1, 2)][-1]


async def test_an_input_that_no_handler_takes_leaves_the_session_as_it_was(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        with pytest.raises(InputRefused, match="cannot handle the input"):
            await session.run({"no": "number"})
        with pytest.raises(InputRefused, match="no checkpoint 'no-such'"):
            await session.run(checkpoint_id="no-such")
        assert (await session.run(1)).get_outputs() == [(2, [1, 1])]


async def test_a_session_goes_back_to_a_checkpoint(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(500)).get_request_info_events()
        pause = (await session.durable_run.status()).checkpoint_id
        assert (await session.run(responses={request.request_id: False})).get_outputs() == [(0, [0])]

        again = await session.run(checkpoint_id=pause)
        assert [one.request_id for one in again.get_request_info_events()] == [request.request_id]
        answered = await session.run(responses={request.request_id: True})

        assert answered.get_outputs() == [(500, [500])]
        both = await session.run(checkpoint_id=pause, responses={request.request_id: False})
        assert both.get_outputs() == [(0, [0])]
        heads = [one for one in await session.durable_run.checkpoints() if one.previous_checkpoint_id == pause]
        assert [one.kind for one in heads] == ["response", "response", "response"]


async def test_parameters_that_do_not_go_together_are_refused_at_once_as_in_maf(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        for arguments in ({}, {"message": 1, "responses": {}}, {"message": 1, "checkpoint_id": "c"}):
            with pytest.raises(ValueError) as ours:  # noqa: PT011 - compared with MAF's own
                session.run(**arguments)
            with pytest.raises(ValueError) as theirs:  # noqa: PT011
                await ledger().run(**arguments)
            assert str(ours.value) == str(theirs.value)


class Gate(Executor):
    """Waits until the test opens it."""

    opened = asyncio.Event()
    entered = asyncio.Event()

    @handler
    async def wait(self, value: int, ctx: WorkflowContext[None, int]) -> None:
        Gate.entered.set()
        await Gate.opened.wait()
        await ctx.yield_output(value)


def gate() -> Workflow:
    return WorkflowBuilder(name="gate", start_executor=Gate(id="gate")).build()


async def test_a_second_run_is_refused_while_one_is_under_way(client: Client, task_queue: str) -> None:
    Gate.opened, Gate.entered = asyncio.Event(), asyncio.Event()
    async with serving(client, task_queue, gate) as durable:
        session, other = (durable.session(f"{task_queue}-session") for _ in range(2))
        first = asyncio.ensure_future(session.run(1))
        await Gate.entered.wait()

        with pytest.raises(WorkflowException, match="concurrent runs are not allowed"):
            session.run(2)
        with pytest.raises(SessionRefused, match="is running"):
            await other.run(2)
        with pytest.raises(SessionRefused, match="is running"):
            await other.close()

        Gate.opened.set()
        assert (await first).get_outputs() == [1]


async def test_a_closed_session_is_completed_and_its_id_opens_another(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, ledger, store=store) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        await session.close()
        assert (await session.durable_run.result()).get_outputs() == [(1, [1])]
        assert (await session.durable_run.handle.describe()).status is WorkflowExecutionStatus.COMPLETED
        with pytest.raises(RunNotFound, match="is closed"):
            await session.close()
        with pytest.raises(RunNotFound, match="is closed"):
            await session.reset()

        assert (await session.run(5)).get_outputs() == [(5, [5])]
        assert (await session.durable_run.handle.describe()).status is WorkflowExecutionStatus.RUNNING


async def test_a_session_outlives_its_workers_and_replays(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    for turn in (1, 2, 3):
        async with serving(client, task_queue, ledger, store=store) as durable:
            session = durable.session(f"{task_queue}-session")
            assert (await session.run(turn)).get_outputs()[0][0] == sum(range(turn + 1))
            history = await session.durable_run.handle.fetch_history()

    await Replayer(workflows=[workflow_type("ledger")]).replay_workflow(history)


async def test_a_session_without_a_workflow_cache_goes_on_alike(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger, max_cached_workflows=0) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(500)).get_request_info_events()
        assert (await session.run(responses={request.request_id: True})).get_outputs() == [(500, [500])]
        await session.reset()
        assert (await session.run(3)).get_outputs() == [(3, [3])]


async def test_a_response_by_the_signal_is_taken_between_turns(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(1)).get_request_info_events()
        await session.durable_run.handle.signal("respond", {"request_id": request.request_id, "response": True})

        async def is_idle() -> bool:
            return (await session.durable_run.status()).state is WorkflowRunState.IDLE

        await until(is_idle)
        events = await session.durable_run.events_between(0, (await session.durable_run.status()).events)
        assert [event.type for event in events if event.type == "output"] == ["output"]


async def test_a_run_that_is_no_session_takes_no_further_input(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=f"{task_queue}-plain")
        with pytest.raises(SessionRefused, match="is no session"):
            await durable.session(run.id).run(2)
        with pytest.raises(SessionRefused, match="is no session"):
            await durable.session(run.id).reset()
