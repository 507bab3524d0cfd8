"""Whether workers take a run, and why none does: for commands that would else wait for ever, or promise too much."""

from __future__ import annotations

import asyncio

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowQueryFailedError
from temporalio.service import RPCError

from temporal_adapter.client import DurableRun, NoWorker
from temporal_adapter.client.errors import not_registered, says_not_registered

from .found import Found, is_served, query

_FIRST_TASK_SECONDS = 2.0  # that a new run's first workflow task is waited for


async def untaken(one: Found) -> str | None:
    """Return why no worker takes a run at present, or None if one does. A worker that has the run is asked.

    Raises:
        UnknownWorkflow: The workers do not have its workflow.
    """
    if not await is_served(one):
        return f"no worker serves task queue {one.description.task_queue!r}"
    try:
        await query(one, "status")
    except NoWorker as error:
        return str(error)
    except WorkflowQueryFailedError:  # somebody answered, if only that this is no run of the adapter's
        pass
    return None


async def unknown_at_first(run: DurableRun, workflow_name: str, task_queue: str) -> str | None:
    """Return what to do about a new run whose workflow the workers do not have; None if that does not show soon."""
    try:
        message = await asyncio.wait_for(_first_failure(run), _FIRST_TASK_SECONDS)
    except (asyncio.TimeoutError, RPCError):
        return None
    if not says_not_registered(message):
        return None
    return str(not_registered(run.id, workflow_name, task_queue, message))


async def _first_failure(run: DurableRun) -> str:
    """Wait for the first workflow task of a run to be over; return what it failed with, or nothing."""
    async for event in run.handle.fetch_history_events(wait_new_event=True):
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            return ""
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            return event.workflow_task_failed_event_attributes.failure.message
    return ""
