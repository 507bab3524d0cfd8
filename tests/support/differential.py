"""Runs a MAF workflow in-process and on Temporal, and holds the second run to the first.

    await assert_same(client, build_expense_approval, report, answers=lambda requests: {...})

In-process is MAF's own runner with MAF's own `InMemoryCheckpointStorage`. Same means: outputs, events (types, executor
ids, payloads, iterations), status timeline, and checkpoint lineage (kind, iteration, parent, messages, state, pending
requests). Ids that a run makes itself differ, and are compared by their place. Executors of one superstep run at the
same time, so that their events may interleave in any way; they are compared executor by executor.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_framework import (
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowCheckpoint,
    WorkflowEvent,
    WorkflowMessage,
    WorkflowRunState,
)
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun
from temporal_adapter.values import to_plain_json

from .comparing import first_difference
from .running import pending, serving

Factory = Callable[[], Workflow]
Answers = Callable[[Sequence[WorkflowEvent[Any]]], Mapping[str, Any]]
"""Given the pending requests at a pause, the responses to give now, by request id."""

_PAUSED = WorkflowRunState.IDLE_WITH_PENDING_REQUESTS


@dataclass(slots=True)
class Observed:
    """What a run showed, wherever it ran.

    Attributes:
        events: Everything, across pauses.
        checkpoints: The lineage, oldest first.
        error: Type name and message of the error the run failed with.
    """

    events: list[WorkflowEvent[Any]] = field(default_factory=list[WorkflowEvent[Any]])
    checkpoints: list[WorkflowCheckpoint] = field(default_factory=list[WorkflowCheckpoint])
    error: tuple[str, str] | None = None

    @property
    def outputs(self) -> list[Any]:
        """Payloads of the `output` events."""
        return [event.data for event in self.events if event.type == "output"]

    def outputs_after(self, iteration: int) -> list[Any]:
        """Payloads of the `output` events of all supersteps after this one."""
        current = 0
        outputs: list[Any] = []
        for event in self.events:
            if event.type == "superstep_started":
                current = event.iteration or 0
            elif event.type == "output" and current > iteration:
                outputs.append(event.data)
        return outputs


async def assert_same(
    client: Client, factory: Factory, message: Any, *, answers: Answers | None = None
) -> tuple[Observed, Observed]:
    """Assert that a run on Temporal does what a run in-process does; return both.

    Args:
        client: A Temporal client without the plugin.
        factory: Builds the graph. Its executors must be deterministic.
        message: The input.
        answers: Answers requests. Without it, the runs are compared up to their first pause.

    Raises:
        AssertionError: They differ; the message names the first difference.
    """
    in_process = await run_in_process(factory, message, answers)
    on_temporal = await run_on_temporal(client, factory, message, answers)
    difference = difference_of(in_process, on_temporal)
    assert difference is None, difference
    return in_process, on_temporal


# --- running ------------------------------------------------------------------------------------------------


async def run_in_process(
    factory: Factory,
    message: Any,
    answers: Answers | None = None,
    *,
    storage: InMemoryCheckpointStorage | None = None,
) -> Observed:
    """Run a graph with MAF's own runner and checkpoint storage."""
    workflow, storage, seen = factory(), storage or InMemoryCheckpointStorage(), Observed()
    await _go_on(workflow, seen, storage, answers, message=message)
    seen.checkpoints = lineage(await storage.list_checkpoints(workflow_name=workflow.name))
    return seen


async def resume_in_process(
    factory: Factory, storage: Any, checkpoint_id: str, answers: Answers | None = None
) -> Observed:
    """Resume a checkpoint of any storage with MAF's own runner; events of the rest of the run only."""
    seen = Observed()
    await _go_on(factory(), seen, storage, answers, checkpoint_id=checkpoint_id)
    return seen


async def run_on_temporal(
    client: Client,
    factory: Factory,
    message: Any,
    answers: Answers | None = None,
    *,
    id: str | None = None,
    store: BlobStore | None = None,
    max_cached_workflows: int = 1000,
) -> Observed:
    """Run a graph on a worker of its own in this process, and read its checkpoints from the blob store."""
    store, seen, id = store or BlobStore("memory://"), Observed(), id or f"differential-{uuid.uuid4().hex[:8]}"
    async with serving(client, id, factory, store=store, max_cached_workflows=max_cached_workflows) as durable:
        run = await durable.start(message, id=id)
        while await _follow_to_rest(run, seen):
            requests = await pending(run)
            given = answers(requests) if answers is not None else {}
            if not given:
                await run.handle.terminate("compared up to its pause")
                break
            await run.handle.execute_update("respond", [_response(*one) for one in given.items()])
        else:
            seen.error = await _error_of(run)
        storage = BlobCheckpointStorage(store, workflow=factory(), workflow_id=run.id)
        seen.checkpoints = await storage.list_checkpoints(workflow_name=factory().name)
    return seen


