"""What tests read from Temporal histories."""

from __future__ import annotations

from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory


def scheduled(history: WorkflowHistory) -> list[Any]:
    """Return the attributes of the scheduled activities, in order."""
    return [
        event.activity_task_scheduled_event_attributes
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    ]


def deliveries(history: WorkflowHistory) -> list[Any]:
    """Return the attributes of the scheduled activities of executors, in order."""
    return [one for one in scheduled(history) if ":" not in one.activity_type.name]


def attempts(history: WorkflowHistory) -> dict[str, int]:
    """Return, by activity type, how many attempts the activities took in all."""
    types = {
        event.event_id: event.activity_task_scheduled_event_attributes.activity_type.name
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    }
    counts: dict[str, int] = {}
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
            started = event.activity_task_started_event_attributes
            name = types[started.scheduled_event_id]
            counts[name] = counts.get(name, 0) + started.attempt
    return counts


def has_begun(history: WorkflowHistory) -> bool:
    """Whether there is anything to replay: over a history without, Temporal's replayer never ends."""
    return count(history, EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED) > 0


def count(history: WorkflowHistory, event_type: EventType.ValueType) -> int:
    """Return how many events of a type there are."""
    return sum(event.event_type == event_type for event in history.events)
