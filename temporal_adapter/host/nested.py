"""Executors that wrap a sub-workflow: what one is told of it before it runs, and what it calls for.

The supersteps of the sub-workflow are deliveries of their own; here is only the executor around them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from agent_framework import WorkflowEvent, WorkflowEventSource

from temporal_adapter import wire
from temporal_adapter.activity_errors import as_application_error
from temporal_adapter.attributes import overrides_hooks
from temporal_adapter.failures import rebuilt
from temporal_adapter.maf import SUB_WORKFLOW_CHECKPOINT_KEY
from temporal_adapter.nesting import Called, Made, runs_elsewhere
from temporal_adapter.payload import Reader, Writer
from temporal_adapter.pool import BuiltGraph


@asynccontextmanager
async def calls_recorded(child: BuiltGraph, nested: wire.Nested, reader: Reader) -> AsyncGenerator[None, None]:
    """Let the executor around a sub-workflow raise `Called` for the first run that is not made yet.

    Raises:
        ApplicationError: It passes on the error of a run. A retry would meet the same.
    """
    pending = [await reader.request(request) for request in nested.requests]
    made = [await _made(run, reader) for run in nested.runs]
    try:
        async with runs_elsewhere(child.workflow, pending=pending, made=made):
            yield
    except Exception as error:
        for run, recorded in zip(made, nested.runs, strict=True):
            if error is run.error and recorded.failure is not None:
                raise as_application_error(recorded.failure, non_retryable=True) from error
        raise


async def call_of(called: Called, child: BuiltGraph, writer: Writer) -> wire.Call:
    """Return a call as a shape, its messages routed in the sub-workflow."""
    return wire.Call(
        fresh=called.fresh,
        cancelled=called.cancelled,
        messages=[
            wire.RoutedMessage(
                message=await writer.message(message, "message to the sub-workflow"),
                routes=await child.router.route(message),
            )
            for message in called.messages
        ],
        state=await writer.values(called.state, "state"),
    )


async def _made(run: wire.ChildRun, reader: Reader) -> Made:
    events = [await _event(event, reader) for event in run.events]
    failure = run.failure
    if failure is None:
        return Made(events)
    error = None if failure.raised is None else rebuilt(failure.raised, failure.message)
    return Made(events, error or RuntimeError(f"{failure.error_type}: {failure.message}"))


async def _event(event: wire.Event, reader: Reader) -> WorkflowEvent[Any]:
    if event.request is not None:
        return await reader.request(event.request)
    data = None if event.data is None else await reader.value(event.data)
    origin = WorkflowEventSource(event.origin)
    return WorkflowEvent(event.type, data, origin=origin, executor_id=event.executor_id)  # pyright: ignore


async def own_state(graph: BuiltGraph, executor_id: str) -> dict[str, Any] | None:
    """Return what the class of an executor around a sub-workflow adds to what MAF saves; None if it adds nothing.

    MAF saves the sub-workflow's checkpoint, which the run has.
    """
    executor = graph.executor(executor_id)
    if not overrides_hooks(executor):
        return None
    async with runs_elsewhere(graph.children[executor_id].workflow):  # which clears what saving leaves in it
        saved = await executor.on_checkpoint_save()
    return {key: value for key, value in saved.items() if key != SUB_WORKFLOW_CHECKPOINT_KEY}
