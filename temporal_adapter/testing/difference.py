"""Where two runs of one graph differ. Runs nothing.

Left out of the comparison is what neither side promises:

- Ids that a run makes itself differ, and are compared by their place.
- Executors of one superstep run at the same time, so that their events may interleave in any way; they are compared
  executor by executor.
- When an executor fails, those beside it are stopped wherever they are, and what it did itself before it failed is
  taken back on Temporal. Of a superstep that failed, it is compared who failed, with what, and what that executor did
  before.
- Temporal warns of a fan-in that never fired, and of state that two executors changed in one superstep; MAF's own
  runner says nothing of it.
- The metadata of a checkpoint says on Temporal who answered; in-process nobody asks.
- What fan-ins have buffered is compared whatever order their sources are listed in; what each source sent is in order.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from agent_framework import (
    WorkflowCheckpoint,
    WorkflowErrorDetails,
    WorkflowEvent,
    WorkflowEventSource,
    WorkflowMessage,
    WorkflowRunState,
)

from temporal_adapter import wire
from temporal_adapter.maf import EDGE_STATE_KEY, FAN_IN_BUFFER_KEY

from .comparing import SIDES, first_difference
from .observed import Observed

_ASKED = WorkflowRunState.IN_PROGRESS_PENDING_REQUESTS  # shown when an executor asks
_OF_TEMPORAL_ALONE = re.compile(r"Fan-in to executor .* never fired: |Executors .* both changed the state ")


def difference_of(expected: Observed, actual: Observed, *, sides: tuple[str, str] = SIDES) -> str | None:
    """Return the first difference between two runs, or None.

    Args:
        expected: The run that is right, in-process.
        actual: The run that is compared to it.
        sides: What the message calls the two.
    """
    for (path, left), (_, right) in zip(_aspects(expected), _aspects(actual), strict=True):
        difference = first_difference(left, right, path, sides=sides)
        if difference is not None:
            return difference
    return None


def _aspects(seen: Observed) -> list[tuple[str, Any]]:
    """Return what is compared, first what tells a reader most."""
    names, comparable = _request_names(seen), _comparable(seen)
    events = _told(comparable, names)
    checkpoints = _lineage_told(seen)
    return [
        ("error", seen.error),
        ("outputs", _outputs(events)),
        ("status timeline", _timeline(comparable)),
        ("supersteps and events", events),
        ("pending requests", _pauses(seen)),
        ("final state", checkpoints[-1]["state"] if checkpoints else None),
        ("checkpoint lineage", checkpoints),
    ]


# --- events -------------------------------------------------------------------------------------------------


def _timeline(events: Iterable[WorkflowEvent[Any]]) -> list[str]:
    return [event.state.value for event in events if event.type == "status" and event.state is not None]


def _told(events: Iterable[WorkflowEvent[Any]], names: Mapping[str, str]) -> dict[str, dict[str, list[Any]]]:
    """Return events as a tree: stretch by stretch of the run, in a superstep executor by executor."""
    told: dict[str, dict[str, list[Any]]] = {}
    stretch = told.setdefault("0: start", {"run": []})
    for event in events:
        if event.type in ("superstep_started", "started"):
            stretch = told.setdefault(f"{len(told)}: {event.type} {event.iteration or ''}".strip(), {"run": []})
        stretch.setdefault(_who(event) or "run", []).append(_event(event, names))
        if event.type == "superstep_completed":
            stretch = told.setdefault(f"{len(told)}: after superstep {event.iteration}", {"run": []})
    # Who began first within a superstep is an accident of scheduling.
    return {
        title: {who: stretch[who] for who in sorted(stretch, key=lambda one: (one != "run", one))}
        for title, stretch in told.items()
    }


def _who(event: WorkflowEvent[Any]) -> str | None:
    return event.source_executor_id if event.type == "request_info" else event.executor_id


def _comparable(seen: Observed) -> list[WorkflowEvent[Any]]:
    """Return the events that both sides promise."""
    events = [event for event in seen.events if not _is_of_temporal_alone(event)]
    started = [place for place, event in enumerate(events) if event.type == "superstep_started"]
    if seen.error is None or not started:
        return events
    before, failed = events[: started[-1]], events[started[-1] :]
    if any(event.type == "superstep_completed" for event in failed):
        return events
    return [*before, *_of_failed_superstep(failed)]


def _of_failed_superstep(events: Sequence[WorkflowEvent[Any]]) -> list[WorkflowEvent[Any]]:
    failing = next((event.executor_id for event in events if event.type == "executor_failed"), None)
    own = [place for place, event in enumerate(events) if event.executor_id == failing]
    invoked = max((place for place in own if events[place].type == "executor_invoked"), default=0)
    return [
        event
        for place, event in enumerate(events)
        if (_who(event) is None and event.state is not _ASKED)
        or (_who(event) == failing and (place <= invoked or event.type == "executor_failed"))
    ]


def _is_of_temporal_alone(event: WorkflowEvent[Any]) -> bool:
    return (
        event.type == "warning"
        and event.origin is WorkflowEventSource.FRAMEWORK
        and isinstance(event.data, str)
        and _OF_TEMPORAL_ALONE.match(event.data) is not None
    )


def _outputs(events: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
    """Return the payloads of the `output` events, by executor."""
    outputs: dict[str, list[Any]] = {}
    for stretch in events.values():
        for who, shown in stretch.items():
            outputs.setdefault(who, []).extend(event["data"] for event in shown if event["type"] == "output")
    return {who: outputs[who] for who in sorted(outputs) if outputs[who]}


def _event(event: WorkflowEvent[Any], names: Mapping[str, str]) -> dict[str, Any]:
    told: dict[str, Any] = {"type": event.type, "origin": event.origin, "data": _untraced(event.data)}
    if event.type == "request_info":
        told["request"] = names.get(event.request_id, event.request_id)
        told["types"] = [event.request_type, event.response_type]
    told["details"] = _untraced(event.details)
    for name in ("executor_id", "iteration", "state"):
        told[name] = getattr(event, name)
    return told


def _untraced(value: Any) -> Any:
    """Leave out the stack of an error, which has each side's own frames."""
    return dataclasses.replace(value, traceback=None) if isinstance(value, WorkflowErrorDetails) else value


