"""What tests of streaming runs do with one: follow it, and compare what was seen with its events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agent_framework import AgentResponseUpdate, WorkflowEvent

from temporal_adapter import AttemptAbandoned, DurableRun

from .differential import Observed, difference_of
from .running import pending


async def answering(run: DurableRun) -> AsyncIterator[WorkflowEvent[Any]]:
    async for event in run.stream():
        yield event
        if event.type == "request_info":
            await pending(run)
            await run.respond(event.request_id, True)


async def up_to_now(run: DurableRun) -> AsyncIterator[WorkflowEvent[Any]]:
    so_far = (await run.status()).events
    offset = 0
    async for event in run.events():
        offset += 1
        yield event
        if offset == so_far:
            return


def without_void(seen: list[WorkflowEvent[Any]]) -> list[WorkflowEvent[Any]]:
    void = [id(event) for one in seen if isinstance(one, AttemptAbandoned) for event in [one, *one.events]]
    return [event for event in seen if id(event) not in void]


def assert_same_events(seen: list[WorkflowEvent[Any]], events: list[WorkflowEvent[Any]]) -> None:
    """Assert that they are the same, but for the order in which executors took turns."""
    assert len(seen) == len(events)
    difference = difference_of(Observed(events), Observed(seen), sides=("in its events", "as followed"))
    assert difference is None, difference


def told(event: WorkflowEvent[Any]) -> Any:
    """What tells an event from others, in what can be compared by `==`."""
    data = event.data.text if isinstance(event.data, AgentResponseUpdate) else type(event.data)
    return event.type, event.executor_id, event.iteration, event.state, data
