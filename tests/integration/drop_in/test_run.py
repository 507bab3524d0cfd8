"""`run` of a drop-in, in all its forms: the results, rules, errors and states of MAF's `Workflow.run`."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from agent_framework import (
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowCheckpointException,
    WorkflowException,
    WorkflowRunState,
)
from temporalio.client import Client

from temporal_adapter import SessionWorkflow, durable
from temporal_adapter.testing.on_temporal import Serving
from tests.integration.restoring.test_sessions import ledger
from tests.support import running
from tests.support.drop_ins import drop_in, error_of, same
from tests.support.scripted import Script, steps
from tests.support.support_desk import desk

PENDING = WorkflowRunState.IDLE_WITH_PENDING_REQUESTS


def test_it_is_the_workflow_it_was_made_of(serving: Serving) -> None:
    workflow = desk()

    made = drop_in(serving, lambda: workflow)

    assert isinstance(made, Workflow)
    assert made.to_dict() == workflow.to_dict()
    assert made.to_json() == workflow.to_json()
    assert made.input_types == workflow.input_types
    assert set(made.output_types) == set(workflow.output_types)
    assert made.get_executors_list() == workflow.get_executors_list()
    assert made.get_output_executors() == workflow.get_output_executors()
    assert made.status is workflow.status is WorkflowRunState.IDLE
    assert made.get_last_checkpoint_id() is None


async def test_inputs_and_responses_give_maf_results_and_keep_state(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        first = await workflow.run(1)
        asked = await workflow.run(500, include_status_events=True)
        [request] = asked.get_request_info_events()
        states = [workflow.status, asked.get_final_state(), [one.state for one in asked.status_timeline()]]
        answered = await workflow.run(responses={request.request_id: True})
        kinds = [[one.type for one in result] for result in (first, asked, answered)]
        return kinds, states, [first.get_outputs(), answered.get_outputs()], request.data, workflow.status

    *_, status = await same(serving, ledger, use)
    assert status is WorkflowRunState.IDLE


async def test_what_does_not_go_together_is_refused_at_once_with_mafs_words(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        given: list[dict[str, Any]] = [
            {},
            {"message": 1, "responses": {}},
            {"message": 1, "checkpoint_id": "some"},
        ]
        return [await error_of(lambda one=one: workflow.run(**one)) for one in given]

    errors = await same(serving, ledger, use)
    assert [at_once for *_, at_once in errors] == [True] * 3


async def test_responses_that_do_not_fit_are_refused_with_mafs_errors(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        none_pending = await error_of(lambda: workflow.run(responses={"some": True}))
        [request] = (await workflow.run(500)).get_request_info_events()
        unknown = await error_of(lambda: workflow.run(responses={"other": True}))
        wrong = await error_of(lambda: workflow.run(responses={request.request_id: "perhaps"}))
        states = workflow.status
        nothing = await workflow.run(responses={})
        return none_pending, unknown, wrong, states, nothing.get_final_state()

    *_, state = await same(serving, ledger, use)
    assert state is PENDING


async def test_what_an_executor_raises_is_raised_and_the_workflow_can_be_run_again(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        raised = await error_of(lambda: workflow.run(-1))
        failed = workflow.status
        seen: list[str] = []
        stream = workflow.run(-1, stream=True).with_transform_hook(lambda event: seen.append(event.type))
        again = await error_of(stream.get_final_response)
        unhandled = (await error_of(lambda: workflow.run("no number")))[0]
        return raised, again, failed, seen[-3:], unhandled, workflow.status, (await workflow.run(2)).get_outputs()

    *_, outputs = await same(serving, ledger, use)
    assert outputs == [(2, [2])]


async def test_a_second_run_of_the_object_is_refused_at_once(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        first = workflow.run(1, stream=True)
        refused = await error_of(lambda: workflow.run(2))
        result = await first.get_final_response()
        return refused, result.get_outputs(), (await workflow.run(2)).get_outputs()

    (error, *_), *_ = await same(serving, ledger, use)
    assert error is WorkflowException


async def test_a_stream_that_nobody_began_to_read_is_no_run(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        workflow.run(1, stream=True)
        return (await workflow.run(2)).get_outputs()

    assert await same(serving, ledger, use) == [(2, [2])]


async def test_an_input_while_requests_wait_is_warned_of_and_they_go_on_waiting(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(workflow: Workflow) -> Any:
        [request] = (await workflow.run(500)).get_request_info_events()
        caplog.clear()
        with caplog.at_level(logging.WARNING, "agent_framework"):
            outputs = (await workflow.run(1)).get_outputs()
        warned = [one.getMessage().replace(workflow.id, "") for one in caplog.records if "still pending" in one.msg]
        return outputs, warned, (await workflow.run(responses={request.request_id: True})).get_outputs()

    _, warned, _ = await same(serving, ledger, use)
    assert len(warned) == 1


async def test_run_scoped_tools_are_refused(serving: Serving) -> None:
    workflow = drop_in(serving, desk)

    with pytest.raises(ValueError, match=r"factory.*function_invocation_kwargs"):
        await workflow.run("hello", tools=[print])

    assert (await workflow.run("hello", tools=[])).get_final_state() is WorkflowRunState.IDLE


async def test_run_kwargs_come_with_responses_too_and_are_lost_to_a_checkpoint_as_in_maf(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        storage = InMemoryCheckpointStorage()
        run: Any = workflow.run
        [request] = (await run(500, client_kwargs={"a": 1}, checkpoint_storage=storage)).get_request_info_events()
        pause = workflow.get_last_checkpoint_id()
        given = {"responses": {request.request_id: True}, "checkpoint_storage": storage}
        await run(**given, function_invocation_kwargs={"b": 2}, client_kwargs={"ledger": {"c": 3}})
        await run(**given, checkpoint_id=pause, client_kwargs={"d": 4})
        kept = await storage.list_checkpoints(workflow_name=workflow.name)
        return [{key: value for key, value in one.state.items() if "kwargs" in key} for one in kept]

    states = await same(serving, ledger, use)
    assert states[2] != states[1]
    assert states[-1] == states[1]


# --- checkpoints ----------------------------------------------------------------------------------------------


async def test_a_run_goes_on_from_a_checkpoint_with_and_without_responses(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        storage = InMemoryCheckpointStorage()
        await workflow.run(1, checkpoint_storage=storage)
        asked = await workflow.run(500, checkpoint_storage=storage)
        [request] = asked.get_request_info_events()
        pause = workflow.get_last_checkpoint_id()
        assert pause is not None
        told = await workflow.resolve_pause_checkpoint_id([request.request_id], checkpoint_storage=storage)
        yes = {request.request_id: True}
        first = await workflow.run(responses=yes, checkpoint_storage=storage)
        back = await workflow.run(checkpoint_id=pause, checkpoint_storage=storage)
        again = await workflow.run(responses=yes, checkpoint_id=pause, checkpoint_storage=storage)
        kept = await storage.list_checkpoints(workflow_name=workflow.name)
        return [
            told == pause,
            first.get_outputs()[0][1],
            [(one.type, one.data) for one in back if one.type == "request_info"],
            back.get_final_state(),
            again.get_outputs()[0][1],
            [one.type for one in again if one.type == "request_info"],
            kept[-1].state["amounts"],
        ]

    await same(serving, ledger, use)


async def test_a_checkpoint_that_is_not_there_is_mafs_error(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        storage = InMemoryCheckpointStorage()
        return (await error_of(lambda: workflow.run(checkpoint_id="no such", checkpoint_storage=storage)))[0]

    await same(serving, ledger, use)
    with pytest.raises(WorkflowCheckpointException, match="no such"):
        await drop_in(serving, ledger).run(checkpoint_id="no such")


async def test_what_began_in_process_goes_on_on_temporal(serving: Serving) -> None:
    storage = InMemoryCheckpointStorage()
    in_process = ledger()
    await in_process.run(1, checkpoint_storage=storage)
    [request] = (await in_process.run(500, checkpoint_storage=storage)).get_request_info_events()
    pause = in_process.get_last_checkpoint_id()
    assert pause is not None

    workflow = drop_in(serving, ledger)
    await workflow.run(checkpoint_id=pause, checkpoint_storage=storage)
    result = await workflow.run(responses={request.request_id: True}, checkpoint_storage=storage)

    assert result.get_outputs() == [(500, [1, 500])]
    assert workflow.get_last_checkpoint_id() in await storage.list_checkpoint_ids(workflow_name="ledger")


async def test_a_storage_is_of_no_use_without_the_workers_store(serving: Serving) -> None:
    workflow = drop_in(serving, ledger, checkpoint_store=None)

    with pytest.raises(ValueError, match=r"durable\(\.\.\., checkpoint_store="):
        await workflow.run(1, checkpoint_storage=InMemoryCheckpointStorage())

    [request] = (await workflow.run(500)).get_request_info_events()
    assert await workflow.resolve_pause_checkpoint_id([request.request_id]) is None
    back = await workflow.run(checkpoint_id=workflow.get_last_checkpoint_id())
    assert back.get_final_state() is PENDING


# --- one session, several processes ---------------------------------------------------------------------------


async def test_another_object_of_the_session_sees_its_requests_and_answers_them(serving: Serving) -> None:
    first = drop_in(serving, ledger)
    [request] = (await first.run(500)).get_request_info_events()

    second = drop_in(serving, ledger, session_id=first.session.id)
    assert second.status is WorkflowRunState.IDLE
    assert await second.refresh() is PENDING
    assert second.get_last_checkpoint_id() == first.get_last_checkpoint_id()
    [(request_id, seen)] = (await pending(second)).items()
    answered = await second.run(responses={request_id: True})

    assert (request_id, seen.data, seen.response_type) == (request.request_id, request.data, bool)
    assert answered.get_outputs() == [(500, [500])]
    assert await pending(first) == {}
    assert first.status is WorkflowRunState.IDLE


async def test_a_request_is_the_same_object_each_time(serving: Serving) -> None:
    workflow = drop_in(serving, ledger)
    [request] = (await workflow.run(500)).get_request_info_events()

    first, second = [(await pending(workflow))[request.request_id] for _ in range(2)]

    assert first is second


async def test_a_session_at_work_for_another_is_refused_as_a_concurrent_run(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("first")
    build = steps(script, "first", "last")
    async with running.serving(client, task_queue, build):
        first, second = (durable(build(), client, task_queue=task_queue, session_id=task_queue) for _ in range(2))
        under_way = asyncio.ensure_future(first.run(1))
        await script.entered("first")

        with pytest.raises(WorkflowException, match="is running"):
            await second.run(2)
        assert await second.refresh() is first.status is WorkflowRunState.IN_PROGRESS

        script.release("first")
        assert (await under_way).get_outputs() == [1]


async def test_whoever_leaves_a_stream_leaves_the_turn_to_go_on(serving: Serving) -> None:
    workflow = drop_in(serving, ledger)
    async for event in workflow.run(500, stream=True):
        if event.type == "started":
            break

    async def asked() -> bool:
        return await workflow.refresh() is PENDING

    await running.until(asked)

    [request_id] = await pending(workflow)
    assert (await workflow.run(responses={request_id: True})).get_outputs() == [(500, [500])]


async def test_a_closed_session_is_as_one_that_was_never_run(serving: Serving) -> None:
    workflow = drop_in(serving, ledger)
    await workflow.run(500)
    await workflow.session.close()

    assert await workflow.refresh() is WorkflowRunState.IDLE
    assert await pending(workflow) == {}
    assert (await workflow.run(1)).get_outputs() == [(1, [1])]


async def test_requests_are_cancelled_as_in_maf(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        [request] = (await workflow.run(500)).get_request_info_events()
        none = await workflow.cancel_pending_requests(["other"])
        cancelled = await workflow.cancel_pending_requests([request.request_id])
        return [
            none.get_final_state(),
            cancelled.get_final_state(),
            workflow.status,
            await error_of(lambda: workflow.run(responses={request.request_id: True})),
            (await workflow.run(1)).get_outputs(),
        ]

    await same(serving, ledger, use)


async def pending(workflow: SessionWorkflow) -> dict[str, Any]:
    """What AG-UI and MAF's agent read."""
    return await workflow._runner_context.get_pending_request_info_events()
