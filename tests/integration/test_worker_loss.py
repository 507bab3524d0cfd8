"""A run outlives its workers: whichever two activities it loses one between, it does what it does in-process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor, Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, BlobStore
from temporal_adapter.testing import Script
from temporal_adapter.testing.on_temporal import Serving, observe
from tests.support import scripted
from tests.support.differential import Factory, difference_of, run_in_process
from tests.support.graphs import GRAPHS, Graph
from tests.support.nested import NESTED
from tests.support.running import serving, until, with_plugin

# An activity is tried until a worker lets it finish.
UNTIL_DONE = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=20),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_interval=timedelta(milliseconds=50)),
)

OUTLIVING = {
    "fan-in that waits a superstep": GRAPHS,
    "attributes of an executor without hooks": GRAPHS,
    "executor state by hooks": GRAPHS,
    "shared state with two writers": GRAPHS,
    "two requests, answered one by one": GRAPHS,
    "direct": NESTED,
    "propagates": NESTED,
    "two at once": NESTED,
}


@pytest.mark.parametrize("graph", [pytest.param(of[name], id=name) for name, of in OUTLIVING.items()])
async def test_a_run_that_loses_its_worker_after_every_activity_does_what_one_in_process_does(
    client: Client, task_queue: str, tmp_path: Path, graph: Graph
) -> None:
    expected = await run_in_process(graph.build, graph.message, graph.answers)

    async with short_lived_workers(client, task_queue, graph.build, tmp_path) as lives:
        own = Serving(client, task_queue, _store(tmp_path))
        actual = await observe(own, graph.build, Script(graph.message, graph.answers), id=task_queue)
    activities = await _finished_activities(client, task_queue)

    assert difference_of(expected, actual) is None
    assert activities > 1
    assert len(lives) >= activities


async def test_a_run_that_waits_for_its_operator_outlives_its_worker(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    script = scripted.Script()
    build = scripted.flaky_between(script, 1, lambda: ConnectionError("the bank is away"))
    once = ActivityConfig(start_to_close_timeout=timedelta(seconds=20), retry_policy=RetryPolicy(maximum_attempts=1))
    async with serving(client, task_queue, build, store=_store(tmp_path), default_activity_options=once) as durable:
        run = await durable.start(1, on_failure="wait")

        async def waits() -> bool:
            status = await run.status()
            return bool(status.failed_executors) and not status.unmirrored_checkpoints

        await until(waits)
    before = dict(script.calls)

    async with serving(client, task_queue, build, store=_store(tmp_path), default_activity_options=once):
        retried = await run.retry()
        result = await run.result()

    assert before == {"steady": 1, "flaky": 1}
    assert retried == ["flaky"]
    assert script.calls == {"steady": 1, "flaky": 2}
    assert result.get_outputs() == [1 + 1, ("join", [2, 2])]


class _OneActivity(Interceptor):
    """Lets a worker finish one activity; another one that it takes before it is stopped never gets to its work.

    Local activities are part of a workflow task, and go with it.
    """

    def __init__(self) -> None:
        self.taken = False
        self.done = asyncio.Event()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Taking(next, self)


class _Taking(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, worker: _OneActivity) -> None:
        super().__init__(next)
        self._worker = worker

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        if activity.info().is_local:
            return await self.next.execute_activity(input)
        if self._worker.taken:
            await asyncio.Event().wait()  # until the worker goes, which cancels it
        self._worker.taken = True
        try:
            return await self.next.execute_activity(input)
        finally:
            self._worker.done.set()


@asynccontextmanager
async def short_lived_workers(
    client: Client, task_queue: str, factory: Factory, directory: Path
) -> AsyncIterator[list[_OneActivity]]:
    """Workers follow one another while the block is open, each up to the end of one activity; yields them as they come.

    Each has its own plugin, graphs, client of the blob store and, of the run, only what history has.
    """
    lives: list[_OneActivity] = []

    async def live() -> None:
        while True:
            lives.append(one := _OneActivity())
            plugin = AgentFrameworkPlugin(
                [factory], checkpoint_store=_store(directory), default_activity_options=UNTIL_DONE
            )
            # Without a cache there is no queue of the worker's own, in which the server would leave tasks for a while.
            async with Worker(
                with_plugin(client, plugin), task_queue=task_queue, interceptors=[one], max_cached_workflows=0
            ):
                await one.done.wait()

    living = asyncio.create_task(live())
    try:
        yield lives
    finally:
        living.cancel()
        await asyncio.wait([living])


async def _finished_activities(client: Client, workflow_id: str) -> int:
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    return sum(event.HasField("activity_task_completed_event_attributes") for event in history.events)


def _store(directory: Path) -> BlobStore:
    return BlobStore(directory.as_uri())
