"""A run outlives its workers: whichever two activities it loses one between, it does what it does in-process."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    StartWorkflowInput,
    WorkflowHandle,
)
from temporalio.common import RetryPolicy
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    Worker,
    WorkerTuner,
)
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
        own = Serving(_impatient(client), task_queue, _store(tmp_path))
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
    assert result.get_outputs() == [2, ("join", [2, 2])]


class _SoonGivenOn(Interceptor):
    """Has workflow tasks soon given to another worker, and asks queries again, when a worker took them along."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        class Starting(OutboundInterceptor):
            async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
                return await super().start_workflow(replace(input, task_timeout=timedelta(seconds=1)))

            async def query_workflow(self, input: QueryWorkflowInput) -> Any:
                while True:
                    try:
                        return await super().query_workflow(replace(input, rpc_timeout=timedelta(seconds=0.5)))
                    except RPCError as error:
                        if error.status not in (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED):
                            raise

        return Starting(next)


def _impatient(client: Client) -> Client:
    return Client(**{**client.config(), "interceptors": [_SoonGivenOn()]})


class _Slots(CustomSlotSupplier):
    """A worker's slots for tasks of one kind, as many as it asks for up to a limit, each used once; tells of the used.

    Args:
        limit: How many tasks the worker may take in its life.
        released: Called in the event loop for each task that is over.
    """

    def __init__(self, limit: float, released: Callable[[], None]) -> None:
        self._left = limit
        self._released = released
        self._loop = asyncio.get_running_loop()

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        if not self._left:
            await asyncio.Event().wait()  # until the worker goes, which cancels it
        self._left -= 1
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        pass

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        if ctx.slot_info is not None:  # a task used it
            self._loop.call_soon_threadsafe(self._released)


class _Life:
    """A worker's: one activity, and the workflow task that takes in its result.

    That task would be lost with the worker, which is no harm but for the second until the server gives it to another.
    """

    def __init__(self) -> None:
        self._acted, self._decided = asyncio.Event(), asyncio.Event()
        others = FixedSizeSlotSupplier(4)
        self.tuner = WorkerTuner.create_composite(
            workflow_supplier=_Slots(math.inf, self._on_decided),
            activity_supplier=_Slots(1, self._acted.set),
            local_activity_supplier=others,
            nexus_supplier=others,
        )

    def _on_decided(self) -> None:
        if self._acted.is_set():
            self._decided.set()

    async def over(self) -> None:
        """Await its end."""
        await self._acted.wait()
        with suppress(asyncio.TimeoutError):  # the task was over before the activity's end was told
            await asyncio.wait_for(self._decided.wait(), 0.2)


@asynccontextmanager
async def short_lived_workers(
    client: Client, task_queue: str, factory: Factory, directory: Path
) -> AsyncIterator[list[_Life]]:
    """Workers follow one another while the block is open, each up to the end of one activity; yields them as they come.

    Each has its own plugin, graphs, client of the blob store and, of the run, only what history has.
    """
    lives: list[_Life] = []

    async def live() -> None:
        while True:
            lives.append(life := _Life())
            plugin = AgentFrameworkPlugin(
                [factory], checkpoint_store=_store(directory), default_activity_options=UNTIL_DONE
            )
            # Without a cache there is no queue of the worker's own, in which the server would leave tasks for a while.
            attached = with_plugin(client, plugin)
            async with Worker(attached, task_queue=task_queue, tuner=life.tuner, max_cached_workflows=0):
                await life.over()

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
