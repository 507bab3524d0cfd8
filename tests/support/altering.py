"""Histories as another release would have recorded them: activities renamed, dropped, added or swapped."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping
from typing import Any

from temporalio.client import WorkflowHistory

Events = list[dict[str, Any]]
"""Events of a history, as in Temporal's JSON."""

_SCHEDULED = "activityTaskScheduledEventAttributes"


def events_of(history: WorkflowHistory) -> Events:
    """Return the events of a history as JSON, to be altered."""
    return json.loads(history.to_json())["events"]


def history_of(events: Events, workflow_id: str = "altered") -> WorkflowHistory:
    """Return the history that altered events are, numbered anew."""
    return WorkflowHistory.from_json(workflow_id, {"events": renumbered(events)})


def renumbered(events: Events) -> Events:
    """Return events with ids from 1, and what refers to them changed along."""
    events = copy.deepcopy(events)
    numbers: dict[str, str] = {}
    for number, event in enumerate(events, 1):
        numbers.setdefault(event["eventId"], str(number))
        event["eventId"] = str(number)
    for event in events:
        for attributes in event.values():
            if isinstance(attributes, dict):
                for key in [key for key in attributes if key.endswith("EventId")]:
                    attributes[key] = numbers.get(attributes[key], attributes[key])
    return events


def place_of(events: Events, activity_type: str) -> int:
    """Return at which place in a history an activity is scheduled first."""
    return next(
        place
        for place, event in enumerate(events)
        if event.get(_SCHEDULED, {}).get("activityType", {}).get("name") == activity_type
    )


def renamed(events: Events, before: str, after: str) -> Events:
    """An activity had another name."""
    events = copy.deepcopy(events)
    events[place_of(events, before)][_SCHEDULED]["activityType"]["name"] = after
    return events


def dropped(events: Events, activity_type: str) -> Events:
    """An activity was not there."""
    scheduled = events[place_of(events, activity_type)]["eventId"]
    return [event for event in events if event["eventId"] != scheduled and not _is_of(event, scheduled)]


def swapped(events: Events, one: str, other: str) -> Events:
    """Two activities that are scheduled side by side were so in the other order."""
    events = copy.deepcopy(events)
    first, second = events[place_of(events, one)][_SCHEDULED], events[place_of(events, other)][_SCHEDULED]
    for key in ("activityType", "input"):
        first[key], second[key] = second[key], first[key]
    return events


def with_timer(events: Events, before: str) -> Events:
    """There was a timer, before an activity."""
    place = place_of(events, before)
    scheduled = events[place]
    timer = {
        **{key: scheduled[key] for key in ("eventTime", "taskId") if key in scheduled},
        "eventId": "0",
        "eventType": "EVENT_TYPE_TIMER_STARTED",
        "timerStartedEventAttributes": {
            "timerId": "77",
            "startToFireTimeout": "5s",
            "workflowTaskCompletedEventId": scheduled[_SCHEDULED]["workflowTaskCompletedEventId"],
        },
    }
    return [*events[:place], timer, *events[place:]]


def without_patch(events: Events, patch_id: str) -> Events:
    """A `workflow.patched` did not hold: neither its marker was there, nor the search attribute that comes with it."""
    place = next(place for place, event in enumerate(events) if _patch_of(event) == patch_id)
    assert "upsertWorkflowSearchAttributesEventAttributes" in events[place + 1]
    return [*events[:place], *events[place + 2 :]]


def _patch_of(event: Mapping[str, Any]) -> str | None:
    marker = event.get("markerRecordedEventAttributes", {})
    if marker.get("markerName") != "core_patch":
        return None
    noted = json.loads(base64.b64decode(marker["details"]["patch-data"]["payloads"][0]["data"]))
    return str(noted["id"])


def with_result(events: Events, activity_type: str, changes: Mapping[str, Any]) -> Events:
    """An activity answered something else at its outermost keys."""
    events = copy.deepcopy(events)
    scheduled = events[place_of(events, activity_type)]["eventId"]
    completed = next(
        event for event in events if _is_of(event, scheduled) and "activityTaskCompletedEventAttributes" in event
    )
    payload = completed["activityTaskCompletedEventAttributes"]["result"]["payloads"][0]
    result = json.loads(base64.b64decode(payload["data"])) | changes
    payload["data"] = base64.b64encode(json.dumps(result).encode()).decode()
    return events


def _is_of(event: Mapping[str, Any], scheduled: str) -> bool:
    """Whether an event is of the activity that another one scheduled."""
    return any(
        isinstance(value, dict) and key.startswith("activityTask") and value.get("scheduledEventId") == scheduled
        for key, value in event.items()
    )
