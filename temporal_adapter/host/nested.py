"""Executors that wrap a sub-workflow: what one is told of it before it runs, and what it calls for.

The supersteps of the sub-workflow are deliveries of their own; here is only the executor around them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from agent_framework import WorkflowEvent, WorkflowEventSource

from temporal_adapter import wire
from temporal_adapter.nesting import Called, runs_elsewhere
from temporal_adapter.payload import Reader, Writer
from temporal_adapter.pool import BuiltGraph


@asynccontextmanager
async def calls_recorded(child: BuiltGraph, nested: wire.Nested, reader: Reader) -> AsyncGenerator[None, None]:
    """Let the executor around a sub-workflow raise `Called` for the first run that is not made yet."""
    pending = [await reader.request(request) for request in nested.requests]
    made = [await _events(run, reader) for run in nested.runs]
    async with runs_elsewhere(child.workflow, pending=pending, made=made):
        yield


async def call_of(called: Called, child: BuiltGraph, writer: Writer) -> wire.Call:
    """Return a call as a shape, its messages routed in the sub-workflow."""
    return wire.Call(
        fresh=called.fresh,
        messages=[
            wire.RoutedMessage(
                message=await writer.message(message, "message to the sub-workflow"),
                routes=await child.router.route(message),
            )
            for message in called.messages
        ],
        state=await writer.values(called.state, "state"),
    )


async def _events(run: list[wire.Event], reader: Reader) -> list[WorkflowEvent[Any]]:
    return [await _event(event, reader) for event in run]


async def _event(event: wire.Event, reader: Reader) -> WorkflowEvent[Any]:
    if event.request is not None:
        return await reader.request(event.request)
    data = None if event.data is None else await reader.value(event.data)
    origin = WorkflowEventSource(event.origin)
    return WorkflowEvent(event.type, data, origin=origin, executor_id=event.executor_id)  # pyright: ignore
