"""Workers for tests: one line starts a worker that has a graph, in the test's own process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowEvent
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from temporal_adapter import AgentFrameworkPlugin, BlobStore, DurableRun, DurableWorkflow


def with_plugin(client: Client, plugin: Any) -> Client:
    """Return a client on the same connection that has the plugin attached."""
    return Client(**{**client.config(), "plugins": [plugin]})


@asynccontextmanager
async def serving(
    client: Client,
    task_queue: str,
    factory: Callable[[], Workflow],
    *,
    store: BlobStore | None = None,
    max_cached_workflows: int = 1000,
    **plugin_options: Any,
) -> AsyncIterator[DurableWorkflow]:
    """A worker that has one graph runs while the block is open; yields the graph's `DurableWorkflow`."""
    store = store or BlobStore("memory://")
    plugin = AgentFrameworkPlugin([factory], checkpoint_store=store, **plugin_options)
    attached = with_plugin(client, plugin)
    async with Worker(attached, task_queue=task_queue, max_cached_workflows=max_cached_workflows):
        yield DurableWorkflow(attached, factory().name, task_queue=task_queue, checkpoint_store=store)


async def until(met: Callable[[], Awaitable[Any]], *, seconds: float = 90.0) -> Any:
    """Await until a condition is met; return what it answered.

    Raises:
        TimeoutError: It was not met in time.
    """

    async def ask() -> Any:
        while not (answer := await met()):  # noqa: ASYNC110 - the server's state cannot be awaited, only looked at
            await asyncio.sleep(0.02)
        return answer

    return await asyncio.wait_for(ask(), seconds)


async def tells(run: DurableRun, text: str) -> bool:
    """Whether the events of a run have this text in them so far."""
    events = await run.events_between(0, (await run.status()).events)
    return any(text in str(event) for event in events)


async def failure_of(run: Any) -> ApplicationError:
    """Await the failure of a run or Temporal handle; return the error that Temporal has for it.

    Raises:
        AssertionError: The run did not fail, or was cancelled or terminated.
    """
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of any class: the executor's own, where it is known here
        await run.result()
    failure = raised.value if isinstance(raised.value, WorkflowFailureError) else raised.value.__cause__
    assert isinstance(failure, WorkflowFailureError), repr(raised.value)
    assert isinstance(failure.cause, ApplicationError), repr(failure.cause)
    return failure.cause


async def pending(run: DurableRun, count: int = 1) -> list[Any]:
    """Await until the run is parked on at least so many requests, all its checkpoints mirrored.

    Returns:
        The requests, by executor.
    """

    async def parked() -> bool:
        status = await run.status()
        return (
            status.state.value == "IDLE_WITH_PENDING_REQUESTS"
            and status.pending_requests >= count
            and not status.unmirrored_checkpoints
        )

    await until(parked)
    return by_executor(await run.pending_requests())


def by_executor(requests: Iterable[WorkflowEvent[Any]]) -> list[WorkflowEvent[Any]]:
    """Return requests by executor: which of two that ask in one superstep is first is an accident of scheduling."""
    return sorted(requests, key=lambda one: one.source_executor_id or "")
