"""What a run's Temporal history says happened: the history is replayed, and the replay watched.

Neither a worker, nor the user's code, nor MAF takes part: the workflow is ours, and what activities returned is in the
history. Only what the run made of it in completed workflow tasks counts. What comes after the last of these is under
way: when the next task is done, it may come in another order, and so make other checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent, WorkflowTaskFailedEventAttributes
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.worker import (
    Interceptor,
    Replayer,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from temporal_adapter import wire
from temporal_adapter.continuation import Kept
from temporal_adapter.engine import Decision, Fact
from temporal_adapter.execution import OBSERVE
from temporal_adapter.workflow import workflow_type

Told = Fact | Decision | wire.CheckpointRecord | wire.CarriedText | wire.CarryOnInput | Kept
"""What the run learned, decided and recorded, in order; what it took over, and what of that the store was given."""

_COMMANDS = {
    EventType.Value(f"EVENT_TYPE_{name}")
    for name in (
        "MARKER_RECORDED",
        "ACTIVITY_TASK_SCHEDULED",
        "ACTIVITY_TASK_CANCEL_REQUESTED",
        "TIMER_STARTED",
        "TIMER_CANCELED",
        "UPSERT_WORKFLOW_SEARCH_ATTRIBUTES",
        "WORKFLOW_PROPERTIES_MODIFIED",
        "WORKFLOW_EXECUTION_UPDATE_ACCEPTED",
        "WORKFLOW_EXECUTION_UPDATE_COMPLETED",
        "WORKFLOW_EXECUTION_UPDATE_REJECTED",
        "WORKFLOW_EXECUTION_COMPLETED",
        "WORKFLOW_EXECUTION_FAILED",
        "WORKFLOW_EXECUTION_CANCELED",
        "WORKFLOW_EXECUTION_CONTINUED_AS_NEW",
    )
}
"""Events that a completed workflow task adds to the history right behind itself."""

_CLOSING = {
    EventType.Value(f"EVENT_TYPE_WORKFLOW_EXECUTION_{name}"): name.replace("_", " ").lower()
    for name in ("COMPLETED", "FAILED", "CANCELED", "TERMINATED", "TIMED_OUT", "CONTINUED_AS_NEW")
}


class NotReplayable(Exception):
    """A history is not one of a run of the adapter, or of a release that this one cannot replay."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a run was started.

    Attributes:
        continued: The run id of the link before; empty for the first link of a run.
        carried: What that link handed over.
    """

    workflow_name: str
    run_id: str
    task_queue: str
    at: str
    options: wire.StartOptions
    continued: str = ""
    carried: wire.Carried | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """A run, as its history has it. `closed` says how it ended; None while it is open."""

    workflow_id: str
    start: Start
    told: tuple[Told, ...]
    closed: str | None
    closed_at: str | None


async def observe(
    history: WorkflowHistory, data_converter: DataConverter = DataConverter.default, run_id: str | None = None
) -> Observed:
    """Replay a history and return what happened.

    Args:
        history: Of a run of any MAF workflow on Temporal, open or closed.
        data_converter: The client's; its payload codec reads what is encrypted.
        run_id: Of the run, if not as the history says.

    Raises:
        NotReplayable: It is something else's history, or of a release that this one cannot replay.
    """
    start = await _start(history, data_converter, run_id)
    last = history.events[-1]
    closed = _CLOSING.get(last.event_type)
    return Observed(
        workflow_id=history.workflow_id,
        start=start,
        told=tuple(await _replayed(history, start.workflow_name, data_converter)),
        closed=closed,
        closed_at=None if closed is None else _iso(last),
    )


async def _start(history: WorkflowHistory, data_converter: DataConverter, run_id: str | None) -> Start:
    if not history.events or not history.events[0].HasField("workflow_execution_started_event_attributes"):
        raise NotReplayable(f"The history of {history.workflow_id!r} does not begin with its start.")
    started = history.events[0].workflow_execution_started_event_attributes
    try:
        arguments = await data_converter.decode([*started.input.payloads])
    except Exception as error:  # of a codec
        raise NotReplayable(
            f"The arguments of the run {history.workflow_id!r} cannot be read: {error}. If its client had a payload "
            "codec, give the same."
        ) from error
    options, carried = _given(arguments, history.workflow_id)
    reset = _last_reset(history.events)
    return Start(
        workflow_name=started.workflow_type.name,
        run_id=run_id or (started.original_execution_run_id if reset is None else _attributes(reset).new_run_id),
        task_queue=started.task_queue.name,
        at=_iso(reset or history.events[0]),
        options=options,
        continued=continued_from(history),
        carried=carried,
    )


def continued_from(history: WorkflowHistory) -> str:
    """Return the run id of the link before a run; empty for the first link, and for what is no run's history."""
    first = history.events[0] if history.events else HistoryEvent()
    return first.workflow_execution_started_event_attributes.continued_execution_run_id


def _given(arguments: Sequence[Any], workflow_id: str) -> tuple[wire.StartOptions, wire.Carried | None]:
    try:
        options = wire.parse_options(arguments[1] if len(arguments) > 1 else None)
    except wire.WireError:  # of a run that was refused for them
        options = wire.StartOptions()
    if len(arguments) < 3 or arguments[2] is None:
        return options, None
    try:
        return options, wire.load(wire.Carried, arguments[2])
    except wire.WireError as error:
        raise NotReplayable(f"What the run {workflow_id!r} took over cannot be read: {error}") from error


def _last_reset(events: Sequence[HistoryEvent]) -> HistoryEvent | None:
    """Return where Temporal's reset made the run of an earlier one, whose history up to there it shares."""
    resets = [
        event
        for event in events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        and _attributes(event).cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
    ]
    return resets[-1] if resets else None


def _attributes(event: HistoryEvent) -> WorkflowTaskFailedEventAttributes:
    return event.workflow_task_failed_event_attributes


def _iso(event: HistoryEvent) -> str:
    return f"{event.event_time.ToDatetime().isoformat(timespec='microseconds')}+00:00"


async def _replayed(history: WorkflowHistory, name: str, data_converter: DataConverter) -> list[Told]:
    told: list[Told] = []
    done = WorkflowHistory(history.workflow_id, _completed_tasks(history.events))
    if not done.events:
        return told
    replayer = Replayer(
        workflows=[workflow_type(name)],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=data_converter,
        interceptors=[_Watching(told.append)],
    )
    try:
        failure = (await replayer.replay_workflow(done, raise_on_replay_failure=False)).replay_failure
    except Exception as error:
        failure = error
    if failure is not None:
        raise NotReplayable(
            f"The history of {history.workflow_id!r} (workflow {name!r}) cannot be replayed: {failure} "
            "Use the release of agent-framework-temporal whose workers run it."
        ) from failure
    return told


def _completed_tasks(events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """Return the history up to the last completed workflow task, and what that one decided."""
    completed = [
        position
        for position, event in enumerate(events)
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    ]
    if not completed:
        return []
    end = completed[-1] + 1
    while end < len(events) and events[end].event_type in _COMMANDS:
        end += 1
    return list(events[:end])


class _Watching(Interceptor):
    """Gives a replay its observer."""

    def __init__(self, told: Callable[[Told], None]) -> None:
        self._told = told

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        functions = cast("MutableMapping[str, Any]", input.unsafe_extern_functions)  # pyright: ignore[reportUnknownMemberType]
        functions[OBSERVE] = self._told
        return None
