"""What a drop-in relies on in MAF's `Workflow` is there, and MAF's `run` comes by the two places that it replaces.

A failure here after an upgrade of agent-framework-core names what moved.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agent_framework import (
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowAgent,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowContext,
    WorkflowEvent,
    WorkflowRunState,
    executor,
)

from temporal_adapter import BlobStore
from temporal_adapter.client.streaming import AttemptAbandoned
from temporal_adapter.drop_in.checkpoints import SessionCheckpoints
from temporal_adapter.drop_in.context import SessionContext
from temporal_adapter.drop_in.workflow import SessionWorkflow


def echo() -> Workflow:
    @executor(id="echo")
    async def echoes(text: str, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(text)

    return WorkflowBuilder(name="echo", start_executor=echoes).build()


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", ["_resolve_execution_mode", "_run_workflow_with_tracing", "run", "as_agent"])
def test_what_is_replaced_takes_what_mafs_own_takes(name: str) -> None:
    assert parameters(getattr(SessionWorkflow, name)) == parameters(getattr(Workflow, name))


def test_cancelling_and_resolving_take_what_mafs_own_take() -> None:
    assert parameters(SessionWorkflow.cancel_pending_requests) == parameters(Workflow.cancel_pending_requests)
    own, mafs = (parameters(one.resolve_pause_checkpoint_id) for one in (SessionWorkflow, Workflow))
    assert own == [*mafs[:3], "options"]


def test_a_workflow_has_no_state_that_a_drop_in_does_not_know_of() -> None:
    own = {
        "_active_run",
        "_restored_checkpoint_id",
        "_run_baseline_checkpoint_id",
        "_runner",
        "_runner_context",
        "_status",
    }
    graph = {
        "_output_designation",
        "description",
        "edge_groups",
        "executors",
        "graph_signature",
        "graph_signature_hash",
    }
    graph |= {"id", "max_iterations", "name", "start_executor_id"}
    assert set(vars(echo())) == own | graph


async def test_mafs_run_gives_what_it_was_given_to_the_places_that_are_replaced() -> None:
    seen: list[Any] = []

    class Recording(Workflow):
        def _resolve_execution_mode(self, *given: Any) -> Any:
            seen.append(given)
            return "the mode"

        async def _run_workflow_with_tracing(self, **given: Any) -> AsyncIterator[WorkflowEvent]:
            seen.append(given)
            yield WorkflowEvent.status(WorkflowRunState.IDLE)

    workflow = echo()
    workflow.__class__ = Recording
    storage = InMemoryCheckpointStorage()

    result = await workflow.run("hello", checkpoint_storage=storage, client_kwargs={"a": 1})

    assert seen.pop(0) == ("hello", None, None, storage)
    assert seen == [
        {
            "initial_executor_fn": "the mode",
            "is_continuation": False,
            "streaming": False,
            "tools": None,
            "function_invocation_kwargs": None,
            "client_kwargs": {"a": 1},
        }
    ]
    assert result.get_final_state() is WorkflowRunState.IDLE


async def test_mafs_run_asks_the_context_for_pending_requests() -> None:
    asked = 0

    async def pending() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {}

    workflow = echo()
    vars(workflow._runner)["_ctx"] = SessionContext(pending, None)
    with pytest.raises(RuntimeError, match="No pending requests"):
        await workflow.run(responses={"some": 1})

    assert asked == 1


def test_mafs_agent_runs_by_the_method_that_looks_first() -> None:
    assert inspect.isasyncgenfunction(WorkflowAgent._run_core)
    assert "_run_core" in inspect.getsource(WorkflowAgent._run_impl)
    assert "_run_core" in inspect.getsource(WorkflowAgent._run_stream_impl)


def test_void_events_are_no_part_of_a_result() -> None:
    void, counts = (WorkflowEvent("output", text, executor_id="echo") for text in ("void", "counts"))
    abandoned = AttemptAbandoned("echo", 1, [void])

    result = SessionWorkflow._finalize_events([void, abandoned, counts])

    assert list(result) == [counts]


async def test_a_checkpoint_that_is_known_keeps_notes_and_is_not_written_again() -> None:
    workflow, blobs = echo(), BlobStore("memory://")
    await workflow.run("hello", checkpoint_storage=SessionCheckpoints(blobs, workflow=workflow))
    storage, other = (SessionCheckpoints(blobs, workflow=workflow) for _ in range(2))
    checkpoint = await storage.get_latest(workflow_name="echo")
    assert checkpoint is not None
    checkpoint.metadata = {"owner": "Ada"}

    assert await storage.save(checkpoint) == checkpoint.checkpoint_id

    assert (await storage.load(checkpoint.checkpoint_id)).metadata == {"owner": "Ada"}
    assert (await other.load(checkpoint.checkpoint_id)).metadata == {}


async def test_a_checkpoint_that_is_not_known_is_written() -> None:
    workflow, blobs = echo(), BlobStore("memory://")
    storage = SessionCheckpoints(blobs, workflow=workflow)
    checkpoint = WorkflowCheckpoint(workflow_name="echo", graph_signature_hash=workflow.graph_signature_hash)
    assert not await storage.has(checkpoint.checkpoint_id)

    await storage.save(checkpoint)

    assert await SessionCheckpoints(blobs, workflow=workflow).has(checkpoint.checkpoint_id)
