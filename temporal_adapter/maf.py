"""The one module that imports private MAF names, each with the reason why no public one serves.

An upgrade of `agent-framework-core` that moves one of them fails here, at import, and in `tests/unit/test_maf.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_framework import INTERNAL_SOURCE_ID, Executor, InProcRunnerContext, Workflow, WorkflowContext

# What Workflow.run(responses=...) asks of the response to a computer call.
from agent_framework._workflows._agent_executor import (
    _validate_computer_tool_result as validate_computer_tool_result,  # pyright: ignore[reportPrivateUsage]
)

# agent_framework.register_checkpoint_type fills this set in place; nothing public reads it.
from agent_framework._workflows._checkpoint_encoding import (
    _REGISTERED_CHECKPOINT_TYPE_KEYS as REGISTERED_CHECKPOINT_TYPE_KEYS,  # pyright: ignore[reportPrivateUsage]
)

# The keys under which a checkpoint's state holds what is not shared state, and run kwargs, which name executors.
from agent_framework._workflows._const import (
    EDGE_STATE_KEY,
    EXECUTOR_STATE_KEY,
    RESOLVED_WORKFLOW_RUN_KWARGS_KEY,
    ROUTED_WORKFLOW_RUN_KWARGS_KEY,
    WORKFLOW_RUN_KWARGS_KEY,
)

# Routing is MAF's own; its runners are not public.
from agent_framework._workflows._edge_runner import EdgeRunner, FanInEdgeRunner, create_edge_runner

# What runs a workflow's supersteps, below Workflow.run.
from agent_framework._workflows._runner import RunnerImpl

# WorkflowMessage is public, the type of its `type` is not.
from agent_framework._workflows._runner_context import MessageType

# Executors are given a State; the class is not public.
from agent_framework._workflows._state import State

# What MAF accepts as a message or response, and how it turns JSON into one.
from agent_framework._workflows._typing_utils import is_instance_of, try_coerce_to_type

# The key under which a fan-in's snapshot holds its buffer.
FAN_IN_BUFFER_KEY = FanInEdgeRunner._BUFFER_KEY  # pyright: ignore[reportPrivateUsage]

# The key under which an executor that wraps a sub-workflow keeps the checkpoint of that, spelled out in its hooks.
SUB_WORKFLOW_CHECKPOINT_KEY = "sub_workflow_checkpoint"

__all__ = [
    "EDGE_STATE_KEY",
    "EXECUTOR_STATE_KEY",
    "FAN_IN_BUFFER_KEY",
    "REGISTERED_CHECKPOINT_TYPE_KEYS",
    "RESOLVED_WORKFLOW_RUN_KWARGS_KEY",
    "ROUTED_WORKFLOW_RUN_KWARGS_KEY",
    "SUB_WORKFLOW_CHECKPOINT_KEY",
    "WORKFLOW_RUN_KWARGS_KEY",
    "EdgeRunner",
    "FanInEdgeRunner",
    "MessageType",
    "RunnerImpl",
    "State",
    "create_edge_runner",
    "edge_state_key",
    "executor_id_of",
    "is_instance_of",
    "run_unstreamed",
    "runner_of",
    "tell_of_cancelled_request",
    "try_coerce_to_type",
    "validate_computer_tool_result",
]


def runner_of(workflow: Workflow) -> RunnerImpl:
    """Return what runs a workflow's supersteps."""
    return workflow._runner  # pyright: ignore[reportPrivateUsage]


def executor_id_of(ctx: WorkflowContext[Any, Any]) -> str:
    """Return the id of the executor whose handler has a context; a context tells its sources only."""
    return ctx._executor_id  # pyright: ignore[reportPrivateUsage]


def edge_state_key(key: str, names: Mapping[str, str]) -> str:
    """Return an `EdgeRunner.state_key` with executors of other names: it is made of the edges' ends."""
    kind, _, edges = key.partition(":")
    renamed = sorted([names.get(source, source), names.get(target, target)] for source, target in json.loads(edges))
    return f"{kind}:{json.dumps(renamed, separators=(',', ':'))}"


async def tell_of_cancelled_request(
    executor: Executor, request_id: str, state: State, context: InProcRunnerContext
) -> None:
    """Let an executor release what it keeps for a request that was cancelled, as `Workflow.cancel_pending_requests`."""
    ctx = executor._create_context_for_handler(  # pyright: ignore[reportPrivateUsage]
        source_executor_ids=[INTERNAL_SOURCE_ID(executor.id)], state=state, runner_context=context
    )
    await executor._cancel_pending_request(request_id, ctx)  # pyright: ignore[reportPrivateUsage]


def run_unstreamed(workflow: Workflow) -> None:
    """Make agents answer as in `workflow.run(stream=False)`, however it is run.

    Only a stream shows the events of a run that fails; agents ask the runner's context whether to answer in pieces.
    """
    context = runner_of(workflow).context
    context.is_streaming = lambda: False  # pyright: ignore[reportAttributeAccessIssue]