# --- requests -----------------------------------------------------------------------------------------------


def _request_names(seen: Observed) -> dict[str, str]:
    """Name each request by its executor and its place among that executor's requests."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for request in seen.events:
        if request.type == "request_info" and request.request_id not in names:
            executor_id = request.source_executor_id
            counts[executor_id] = counts.get(executor_id, 0) + 1
            names[request.request_id] = f"request {counts[executor_id]} of {executor_id}"
    return names


def _pauses(seen: Observed) -> list[dict[str, Any]]:
    names = _request_names(seen)
    return [_requests({request.request_id: request for request in pause}, names) for pause in seen.pauses]


def _requests(requests: Mapping[str, WorkflowEvent[Any]], names: Mapping[str, str]) -> dict[str, Any]:
    return {names[key]: _event(requests[key], names) for key in sorted(requests, key=lambda one: names[one])}


# --- checkpoints --------------------------------------------------------------------------------------------


def _lineage_told(seen: Observed) -> list[Any]:
    """Return checkpoints as trees, with ids that the run made replaced by their place."""
    names = _request_names(seen)
    place: dict[str | None, int] = {one.checkpoint_id: index for index, one in enumerate(seen.checkpoints)}
    iterations = [checkpoint.iteration_count for checkpoint in seen.checkpoints]
    return [
        {
            "kind": _kind(iterations, index),
            "iteration": checkpoint.iteration_count,
            "parent": place.get(checkpoint.previous_checkpoint_id),
            "workflow": checkpoint.workflow_name,
            "graph": checkpoint.graph_signature_hash,
            "messages": {
                source: [_message(message, names) for message in checkpoint.messages[source]]
                for source in sorted(checkpoint.messages)
            },
            "state": _shared_state(checkpoint.state, names),
            "requests": _requests(checkpoint.pending_request_info_events, names),
            "metadata": {key: value for key, value in checkpoint.metadata.items() if key != wire.RESPONSES_KEY},
        }
        for index, checkpoint in enumerate(seen.checkpoints)
    ]


def _kind(iterations: Sequence[int], index: int) -> str:
    if index == 0:
        return "entry"
    return "response" if iterations[index] == iterations[index - 1] else "superstep"


def _message(message: WorkflowMessage, names: Mapping[str, str]) -> dict[str, Any]:
    request = message.original_request_info_event
    return {**vars(message), "original_request_info_event": None if request is None else _event(request, names)}


def _sub_workflow(checkpoint: WorkflowCheckpoint, names: Mapping[str, str]) -> dict[str, Any]:
    """Tell of a sub-workflow's checkpoint, but for its time and the id that nobody looks it up by."""
    asked = checkpoint.pending_request_info_events.values()
    return {
        "workflow": checkpoint.workflow_name,
        "graph": checkpoint.graph_signature_hash,
        "parent": checkpoint.previous_checkpoint_id,
        "iteration": checkpoint.iteration_count,
        "messages": _state(checkpoint.messages, names),
        "state": _shared_state(checkpoint.state, names),
        # By executor: which of two siblings asked first is an accident of scheduling.
        "requests": [_event(one, names) for one in sorted(asked, key=lambda one: one.source_executor_id)],
        "metadata": checkpoint.metadata,
    }


def _shared_state(state: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    told = {key: _state(state[key], names) for key in sorted(state)}
    if EDGE_STATE_KEY in told:
        told[EDGE_STATE_KEY] = {
            edge: {source: buffered[FAN_IN_BUFFER_KEY][source] for source in sorted(buffered[FAN_IN_BUFFER_KEY])}
            for edge, buffered in sorted(told[EDGE_STATE_KEY].items())
        }
    return told


def _state(value: Any, names: Mapping[str, str]) -> Any:
    """Replace the messages of a fan-in's buffer and the checkpoints of sub-workflows, wherever they are."""
    if isinstance(value, WorkflowMessage):
        return _message(value, names)
    if isinstance(value, WorkflowCheckpoint):
        return _sub_workflow(value, names)
    if type(value) is dict:
        return {key: _state(one, names) for key, one in cast("dict[str, Any]", value).items()}
    return [_state(one, names) for one in cast("Iterable[Any]", value)] if type(value) is list else value
