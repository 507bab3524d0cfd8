"""Runs that wait for a worker which knows them: told from those whose worker only takes its time."""

from __future__ import annotations

from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle

from .errors import not_registered, says_not_registered


async def check_known(handle: WorkflowHandle[Any, Any], name: str, task_queue: str | None) -> None:
    """See that a run's workflow task has not failed because its workers do not have the workflow.

    Raises:
        UnknownWorkflow: It has.
    """
    description = await handle.describe()
    if description.raw_description.pending_workflow_task.attempt < 2:
        return
    async for event in handle.fetch_history_events():
        message = event.workflow_task_failed_event_attributes.failure.message
        if event.event_type is EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED and says_not_registered(message):
            raise not_registered(handle.id, name, task_queue, message)
