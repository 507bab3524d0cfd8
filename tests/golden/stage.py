"""What a scenario of the golden histories has: workers on a Temporal server, names that are the same in each recording.

A scenario is an async generator that makes runs and yields each of them, with a label, at the moment when its history
is to be taken: an open run at rest, or a closed one. Scenarios use what every release since 0.1.0 has, and no more.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from agent_framework import Workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, BlobStore, DurableRun, DurableWorkflow
from tests.support import running

Taken = AsyncIterator[tuple[str, DurableRun]]
"""Runs, each with a label: empty for the run that the scenario is about, at its end."""

OPEN = "open"
"""The label of the run of the scenario while it waits."""

ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))
QUICKLY = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=60),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3),
)

_PATIENCE = 60.0


class Stage:
    """Where one scenario plays.

    Args:
        client: Without plugins.
        name: Of the scenario.
        max_cached_workflows: Of its workers.
    """

    def __init__(self, client: Client, name: str, *, max_cached_workflows: int = 1000) -> None:
        self.client = client
        self.name = slug(name)
        self._max_cached_workflows = max_cached_workflows

    @asynccontextmanager
    async def serving(
        self, build: Callable[[], Workflow], *, store: BlobStore | None = None, **plugin_options: Any
    ) -> AsyncIterator[DurableWorkflow]:
        """A worker has the graph while the block is open."""
        store = store or BlobStore("memory://")
        plugin = AgentFrameworkPlugin([build], checkpoint_store=store, **plugin_options)
        attached = Client(**{**self.client.config(), "plugins": [plugin]})
        async with Worker(attached, task_queue=self.name, max_cached_workflows=self._max_cached_workflows):
            yield DurableWorkflow(attached, build().name, task_queue=self.name, checkpoint_store=store)

    async def answered(
        self,
        build: Callable[[], Workflow],
        message: Any,
        *responses: Any,
        taken_open: bool = True,
        **plugin_options: Any,
    ) -> Taken:
        """Play a run whose requests, all made at once, are answered with a response each, in order."""
        async with self.serving(build, **plugin_options) as durable:
            run = await durable.start(message, id=self.name)
            for place, response in enumerate(responses):
                [request, *_] = await waiting(run, len(responses) - place)
                if taken_open and not place:
                    yield OPEN, run
                await run.respond(request.request_id, response)
            await ended(run)
            yield "", run


def slug(name: str) -> str:
    """Return a name as files, workflow ids and task queues have it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


until = functools.partial(running.until, seconds=_PATIENCE)
"""Awaits until a condition is met; returns what it answered."""


async def waiting(run: DurableRun, count: int = 1) -> list[Any]:
    """Await until the run rests on exactly so many requests, all in the store; return them by executor."""

    async def rests() -> bool:
        status = await run.status()
        return (
            status.state.value == "IDLE_WITH_PENDING_REQUESTS"
            and status.pending_requests == count
            and not status.unmirrored_checkpoints
        )

    await until(rests)
    return sorted(await run.pending_requests(), key=lambda one: one.source_executor_id or "")


async def warned(run: DurableRun, count: int) -> None:
    """Await until the run's events have so many warnings."""

    async def follow() -> None:
        left = count
        async for event in run.events():
            left -= event.type == "warning"
            if not left:
                return

    await asyncio.wait_for(follow(), _PATIENCE)


async def ended(run: DurableRun) -> None:
    """Await until the run is closed, however it ends."""

    async def closed() -> bool:
        return (await run.handle.describe()).close_time is not None

    await until(closed)


@dataclass(frozen=True)
class Scenario:
    """What is recorded under a name, by this release and those that follow.

    Attributes:
        since: The first release that can play it.
    """

    name: str
    play: Callable[[Stage], Taken]
    since: str = "0.1.0"

    def belongs_to(self, version: str) -> bool:
        """Whether a release can play it; so can what is no release, if the first one can."""
        return _numbers(self.since) <= max(_numbers(version), (0, 1, 0))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"^\d+|(?<=\.)\d+", version)) if version[:1].isdigit() else ()
