"""The side under test: a graph run on Temporal, by a worker in this process. MAF's runner has no part in it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from agent_framework import Workflow, WorkflowEvent, WorkflowRunState
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter.checkpoints import BlobCheckpointStorage
from temporal_adapter.client import DurableRun, DurableWorkflow
from temporal_adapter.client.updates import update
from temporal_adapter.plugin import AgentFrameworkPlugin
from temporal_adapter.store import BlobStore
from temporal_adapter.values import to_plain_json

from .observed import Observed
from .script import Script, UnfitForComparison

_PAUSED = WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
_LOOK_SECONDS = 0.02  # between looks whether all checkpoints of a pause are in the store

# MAF runs an executor once.
_ONCE = ActivityConfig(start_to_close_timeout=timedelta(minutes=5), retry_policy=RetryPolicy(maximum_attempts=1))


@dataclass(frozen=True, slots=True)
class Serving:
    """Where a worker runs that has some graphs: a client with its plugin, its task queue and its blob store."""

    client: Client
    task_queue: str
    store: BlobStore


@asynccontextmanager
async def worker(
    client: Client,
    factories: Sequence[Callable[[], Workflow]],
    *,
    store: BlobStore | None = None,
    max_cached_workflows: int = 1000,
    types: Iterable[type] = (),
    allow_pickle: bool = True,
) -> AsyncGenerator[Serving, None]:
    """A worker that has the graphs runs while the block is open, on a task queue of its own.

    Args:
        client: A Temporal client without the plugin.
        factories: Build the graphs.
        store: The blob store; one in memory by default.
        max_cached_workflows: As for Temporal's `Worker`.
        types: As for `AgentFrameworkPlugin`.
        allow_pickle: As for `AgentFrameworkPlugin`.
    """
    store = store or BlobStore("memory://")
    plugin = AgentFrameworkPlugin(
        factories,
        checkpoint_store=store,
        default_activity_options=_ONCE,
        types=types,
        allow_pickle=allow_pickle,
    )
    attached = Client(**cast("Any", {**client.config(), "plugins": [plugin]}))
    task_queue = f"conformance-{uuid.uuid4().hex[:8]}"
    async with Worker(attached, task_queue=task_queue, max_cached_workflows=max_cached_workflows):
        yield Serving(attached, task_queue, store)


async def run_on_temporal(
    client: Client,
    factory: Callable[[], Workflow],
    script: Script,
    *,
    id: str | None = None,
    store: BlobStore | None = None,
    **worker_options: Any,
) -> Observed:
    """Run a graph on a worker of its own, and read its checkpoints from the blob store.

    Args:
        client: A Temporal client without the plugin.
        factory: Builds the graph.
        script: The input and the answers.
        id: The workflow id.
        store: The blob store; one in memory by default.
        worker_options: Further ones of `worker`.

    Raises:
        UnfitForComparison: An answer of the script was refused; says why.
    """
    async with worker(client, [factory], store=store, **worker_options) as serving:
        return await observe(serving, factory, script, id=id)


async def observe(
    serving: Serving, factory: Callable[[], Workflow], script: Script, *, id: str | None = None
) -> Observed:
    """Run a graph on a worker that has it, and read its checkpoints from the blob store.

    Raises:
        UnfitForComparison: An answer of the script was refused; says why.
    """
    workflow, client, seen = factory(), serving.client, Observed()
    durable = DurableWorkflow(client, workflow.name, task_queue=serving.task_queue, checkpoint_store=serving.store)
    id = id or f"conformance-{uuid.uuid4().hex[:8]}"
    run = await durable.start(script.message, stream=script.stream, id=id, **script.kwargs())
    await _follow(run, script, seen)
    storage = BlobCheckpointStorage(serving.store, workflow=workflow, namespace=client.namespace, workflow_id=id)
    seen.checkpoints = await storage.list_checkpoints(workflow_name=workflow.name)
    return seen


async def _follow(run: DurableRun, script: Script, seen: Observed) -> None:
    while await _follow_to_rest(run, seen):
        seen.pauses.append(await _parked(run))
        given = script.responses(seen.pauses[-1])
        if not given:
            await run.handle.terminate("compared up to its pause")
            return
        await _respond(run, given)
    seen.error = await _error_of(run)


async def _follow_to_rest(run: DurableRun, seen: Observed) -> bool:
    """Collect events until the run pauses (True) or ends (False)."""
    async for event in run.events(len(seen.events)):
        seen.events.append(event)
        if event.type == "status" and event.state is _PAUSED:
            return True
    return False


async def _parked(run: DurableRun) -> list[WorkflowEvent[Any]]:
    """Wait until all checkpoints of a pause are in the store; return the requests."""
    while (await run.status()).unmirrored_checkpoints:  # noqa: ASYNC110 - it cannot be awaited, only looked at
        await asyncio.sleep(_LOOK_SECONDS)
    return await run.pending_requests()


async def _respond(run: DurableRun, given: dict[str, Any]) -> None:
    responses = [
        {"request_id": request_id, "response": to_plain_json(response)} for request_id, response in given.items()
    ]
    try:
        # Together, as MAF takes them.
        await update(run.handle, "respond", responses)
    except WorkflowUpdateFailedError as error:
        raise UnfitForComparison(f"An answer of the script was refused: {error.cause}") from error


async def _error_of(run: DurableRun) -> tuple[str, str] | None:
    try:
        await run.result()
    except WorkflowFailureError as error:
        cause = error.cause
        return (cause.type or "", cause.message) if isinstance(cause, ApplicationError) else (repr(cause), "")
    except Exception as error:
        return type(error).__name__, str(error)
    return None
