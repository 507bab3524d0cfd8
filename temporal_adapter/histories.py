"""What a Temporal history shows of the adapter: the activities in it, by the grammar of `wire.names`.

Replaying histories is not done here, and no payload is read but what Temporal's SDK notes of local activities.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from temporal_adapter.wire.names import Service, executor_activity_type, service_activity_type

_LOCAL_ACTIVITY = "core_local_activity"
_SERVICES: tuple[Service, ...] = get_args(Service)


@dataclass(frozen=True, slots=True)
class LocalActivity:
    """What the marker of a local activity says. `seq` counts a run's local activities from 1."""

    seq: int
    activity_type: str


def local_activity(event: HistoryEvent) -> LocalActivity | None:
    """Return which local activity an event is the marker of; None if it is none."""
    if event.event_type != EventType.EVENT_TYPE_MARKER_RECORDED:
        return None
    marker = event.marker_recorded_event_attributes
    if marker.marker_name != _LOCAL_ACTIVITY:
        return None
    for payload in marker.details["data"].payloads if "data" in marker.details else ():
        try:
            noted = json.loads(payload.data)
            return LocalActivity(int(noted["seq"]), str(noted["activity_type"]))
        except (ValueError, TypeError, LookupError):
            continue
    return None


def activity_types(events: Iterable[HistoryEvent]) -> Iterator[str]:
    """Yield the types of the activities in a history, local ones too, in order."""
    for event in events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            yield event.activity_task_scheduled_event_attributes.activity_type.name
        elif (local := local_activity(event)) is not None:
            yield local.activity_type


def shows_ours(workflow_name: str, events: Iterable[HistoryEvent]) -> bool:
    """Whether an activity in a history is named as the adapter names those of this workflow."""
    executors = executor_activity_type(workflow_name, [""])
    services = {service_activity_type(workflow_name, service) for service in _SERVICES}
    return any(name.startswith(executors) or name in services for name in activity_types(events))
