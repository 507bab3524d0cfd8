"""A workflow's commands, one by one and in words: those in a history, and those that a release gives in a replay.

Both sides become `Step`s, which can be compared. Only what Temporal holds in a fixed order is here: local activities
end when they end, and messages to a run are answered by the way.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from temporal_adapter.wire.names import parse_executor_activity_type

from .watching import Trace

_PATCH_MARKER = "core_patch"
_PATCHES_ATTRIBUTE = "TemporalChangeVersion"

_SERVICES = {
    "seed": "which takes the input",
    "respond": "which judges responses",
    "commit": "which writes checkpoints",
    "turn": "which waits for its turn",
    "kwargs": "which takes run kwargs",
    "notify": "which reminds people",
    "fetch": "which reads what a continued run left",
    "keep": "which stores what a continued run leaves",
    "carry_on": "which takes over from the run before",
}

# Field of a history event's attributes, and of a command, with what to call it. Activities, timers, and patches have
# names of their own; what is not here is not compared.
_EVENTS = {
    "workflow_execution_completed_event_attributes": "the end of the run",
    "workflow_execution_failed_event_attributes": "the failure of the run",
    "workflow_execution_canceled_event_attributes": "the cancellation of the run",
    "workflow_execution_continued_as_new_event_attributes": "continue-as-new",
    "start_child_workflow_execution_initiated_event_attributes": "the start of a child workflow",
    "signal_external_workflow_execution_initiated_event_attributes": "a signal to another workflow",
    "workflow_properties_modified_event_attributes": "a change of the memo",
    "nexus_operation_scheduled_event_attributes": "a Nexus operation",
}
_COMMANDS = {
    "complete_workflow_execution": "the end of the run",
    "fail_workflow_execution": "the failure of the run",
    "cancel_workflow_execution": "the cancellation of the run",
    "continue_as_new_workflow_execution": "continue-as-new",
    "start_child_workflow_execution": "the start of a child workflow",
    "signal_external_workflow_execution": "a signal to another workflow",
    "modify_workflow_properties": "a change of the memo",
    "schedule_nexus_operation": "a Nexus operation",
}
_ATTRIBUTES = "a change of search attributes"
_TIMER = "a timer"


@dataclass(frozen=True, slots=True)
class Step:
    """One command.

    Attributes:
        words: What it does, in words; two steps are the same if these are.
        path: Of the executor that it runs, where it does.
        input: Payload of what an executor is given, which names its superstep; maybe encrypted.
        event_id: Of the event in the history, if it is from there.
    """

    words: str
    path: tuple[str, ...] = ()
    input: Any = None
    event_id: int | None = None


def activity_words(activity_type: str) -> tuple[str, tuple[str, ...]]:
    """Return an activity in words, and the path of the executor it is of."""
    try:
        _, path = parse_executor_activity_type(activity_type)
    except ValueError:
        about = _SERVICES.get(activity_type.rpartition(":")[2], "") if ":" in activity_type else ""
        return f"activity {activity_type!r}{f', {about}' if about else ''}", ()
    return f"executor {'/'.join(path)!r}", path


def patch_words(patch_id: str) -> str:
    """Return a marker of `workflow.patched` in words."""
    return f"the marker of workflow.patched({patch_id!r})"


# --- of a history -------------------------------------------------------------------------------------------


def recorded_steps(events: Sequence[HistoryEvent], length: int) -> list[Step]:
    """Return the commands in a history, up to the workflow task that began when the history had this length."""
    steps: list[Step] = []
    for event in reached_events(events, length):
        step = _recorded(event)
        if step is not None:
            steps.append(step)
    return steps


def reached_events(events: Sequence[HistoryEvent], length: int) -> Iterator[HistoryEvent]:
    """Yield a history up to what the workflow task decided that began when the history had this length."""
    ended = False
    for event in events:
        if event.event_id > length:
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
                if ended:
                    return
                ended = True
            elif ended and event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
                return
        yield event


def _recorded(event: HistoryEvent) -> Step | None:
    kind = event.WhichOneof("attributes")
    if kind == "activity_task_scheduled_event_attributes":
        scheduled = event.activity_task_scheduled_event_attributes
        words, path = activity_words(scheduled.activity_type.name)
        return Step(words, path, next(iter(scheduled.input.payloads), None), event.event_id)
    if kind == "timer_started_event_attributes":
        return Step(_TIMER, event_id=event.event_id)
    if kind == "marker_recorded_event_attributes":
        patch_id = _patch_id(event)
        return None if patch_id is None else Step(patch_words(patch_id), event_id=event.event_id)
    if kind == "upsert_workflow_search_attributes_event_attributes":
        fields = event.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields
        return None if set(fields) == {_PATCHES_ATTRIBUTE} else Step(_ATTRIBUTES, event_id=event.event_id)
    return Step(_EVENTS[kind], event_id=event.event_id) if kind in _EVENTS else None


def _patch_id(event: HistoryEvent) -> str | None:
    marker = event.marker_recorded_event_attributes
    if marker.marker_name != _PATCH_MARKER:
        return None
    payloads = (payload for value in marker.details.values() for payload in value.payloads)
    for payload in payloads:
        with contextlib.suppress(ValueError):
            noted: Any = json.loads(payload.data)
            return str(cast("dict[str, Any]", noted).get("id")) if isinstance(noted, dict) else str(noted)
    return "?"


# --- of a replay --------------------------------------------------------------------------------------------


def issued_steps(trace: Trace) -> list[Step]:
    """Return the commands that a release gave. What it took back in the same workflow task is none."""
    undone = {
        (length, "start_timer", command.cancel_timer.seq)
        for length, command in trace.commands
        if command.HasField("cancel_timer")
    } | {
        (length, "schedule_activity", command.request_cancel_activity.seq)
        for length, command in trace.commands
        if command.HasField("request_cancel_activity")
    }
    steps: list[Step] = []
    for length, command in trace.commands:
        kind = command.WhichOneof("variant")
        if (length, kind, getattr(getattr(command, kind or "", None), "seq", None)) in undone:
            continue
        step = _issued(kind, command)
        if step is not None:
            steps.append(step)
    return steps


def _issued(kind: str, command: Any) -> Step | None:
    if kind == "schedule_activity":
        words, path = activity_words(command.schedule_activity.activity_type)
        return Step(words, path, next(iter(command.schedule_activity.arguments), None))
    if kind == "start_timer":
        return Step(_TIMER)
    if kind == "set_patch_marker":
        return Step(patch_words(command.set_patch_marker.patch_id))
    if kind == "upsert_workflow_search_attributes":
        return Step(_ATTRIBUTES)
    if kind == "fail_workflow_execution":
        failure = command.fail_workflow_execution.failure
        return Step(_COMMANDS[kind], input=failure.message)
    return Step(_COMMANDS[kind]) if kind in _COMMANDS else None
