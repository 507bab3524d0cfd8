"""Seeding: accept a run's input, record the graph, write the entry checkpoint. MAF's `Workflow.run(message)`."""

from __future__ import annotations

from typing import Any

from agent_framework import INTERNAL_SOURCE_ID, WorkflowMessage
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.maf import (
    RESOLVED_WORKFLOW_RUN_KWARGS_KEY,
    ROUTED_WORKFLOW_RUN_KWARGS_KEY,
    WORKFLOW_RUN_KWARGS_KEY,
)
from temporal_adapter.payload import Writer
from temporal_adapter.pool import BuiltGraph
from temporal_adapter.values import CoercionError, DecodeError, coerce_json

from . import mirror
from .context import Host, now

INPUT_NOT_HANDLED = "InputNotHandled"
"""Error type of a run whose input no handler of the start executor accepts."""

# What Workflow.run sets in shared state when it is given no kwargs.
_NO_KWARGS = (WORKFLOW_RUN_KWARGS_KEY, RESOLVED_WORKFLOW_RUN_KWARGS_KEY, ROUTED_WORKFLOW_RUN_KWARGS_KEY)


async def seed(host: Host, data: wire.SeedInput) -> wire.SeedResult:
    """Return the input in flight, with the graph and the executors' first state.

    Raises:
        ApplicationError: No handler of the start executor accepts the input; names the accepted types.
    """
    async with host.pool.borrow(fresh=True) as graph:  # fresh: an agent's session is this run's own
        stores = host.stores()
        message = _entry_message(graph, _input(graph, data))
        writer = Writer(graph.codec, stores.values)
        routed = wire.RoutedMessage(
            message=await writer.message(message, "input"), routes=await graph.router.route(message)
        )
        state = await writer.values({key: {} for key in _NO_KWARGS}, "state")
        executors = await writer.values(await _saved(graph), "executor state")
        description = graph.description()
        record = wire.CheckpointRecord(
            header=data.header,
            snapshot=wire.Snapshot(changes=wire.Changes(state=dict(state), executors=dict(executors))),
            messages=[routed.message],
        )
        return wire.SeedResult(
            graph=description,
            message=routed,
            state=state,
            executors=executors,
            commit=await mirror.write(stores.checkpoints, description, [record], mirror.own_rank()),
            at=now(),
        )


def _input(graph: BuiltGraph, data: wire.SeedInput) -> Any:
    start = graph.workflow.get_start_executor()
    message, kind = data.message, "JSON"
    try:
        if data.options.encoding == "tagged":
            message = graph.input_codec.decode(message)
            kind = type(message).__name__
            if start.can_handle(WorkflowMessage(data=message, source_id=INTERNAL_SOURCE_ID(start.id))):
                return message
        return coerce_json(message, start.input_types)
    except (CoercionError, DecodeError) as error:
        raise _not_handled(graph, f"it is {kind}, and {error}") from error


def _entry_message(graph: BuiltGraph, data: Any) -> WorkflowMessage:
    start = graph.workflow.get_start_executor()
    return WorkflowMessage(data=data, source_id=INTERNAL_SOURCE_ID(start.id), target_id=start.id)


def _not_handled(graph: BuiltGraph, reason: str) -> ApplicationError:
    start = graph.workflow.get_start_executor()
    return ApplicationError(
        f"Start executor {start.id!r} of workflow {graph.workflow.name!r} cannot handle the input: {reason}",
        type=INPUT_NOT_HANDLED,
        non_retryable=True,
    )


async def _saved(graph: BuiltGraph) -> dict[str, dict[str, Any]]:
    """Return the first state of executors that have one.

    A hook that raises before its executor ever ran loses nothing: without a recorded state, each activity starts from
    the executor as it was built.
    """
    saved: dict[str, dict[str, Any]] = {}
    for executor_id, executor in graph.workflow.executors.items():
        try:
            state = await executor.on_checkpoint_save()
        except Exception:
            continue
        if state:
            saved[executor_id] = state
    return saved
