"""The private MAF names that `temporal_adapter.maf` relies on are still what it takes them for.

A failure here after an upgrade of agent-framework-core names what moved.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from agent_framework import (
    Content,
    Executor,
    FanInEdgeGroup,
    InProcRunnerContext,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowMessage,
    handler,
    response_handler,
)
from agent_framework.exceptions import AgentInvalidResponseException

from temporal_adapter import maf


class Collect(Executor):
    @handler
    async def one(self, message: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(message)

    @handler
    async def many(self, messages: list[str], ctx: WorkflowContext[str]) -> None: ...


def fan_in() -> tuple[FanInEdgeGroup, dict[str, Executor]]:
    start, left, right, target = (Collect(id=one) for one in ("start", "left", "right", "target"))
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [left, right])
    workflow = builder.add_fan_in_edges([left, right], target).build()
    group = next(one for one in workflow.edge_groups if isinstance(one, FanInEdgeGroup))
    return group, workflow.executors


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_every_name_is_exported() -> None:
    assert [name for name in maf.__all__ if not hasattr(maf, name)] == []


def test_state_stages_writes_in_pending_and_commits_them() -> None:
    state = maf.State()
    state.set("key", [1])

    assert state._pending == {"key": [1]}
    assert state._committed == {}
    state.commit()
    assert state._committed == {"key": [1]}
    assert state._pending == {}
    state.delete("key")
    state.commit()
    assert state._committed == {}


def test_state_has_the_methods_that_shared_state_builds_on() -> None:
    expected = {
        "set": ["self", "key", "value"],
        "get": ["self", "key", "default"],
        "has": ["self", "key"],
        "delete": ["self", "key"],
        "clear": ["self"],
        "commit": ["self"],
        "discard": ["self"],
        "export_state": ["self"],
        "import_state": ["self", "state"],
    }
    assert {name: parameters(getattr(maf.State, name)) for name in expected} == expected


def test_edge_runners_are_made_from_a_group_and_the_executors() -> None:
    assert parameters(maf.create_edge_runner) == ["edge_group", "executors"]
    group, executors = fan_in()
    assert isinstance(maf.create_edge_runner(group, executors), maf.FanInEdgeRunner)


def test_edge_runners_have_the_methods_that_routing_uses() -> None:
    expected = {
        "send_message": ["self", "message", "state", "ctx"],
        "snapshot_state": ["self"],
        "restore_state": ["self", "state"],
    }
    assert {name: parameters(getattr(maf.EdgeRunner, name)) for name in expected} == expected
    assert inspect.iscoroutinefunction(maf.FanInEdgeRunner.send_message)
    assert isinstance(maf.EdgeRunner.state_key, property)


def test_a_fan_in_runner_is_keyed_by_its_topology() -> None:
    group, executors = fan_in()
    key = maf.create_edge_runner(group, executors).state_key

    assert key == 'FanInEdgeGroup:[["left","target"],["right","target"]]'
    renamed = maf.edge_state_key(key, {"left": "zzz", "target": "aim"})
    assert renamed == 'FanInEdgeGroup:[["right","aim"],["zzz","aim"]]'


async def test_a_fan_in_runner_buffers_under_the_known_key_and_takes_its_buffer_back() -> None:
    assert maf.FAN_IN_BUFFER_KEY == "buffer"
    group, executors = fan_in()
    runner = maf.create_edge_runner(group, executors)
    message = WorkflowMessage(data="hello", source_id="left")

    await runner.send_message(message, maf.State(), InProcRunnerContext())

    assert runner.snapshot_state() == {"buffer": {"left": [message]}}
    runner.restore_state(None)
    assert runner.snapshot_state() is None
    runner.restore_state({"buffer": {"left": [message]}})
    assert runner.snapshot_state() == {"buffer": {"left": [message]}}


def test_edge_runners_ask_executors_for_can_handle_and_execute_only() -> None:
    assert parameters(Executor.can_handle)[:2] == ["self", "message"]
    assert parameters(Executor.execute)[:5] == ["self", "message", "source_executor_ids", "state", "runner_context"]


def test_message_types_are_standard_and_response() -> None:
    assert {one.name: one.value for one in maf.MessageType} == {"STANDARD": "standard", "RESPONSE": "response"}


def test_the_keys_in_checkpoint_state_are_those_that_stored_checkpoints_have() -> None:
    assert maf.EXECUTOR_STATE_KEY == "_executor_state"
    assert maf.WORKFLOW_RUN_KWARGS_KEY == "_workflow_run_kwargs"
    assert maf.RESOLVED_WORKFLOW_RUN_KWARGS_KEY == "_resolved_workflow_run_kwargs"
    assert maf.ROUTED_WORKFLOW_RUN_KWARGS_KEY == "_routed_workflow_run_kwargs"
    assert maf.EDGE_STATE_KEY == "_edge_state"


async def test_an_executor_that_wraps_a_sub_workflow_keeps_its_checkpoint_under_the_known_key() -> None:
    child = WorkflowBuilder(name="child", start_executor=Collect(id="only")).build()

    saved = await WorkflowExecutor(child, id="wraps").on_checkpoint_save()

    assert list(saved) == [maf.SUB_WORKFLOW_CHECKPOINT_KEY]


async def test_a_workflow_runs_its_supersteps_by_its_runner_on_that_runners_context_and_state() -> None:
    workflow = WorkflowBuilder(name="plain", start_executor=Collect(id="only")).build()
    runner = maf.runner_of(workflow)
    seen: list[Any] = []

    async def run_until_convergence() -> Any:
        seen.append((await runner.context.drain_messages(), runner.state.export_state()))
        for event in ():
            yield event

    async def create_checkpoint_if_enabled() -> None:
        seen.append("entry checkpoint")

    vars(runner)["run_until_convergence"] = run_until_convergence
    vars(runner)["create_checkpoint_if_enabled"] = create_checkpoint_if_enabled
    await workflow.run("input", client_kwargs={"key": 1})

    assert seen.pop(0) == "entry checkpoint"
    ((messages, state),) = seen
    assert [one.data for one in messages["internal:only"]] == ["input"]
    assert any("client_kwargs" in one for one in state.values())


def test_the_result_of_a_computer_call_must_be_that_of_the_call() -> None:
    call = Content("computer_tool_call", id="one", call_id="call-1")

    assert len(parameters(maf.validate_computer_tool_result)) == 2
    assert maf.validate_computer_tool_result(call, Content("computer_tool_result", call_id="call-1")) is None
    with pytest.raises(AgentInvalidResponseException, match="must match its pending computer call"):
        maf.validate_computer_tool_result(call, Content("computer_tool_result", call_id="call-2"))


def test_types_are_compared_and_coerced_at_run_time() -> None:
    assert parameters(maf.is_instance_of)[:2] == ["data", "target_type"]
    assert maf.is_instance_of([1], list[int])
    assert not maf.is_instance_of(["a"], list[int])
    assert parameters(maf.try_coerce_to_type)[:2] == ["data", "target_type"]
    assert maf.try_coerce_to_type(1, float) == 1.0


def test_registered_checkpoint_types_are_a_set_of_names() -> None:
    assert isinstance(maf.REGISTERED_CHECKPOINT_TYPE_KEYS, set)


async def test_an_executor_is_told_of_a_cancelled_request_in_the_context_that_maf_gives_it() -> None:
    seen: list[tuple[str, list[str], Any]] = []

    class Releases(Collect):
        @handler
        async def ask(self, value: int, ctx: WorkflowContext[str]) -> None:
            await ctx.request_info("May I?", bool, request_id="request-1")

        async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[Any, Any]) -> None:
            seen.append((request_id, ctx.source_executor_ids, ctx.get_state("key")))
            ctx.set_state("told", request_id)

    workflow = WorkflowBuilder(start_executor=Releases(id="asks")).build()
    await workflow.run(1)
    maf.runner_of(workflow).state.set("key", "value")
    await workflow.cancel_pending_requests(["request-1"])
    by_maf = seen.pop()

    state = maf.State()
    state.set("key", "value")
    executor = Releases(id="asks")
    await maf.tell_of_cancelled_request(executor, "request-1", state, InProcRunnerContext())

    assert seen == [by_maf] == [("request-1", ["internal:asks"], "value")]
    assert state.get("told") == "request-1"


async def test_a_workflow_takes_cancelled_requests_from_its_runners_context_before_it_runs_supersteps() -> None:
    class Asks(Executor):
        @handler
        async def ask(self, value: int, ctx: WorkflowContext[str]) -> None:
            await ctx.request_info("May I?", bool, request_id="request-1")

        @response_handler
        async def answered(self, question: str, yes: bool, ctx: WorkflowContext[str]) -> None: ...

    workflow = WorkflowBuilder(start_executor=Asks(id="asks")).build()
    await workflow.run(1)
    runner = maf.runner_of(workflow)
    seen: list[Any] = []

    async def cancel_request_info_events(request_ids: set[str]) -> dict[str, Any]:
        seen.append(request_ids)
        return {}

    async def run_until_convergence() -> Any:
        seen.append("superstep")
        for event in ():
            yield event

    vars(runner.context)["cancel_request_info_events"] = cancel_request_info_events
    vars(runner)["run_until_convergence"] = run_until_convergence
    await workflow.cancel_pending_requests(["request-1"], client_kwargs={"key": 1})

    assert seen == [{"request-1"}, "superstep"]
    assert any("client_kwargs" in one for one in runner.state.export_state().values())


async def test_a_run_is_unstreamed_for_executors_though_its_events_are_streamed() -> None:
    class Ask(Executor):
        @handler
        async def ask(self, message: str, ctx: WorkflowContext[None, bool]) -> None:
            await ctx.yield_output(ctx.is_streaming())

    async def outputs(workflow: Workflow) -> list[Any]:
        return [event.data async for event in workflow.run("hello", stream=True) if event.type == "output"]

    streamed, unstreamed = (WorkflowBuilder(start_executor=Ask(id="ask")).build() for _ in range(2))
    maf.run_unstreamed(unstreamed)

    assert await outputs(streamed) == [True]
    assert await outputs(unstreamed) == [False]


async def test_a_context_knows_the_id_of_its_executor() -> None:
    seen: list[str] = []

    class Tells(Executor):
        @handler
        async def tell(self, message: str, ctx: WorkflowContext) -> None:
            seen.append(maf.executor_id_of(ctx))

    await WorkflowBuilder(start_executor=Tells(id="tells")).build().run("input")

    assert seen == ["tells"]