async def _go_on(workflow: Workflow, seen: Observed, storage: Any, answers: Answers | None, **start: Any) -> None:
    # Only a stream shows the events of a run that fails; but agents are to answer as in `run(stream=False)`.
    workflow._runner.context.is_streaming = lambda: False  # type: ignore[method-assign]
    requests: dict[str, WorkflowEvent[Any]] = {}
    while True:
        try:
            async for event in workflow.run(checkpoint_storage=storage, stream=True, **start):
                seen.events.append(event)
                if event.type == "request_info":
                    requests[event.request_id] = event
        except Exception as error:
            seen.error = (type(error).__name__, str(error))
        given = answers(list(requests.values())) if requests and answers is not None and seen.error is None else {}
        if not given:
            return
        for request_id in given:
            del requests[request_id]
        start = {"responses": dict(given)}


async def _follow_to_rest(run: DurableRun, seen: Observed) -> bool:
    """Collect events until the run pauses (True) or ends (False)."""
    async for event in run.events(len(seen.events)):
        seen.events.append(event)
        if event.type == "status" and event.state is _PAUSED:
            return True
    return False


async def _error_of(run: DurableRun) -> tuple[str, str] | None:
    try:
        await run.result()
    except WorkflowFailureError as error:
        cause = error.cause
        return (cause.type or "", cause.message) if isinstance(cause, ApplicationError) else (repr(cause), "")
    return None


def _response(request_id: str, response: Any) -> dict[str, Any]:
    return {"request_id": request_id, "response": to_plain_json(response)}


# --- comparing ----------------------------------------------------------------------------------------------


def difference_of(in_process: Observed, on_temporal: Observed) -> str | None:
    """Return the first difference between two runs, or None."""
    pairs = [
        ("error", in_process.error, on_temporal.error),
        ("status timeline", _timeline(in_process), _timeline(on_temporal)),
        ("supersteps and events", _told(in_process.events), _told(on_temporal.events)),
        ("checkpoint lineage", _lineage_told(in_process), _lineage_told(on_temporal)),
    ]
    for path, expected, actual in pairs:
        difference = first_difference(expected, actual, path)
        if difference is not None:
            return difference
    return None


def lineage(checkpoints: Iterable[WorkflowCheckpoint]) -> list[WorkflowCheckpoint]:
    """Return the checkpoints of one lineage, oldest first, whatever the order they come in."""
    by_parent = {checkpoint.previous_checkpoint_id: checkpoint for checkpoint in checkpoints}
    ordered: list[WorkflowCheckpoint] = []
    head: str | None = None
    while head in by_parent:
        ordered.append(by_parent[head])
        head = ordered[-1].checkpoint_id
    assert len(ordered) == len(by_parent), "the checkpoints are not one lineage"
    return ordered


def _timeline(seen: Observed) -> list[str]:
    return [event.state.value for event in seen.events if event.type == "status" and event.state is not None]


def _told(events: Sequence[WorkflowEvent[Any]]) -> dict[str, Any]:
    """Return events as a tree: stretch by stretch of the run, in a superstep executor by executor."""
    names = _request_names(event for event in events if event.type == "request_info")
    told: dict[str, Any] = {}
    stretch = told.setdefault("0: start", {"run": []})
    for event in events:
        if event.type in ("superstep_started", "started"):
            stretch = told.setdefault(f"{len(told)}: {event.type} {event.iteration or ''}".strip(), {"run": []})
        who = event.source_executor_id if event.type == "request_info" else event.executor_id or "run"
        stretch.setdefault(who, []).append(_event(event, names))
        if event.type == "superstep_completed":
            stretch = told.setdefault(f"{len(told)}: after superstep {event.iteration}", {"run": []})
    # Who began first within a superstep is an accident of scheduling.
    return {
        title: {who: stretch[who] for who in sorted(stretch, key=lambda one: (one != "run", one))}
        for title, stretch in told.items()
    }


def _event(event: WorkflowEvent[Any], names: Mapping[str, str]) -> dict[str, Any]:
    told: dict[str, Any] = {"type": event.type, "origin": event.origin, "data": event.data}
    if event.type == "request_info":
        told["request"] = names[event.request_id]
        told["types"] = [event.request_type, event.response_type]
    for name in ("executor_id", "iteration", "state", "details"):
        told[name] = getattr(event, name)
    return told


def _lineage_told(seen: Observed) -> list[Any]:
    """Return checkpoints as trees, with ids that the run made replaced by their place."""
    requests = (event for event in seen.events if event.type == "request_info")
    names = _request_names(requests)
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
            "state": {key: _state(checkpoint.state[key], names) for key in sorted(checkpoint.state)},
            "requests": {
                names[key]: _event(checkpoint.pending_request_info_events[key], names)
                for key in sorted(checkpoint.pending_request_info_events, key=lambda one: names[one])
            },
            "metadata": checkpoint.metadata,
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


def _state(value: Any, names: Mapping[str, str]) -> Any:
    """Replace the messages of a fan-in's buffer, wherever they are."""
    if isinstance(value, WorkflowMessage):
        return _message(value, names)
    if type(value) is dict:
        return {key: _state(one, names) for key, one in value.items()}
    return [_state(one, names) for one in value] if type(value) is list else value


def _request_names(requests: Iterable[WorkflowEvent[Any]]) -> dict[str, str]:
    """Name each request by its executor and its place among that executor's requests."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for request in requests:
        if request.request_id not in names:
            executor_id = request.source_executor_id
            counts[executor_id] = counts.get(executor_id, 0) + 1
            names[request.request_id] = f"request {counts[executor_id]} of {executor_id}"
    return names
