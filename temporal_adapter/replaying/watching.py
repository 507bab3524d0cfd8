"""Which commands a release gives when it replays a history: what there is to hold against the history.

Temporal compares the two itself, and says of the first difference little more than an event's number. So a replay that
failed is done again with its commands written down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner


@dataclass(slots=True)
class Trace:
    """What a release did in a replay, in order.

    Attributes:
        commands: Temporal's commands (`WorkflowCommand`), each with the history's length when it was given.
        length: Of the history, when the release was last called: no event of it beyond this one's workflow task counts.
        error: What the release raised, which ended the replay.
    """

    commands: list[tuple[int, Any]] = field(default_factory=list["tuple[int, Any]"])
    length: int = 0
    error: str | None = None


class WatchedRunner(WorkflowRunner):
    """Runs workflows as they are, without the sandbox, and writes down what they do."""

    def __init__(self, trace: Trace) -> None:
        self._inner = UnsandboxedWorkflowRunner()
        self._trace = trace

    def prepare_workflow(self, defn: Any) -> None:
        """See base class."""
        self._inner.prepare_workflow(defn)

    def set_worker_level_failure_exception_types(self, types: Any) -> None:
        """See base class."""
        self._inner.set_worker_level_failure_exception_types(types)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """See base class."""
        instance = self._inner.create_instance(det)
        # On the instance, and not by a class around it: what else the SDK asks of an instance changes with releases.
        instance.activate = _watched(instance.activate, self._trace)  # type: ignore[method-assign]
        return instance


def _watched(activate: Callable[[Any], Any], trace: Trace) -> Callable[[Any], Any]:
    def watched(act: Any) -> Any:
        completion = activate(act)
        if not any(job.HasField("remove_from_cache") for job in act.jobs):
            trace.length = max(trace.length, act.history_length)
            trace.commands += [(act.history_length, _copy(command)) for command in completion.successful.commands]
            if completion.HasField("failed"):
                trace.error = _in_full(completion.failed.failure)
        return completion

    return watched


def _in_full(failure: Any) -> str:
    """Return what was raised, with what that was raised for."""
    messages: list[str] = []
    while True:
        kind = failure.application_failure_info.type
        messages.append(f"{kind}: {failure.message}" if kind and messages else failure.message)
        if not failure.HasField("cause"):
            return " Because of ".join(dict.fromkeys(messages))
        failure = failure.cause


def _copy(command: Any) -> Any:
    """Keep a command as it is now: the SDK encrypts its payloads in place."""
    copy = type(command)()
    copy.CopyFrom(command)
    return copy
