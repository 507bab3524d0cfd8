"""Replays stored histories on Temporal's replayer, and watches which commands the runs give."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_commands import WorkflowCommand
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, WorkflowRunner

from temporal_adapter import workflow_type

PACKAGE = "agent-framework-temporal"
HISTORIES = Path(__file__).parents[1] / "histories"


def versions() -> list[str]:
    """Return what has recorded histories: releases, and commits before the first one."""
    return sorted(one.name for one in HISTORIES.iterdir() if one.is_dir())


def paths(version: str | None = None) -> list[Path]:
    """Return the stored histories of a version, or of all."""
    return sorted(HISTORIES.glob(f"{version or '*'}/*.json"))


def name_of(path: Path) -> str:
    """Return how a stored history is called in results: `<version>/<scenario>`."""
    return f"{path.parent.name}/{path.stem}"


def history_of(path: Path) -> WorkflowHistory:
    """Return a stored history."""
    return WorkflowHistory.from_json(name_of(path), path.read_text())


def events_of(path: Path) -> list[dict[str, Any]]:
    """Return the events of a stored history, as JSON."""
    return json.loads(path.read_text())["events"]


def ends_of_tasks(events: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """Yield how many events there are up to the end of each completed workflow task, with what it decided."""
    for place, event in enumerate(events):
        if event["eventType"] == "EVENT_TYPE_WORKFLOW_TASK_COMPLETED":
            end = place + 1
            while end < len(events) and _decided_by(events[end]) in (event["eventId"], _OF_UPDATES):
                end += 1
            yield end


_OF_UPDATES = "decided by the task before"


def _decided_by(event: Mapping[str, Any]) -> str | None:
    attributes = next((value for name, value in event.items() if name.endswith("EventAttributes")), {})
    accepted = event["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED"
    completed = event["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED"
    return _OF_UPDATES if accepted or completed else attributes.get("workflowTaskCompletedEventId")


def altered(path: Path, events: Iterable[Mapping[str, Any]], name: str | None = None) -> WorkflowHistory:
    """Return a history that has other events than the stored one; their ids are as given."""
    return WorkflowHistory.from_json(name or name_of(path), json.dumps({"events": list(events)}))


async def failures(
    histories: Iterable[WorkflowHistory], runner: WorkflowRunner | None = None, **options: Any
) -> dict[str, str]:
    """Replay histories; return why some do not, by name.

    Args:
        histories: Of any MAF workflows.
        runner: Instead of one without a sandbox, which takes a fraction of the time.
        options: Further ones of the replayer.
    """
    histories = list(histories)
    types = {one.events[0].workflow_execution_started_event_attributes.workflow_type.name for one in histories}
    replayer = Replayer(
        workflows=[workflow_type(name) for name in sorted(types)],
        workflow_runner=runner or UnsandboxedWorkflowRunner(),
        **options,
    )

    async def one_by_one() -> AsyncIterator[WorkflowHistory]:
        for history in histories:
            yield history

    failed: dict[str, str] = {}
    async with replayer.workflow_replay_iterator(one_by_one()) as results:
        async for result in results:
            if result.replay_failure is not None:
                failed[result.history.workflow_id] = str(result.replay_failure)
    return failed


# --- commands -----------------------------------------------------------------------------------------------


@dataclass
class Watching(WorkflowRunner):
    """A workflow runner that notes the commands that runs give, by workflow id, in order."""

    runner: WorkflowRunner = field(default_factory=UnsandboxedWorkflowRunner)
    commands: dict[str, list[WorkflowCommand]] = field(default_factory=dict)

    def prepare_workflow(self, defn: Any) -> None:
        self.runner.prepare_workflow(defn)

    def set_worker_level_failure_exception_types(self, types: Any) -> None:
        self.runner.set_worker_level_failure_exception_types(types)

    def create_instance(self, det: Any) -> Any:
        instance = self.runner.create_instance(det)
        activate, noted = instance.activate, self.commands.setdefault(det.info.workflow_id, [])

        def activated(act: WorkflowActivation) -> WorkflowActivationCompletion:
            completion = activate(act)
            for command in completion.successful.commands:
                noted.append(WorkflowCommand())
                noted[-1].CopyFrom(command)
            return completion

        instance.activate = activated
        return instance


def digest(commands: Iterable[WorkflowCommand]) -> str:
    """Return a digest of commands, with all that is in them but stack traces, which have paths and lines."""
    hashed = hashlib.sha256()
    for command in commands:
        hashed.update(_without_traces(command).SerializeToString(deterministic=True))
    return hashed.hexdigest()


def _without_traces(command: WorkflowCommand) -> WorkflowCommand:
    told = WorkflowCommand()
    told.CopyFrom(command)
    for kind, name in (("fail_workflow_execution", "failure"), ("update_response", "rejected")):
        failed = told.HasField(kind) and getattr(told, kind).HasField(name)
        failure = getattr(getattr(told, kind), name) if failed else None
        while failure is not None:
            failure.ClearField("stack_trace")
            failure = failure.cause if failure.HasField("cause") else None
    return told
