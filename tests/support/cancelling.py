"""Runs whose requests are cancelled, in-process by MAF's `Workflow.cancel_pending_requests` and on Temporal.

`Moves` say what happens at each pause. MAF makes no checkpoint of a cancellation: those that Temporal's runs have
beside its own are left out of the comparison, and looked at by themselves.
"""

from __future__ import annotations

import copy
import dataclasses
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowCheckpoint,
    WorkflowEvent,
    WorkflowExecutor,
    WorkflowRunState,
)
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun
from temporal_adapter.maf import run_unstreamed
from temporal_adapter.testing.difference import difference_of
from temporal_adapter.testing.observed import Observed, lineage
from temporal_adapter.values import to_plain_json

from .running import pending, serving

Requests = Sequence[WorkflowEvent[Any]]

_ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))  # as MAF runs an executor


@dataclasses.dataclass(frozen=True)
class Cancel:
    """Requests to cancel at a pause."""

    request_ids: Sequence[str]


Move = Cancel | Mapping[str, Any] | None
"""What happens at a pause: requests are cancelled, or answered; with None the run is compared up to there."""

Moves = Callable[[Requests], Move]


def in_order(*moves: Moves) -> Callable[[], Moves]:
    """Return what makes these moves one after another, at the pauses of a run, then none."""

    def begin() -> Moves:
        left = list(moves)
        return lambda requests: left.pop(0)(requests) if left else None

    return begin


def cancel_all(requests: Requests) -> Move:
    """Cancel everything that waits."""
    return Cancel([one.request_id for one in requests])


def cancel_of(*executors: str) -> Moves:
    """Cancel the requests of these executors."""
    return lambda requests: Cancel([one.request_id for one in requests if one.source_executor_id in executors])


def cancel_number(number: int) -> Moves:
    """Cancel one request, by its place."""
    return lambda requests: Cancel([requests[number].request_id])


def answer(response: Any) -> Moves:
    """Answer everything that waits."""
    return lambda requests: {one.request_id: response for one in requests}


async def assert_cancels_alike(
    client: Client, factory: Callable[[], Workflow], message: Any, moves: Callable[[], Moves]
) -> tuple[Observed, Observed]:
    """Assert that a run on Temporal does what one in-process does; return both.

    Raises:
        AssertionError: They differ; the message names the first difference.
    """
    expected = await in_process(factory, message, moves())
    actual = await on_temporal(client, factory, message, moves())
    shown = dataclasses.replace(actual, checkpoints=without_cancellations(actual.checkpoints))
    difference = difference_of(expected, shown)
    assert difference is None, difference
    return expected, actual


async def in_process(factory: Callable[[], Workflow], message: Any, moves: Moves) -> Observed:
    """Run a graph with MAF's own runner and checkpoint storage."""
    workflow, storage, seen = factory(), InMemoryCheckpointStorage(), Observed()
    run_unstreamed(workflow)
    _watch(workflow, seen)
    _keep_order(workflow)
    try:
        await workflow.run(message, checkpoint_storage=storage)
        while asked := await workflow._runner_context.get_pending_request_info_events():
            seen.pauses.append(list(asked.values()))
            move = moves(seen.pauses[-1])
            if isinstance(move, Cancel):
                await workflow.cancel_pending_requests(list(move.request_ids), checkpoint_storage=storage)
            elif move:
                await workflow.run(responses=dict(move), checkpoint_storage=storage)
            else:
                break
    except Exception as error:
        seen.error = (type(error).__name__, str(error))
    seen.checkpoints = lineage(await storage.list_checkpoints(workflow_name=workflow.name))
    return seen


def _watch(workflow: Workflow, seen: Observed) -> None:
    """Collect all events of a workflow: `cancel_pending_requests` returns some of them."""
    run = workflow._run_workflow_with_tracing

    async def watched(**arguments: Any) -> AsyncIterator[WorkflowEvent[Any]]:
        async for event in run(**arguments):
            seen.events.append(copy.deepcopy(event))
            yield event

    vars(workflow)["_run_workflow_with_tracing"] = watched


def _keep_order(workflow: Workflow) -> None:
    """Let executors be told in the order in which requests were made: MAF's is that of a set."""
    context = workflow._runner_context
    cancel = context.cancel_request_info_events

    async def ordered(request_ids: set[str]) -> dict[str, WorkflowEvent[Any]]:
        pending = list(await context.get_pending_request_info_events())
        cancelled = await cancel(request_ids)
        return {one: cancelled[one] for one in pending if one in cancelled}

    vars(context)["cancel_request_info_events"] = ordered
    for inner in workflow.executors.values():
        if isinstance(inner, WorkflowExecutor):
            _keep_order(inner.workflow)


async def on_temporal(client: Client, factory: Callable[[], Workflow], message: Any, moves: Moves) -> Observed:
    """Run a graph on Temporal; what is to happen at a pause is done once all its checkpoints are in the store."""
    id, store, seen = f"cancelling-{uuid.uuid4().hex[:8]}", BlobStore("memory://"), Observed()
    async with serving(client, id, factory, store=store, default_activity_options=_ONCE) as durable:
        run = await durable.start(message, id=id)
        while await follow(run, seen):
            seen.pauses.append(await pending(run))
            move = moves(seen.pauses[-1])
            if not move:
                await run.handle.terminate("compared up to its pause")
                break
            await make(run, move)
        else:
            seen.error = await _error_of(run)
    storage = BlobCheckpointStorage(store, workflow=factory(), workflow_id=id)
    seen.checkpoints = await storage.list_checkpoints(workflow_name=factory().name)
    return seen


async def follow(run: DurableRun, seen: Observed) -> bool:
    """Collect events until the run pauses (True) or ends (False)."""
    async for event in run.events(len(seen.events)):
        seen.events.append(event)
        if event.type == "status" and event.state is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS:
            return True
    return False


async def make(run: DurableRun, move: Cancel | Mapping[str, Any]) -> None:
    """Cancel or answer requests of a run."""
    if isinstance(move, Cancel):
        await run.cancel_pending_requests(move.request_ids)
    else:
        given = [{"request_id": key, "response": to_plain_json(response)} for key, response in move.items()]
        await run.handle.execute_update("respond", given)


async def _error_of(run: DurableRun) -> tuple[str, str] | None:
    try:
        await run.result()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def cancellations(checkpoints: Sequence[WorkflowCheckpoint]) -> list[WorkflowCheckpoint]:
    """Return the checkpoints that follow a cancellation."""
    return [one for one in checkpoints if _outcomes(one) == {"cancelled"}]


def without_cancellations(checkpoints: Sequence[WorkflowCheckpoint]) -> list[WorkflowCheckpoint]:
    """Return a lineage as if the checkpoints that follow cancellations had not been made."""
    left_out = {one.checkpoint_id: one.previous_checkpoint_id for one in cancellations(checkpoints)}
    kept = [one for one in checkpoints if one.checkpoint_id not in left_out]
    return [
        dataclasses.replace(
            one, previous_checkpoint_id=left_out.get(one.previous_checkpoint_id or "", one.previous_checkpoint_id)
        )
        for one in kept
    ]


def _outcomes(checkpoint: WorkflowCheckpoint) -> set[str]:
    return {one["outcome"] for one in checkpoint.metadata.get("responses", [])}
