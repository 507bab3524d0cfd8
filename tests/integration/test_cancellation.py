"""A cancelled run stops its executors within seconds; nothing comes of an attempt that was cancelled or timed out."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import AgentExecutor, Workflow, WorkflowBuilder, WorkflowContext, WorkflowRunState
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import CancelledError
from temporalio.worker import Worker
from temporalio.workflow import ActivityCancellationType, ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, BlobCheckpointStorage, BlobStore, DurableRun, DurableWorkflow
from tests.support.chat import agent
from tests.support.commands import environment
from tests.support.histories import attempts
from tests.support.long_calls import Call, beating, calling, heartbeat_of, yields
from tests.support.middleware import before_answering
from tests.support.running import serving, with_plugin
from workers.dev_server import temporal_program

# Within which an attempt is to learn that it is cancelled: some 5 s, with room for a busy machine, and less than the
# 24 s that the SDK by itself would take.
_SECONDS = 18.0


class Attempts:
    """What attempts of an executor saw, in order."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.released = asyncio.Event()  # what attempts wait for that go on although they were cancelled
        self.cancelled = asyncio.Event()
        self.left = asyncio.Event()
        self.saw: list[str] = []

    async def wait(self) -> None:
        """Wait to be cancelled."""
        self.entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.saw.append("cancelled")
            raise
        finally:
            self.saw.append("cleaned up")
            self.left.set()

    async def wait_and_go_on(self) -> None:
        """Wait to be cancelled, and return once that has happened and it is released."""
        self.entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.saw.append("cancelled")
            self.cancelled.set()
            await self.released.wait()


def waiting(seen: Attempts) -> Call:
    """Return a call that waits to be cancelled."""

    async def waits(value: int, ctx: WorkflowContext[int, int]) -> None:
        await seen.wait()

    return waits


def stubborn(seen: Attempts) -> Call:
    """Return a call whose first attempt takes no notice of being cancelled and does all it can do; others yield."""

    async def goes_on(value: int, ctx: WorkflowContext[int, int]) -> None:
        first = not seen.entered.is_set()
        if first:
            await seen.wait_and_go_on()
        ctx.set_state("attempt", "first" if first else "later")
        await ctx.send_message(100 if first else 200)
        await ctx.yield_output(100 if first else 200)
        if first:
            seen.left.set()

    return goes_on


async def by_handle(run: DurableRun) -> None:
    await run.handle.cancel()


async def by_command_line(run: DurableRun) -> None:
    command = [temporal_program(), "workflow", "cancel", "--workflow-id", run.id]
    config = run.handle._client.service_client.config
    variables = {"TEMPORAL_ADDRESS": config.target_host, "TEMPORAL_NAMESPACE": run.handle._client.namespace}
    process = await asyncio.create_subprocess_exec(*command, env=environment(**variables, PATH=os.environ["PATH"]))
    assert await process.wait() == 0


async def end_of(run: DurableRun) -> BaseException | None:
    """Await the end of a run that does not finish; return the cause."""
    with pytest.raises(WorkflowFailureError) as failure:
        await run.result()
    return failure.value.cause


# --- it arrives ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cancel", [by_handle, by_command_line])
async def test_a_cancelled_run_cancels_its_executor_within_seconds(
    client: Client, task_queue: str, cancel: Callable[[DurableRun], Awaitable[None]]
) -> None:
    seen = Attempts()
    async with serving(client, task_queue, calling(call=waiting(seen))) as durable:
        run = await durable.start(1)
        await seen.entered.wait()

        await cancel(run)
        assert isinstance(await end_of(run), CancelledError)
        await asyncio.wait_for(seen.left.wait(), _SECONDS)
        events = [event async for event in run.events()]

    assert seen.saw == ["cancelled", "cleaned up"]
    assert events[-1].state is WorkflowRunState.CANCELLED
    assert not [event for event in events if event.executor_id == "call"]


async def test_a_terminated_run_cancels_its_executor_within_seconds(client: Client, task_queue: str) -> None:
    seen = Attempts()
    async with serving(client, task_queue, calling(call=waiting(seen))) as durable:
        run = await durable.start(1)
        await seen.entered.wait()

        await run.handle.terminate()
        await asyncio.wait_for(seen.left.wait(), _SECONDS)

    assert seen.saw == ["cancelled", "cleaned up"]


async def test_a_cancelled_run_cancels_an_agent_that_is_long_in_a_model_call_within_seconds(
    client: Client, task_queue: str
) -> None:
    seen = Attempts()

    def build() -> Workflow:
        thinker = AgentExecutor(agent("thinker", middleware=[before_answering(seen.wait)]))
        return WorkflowBuilder(name="thinking", start_executor=thinker).build()

    async with serving(client, task_queue, build) as durable:
        run = await durable.start("hello")
        await heartbeat_of(run)  # the next ones are kept back for a while

        await run.handle.cancel()
        await end_of(run)
        await asyncio.wait_for(seen.left.wait(), _SECONDS)

    assert seen.saw == ["cancelled", "cleaned up"]


async def test_a_run_that_fails_cancels_the_executors_beside_the_one_that_failed(
    client: Client, task_queue: str
) -> None:
    seen = Attempts()

    async def fails(value: int, ctx: WorkflowContext[int, int]) -> None:
        await seen.entered.wait()
        raise ValueError("no")

    once = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))
    build = calling(fails=fails, waits=waiting(seen))
    async with serving(client, task_queue, build, default_activity_options=once) as durable:
        run = await durable.start(1)
        with pytest.raises(ValueError, match="no"):
            await run.result()
        await asyncio.wait_for(seen.left.wait(), _SECONDS)

    assert seen.saw == ["cancelled", "cleaned up"]


async def test_a_run_ends_after_its_executors_have_cleaned_up_when_the_user_wants_that(
    client: Client, task_queue: str
) -> None:
    seen = Attempts()

    async def cleans_up(value: int, ctx: WorkflowContext[int, int]) -> None:
        try:
            await seen.wait()
        finally:
            await asyncio.sleep(0.5)
            seen.saw.append("after a while")

    options = ActivityConfig(
        **{**beating(3), "cancellation_type": ActivityCancellationType.WAIT_CANCELLATION_COMPLETED}
    )
    async with serving(client, task_queue, calling(call=cleans_up), default_activity_options=options) as durable:
        run = await durable.start(1)
        await seen.entered.wait()

        await run.handle.cancel()
        assert isinstance(await end_of(run), CancelledError)

        assert seen.saw == ["cancelled", "cleaned up", "after a while"]


# --- nothing comes of it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_handler_that_swallows_its_cancellation_changes_nothing(
    client: Client, task_queue: str, awaited: bool
) -> None:
    seen, store = Attempts(), BlobStore("memory://")
    build = calling(call=stubborn(seen))
    options = beating(3)
    if awaited:  # the run waits for the attempt's end, and gets its result
        options["cancellation_type"] = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED
    async with serving(client, task_queue, build, store=store, default_activity_options=options) as durable:
        run = await durable.start(1)
        await seen.entered.wait()

        await run.handle.cancel()
        await asyncio.wait_for(seen.cancelled.wait(), _SECONDS)
        seen.released.set()
        assert isinstance(await end_of(run), CancelledError)
        await seen.left.wait()
        events = [event async for event in run.events()]
        headers = await run.checkpoints()

    assert not [event for event in events if event.executor_id == "call"]
    assert [header.iteration for header in headers] == [0, 1]
    assert await _kept(store, build) == [header.checkpoint_id for header in headers]


async def test_a_checkpoint_that_an_attempt_wrote_before_its_run_was_cancelled_never_was(
    client: Client, task_queue: str
) -> None:
    store = HeldStore()
    build = calling(call=yields)
    async with serving(client, task_queue, build, store=store, default_activity_options=beating(3)) as durable:
        store.holds_after("/checkpoints/", times=3)  # entry, start's, and the one of the executor `call`
        run = await durable.start(1)
        await store.held.wait()
        written = await _kept(store, build)

        await run.handle.cancel()
        await end_of(run)
        headers = await run.checkpoints()

    assert len(written) == 3
    assert await _kept(store, build) == [header.checkpoint_id for header in headers] == written[:2]


async def test_an_attempt_that_timed_out_and_goes_on_changes_nothing(client: Client, task_queue: str) -> None:
    seen, store = Attempts(), BlobStore("memory://")
    build = calling(call=stubborn(seen))
    options = ActivityConfig(**{**beating(3), "start_to_close_timeout": timedelta(seconds=1)})
    async with serving(client, task_queue, build, store=store, default_activity_options=options) as durable:
        run = await durable.start(1)
        result = await run.result()
        headers = await run.checkpoints()
        seen.released.set()
        await asyncio.wait_for(seen.left.wait(), _SECONDS)

    assert seen.saw == ["cancelled"]
    assert result.get_outputs() == [200]
    assert await _kept(store, build) == [header.checkpoint_id for header in headers]
    latest = await BlobCheckpointStorage(store, workflow=build()).get_latest(workflow_name="long-call")
    assert latest is not None
    assert latest.state["attempt"] == "later"


# --- workers that stop --------------------------------------------------------------------------------------


async def test_a_worker_that_stops_lets_its_attempts_go_and_another_goes_on_at_once(
    client: Client, task_queue: str
) -> None:
    seen, times = Attempts(), list[float]()

    async def waits_first(value: int, ctx: WorkflowContext[int, int]) -> None:
        if not seen.entered.is_set():
            await seen.wait()
        times.append(time.monotonic())
        await ctx.yield_output(value)

    async with _worker(client, task_queue, waits_first):
        run = await DurableWorkflow(client, "long-call", task_queue=task_queue).start(7)
        await seen.entered.wait()
    stopped = time.monotonic()
    async with _worker(client, task_queue, waits_first):
        result = await run.result()

    assert seen.saw == ["cancelled", "cleaned up"]
    assert result.get_outputs() == [7]
    assert times[0] - stopped < 5
    assert attempts(await run.handle.fetch_history())["long-call/call"] == 2


async def test_what_a_handler_returns_after_its_worker_stopped_is_not_used(client: Client, task_queue: str) -> None:
    seen = Attempts()
    seen.released.set()
    call = stubborn(seen)

    async with _worker(client, task_queue, call):
        run = await DurableWorkflow(client, "long-call", task_queue=task_queue).start(7)
        await seen.entered.wait()
    async with _worker(client, task_queue, call):
        result = await run.result()

    assert seen.saw == ["cancelled"]
    assert result.get_outputs() == [200]


class HeldStore(BlobStore):
    """Memory that keeps a writer waiting, for ever, once the object it wrote is there."""

    def __init__(self) -> None:
        super().__init__("memory://")
        self.held = asyncio.Event()
        self._part, self._times = "", 0

    def holds_after(self, part: str, times: int) -> None:
        """Hold the writer of the n-th object that has this part in its name."""
        self._part, self._times = part, times

    async def _write(self, name: str, data: bytes, mode: Any) -> bool:
        written = await super()._write(name, data, mode)
        if self._part and self._part in name:
            self._times -= 1
            if self._times == 0:
                self.held.set()
                await asyncio.Event().wait()
        return written


def _worker(client: Client, task_queue: str, call: Call) -> Worker:
    plugin = AgentFrameworkPlugin(
        [calling(call=call)], checkpoint_store="memory://stopping", default_activity_options=beating(30)
    )
    return Worker(with_plugin(client, plugin), task_queue=task_queue)


async def _kept(store: BlobStore, build: Callable[[], Workflow]) -> list[str]:
    """Return the ids of the checkpoints that the store has, in order of lineage."""
    checkpoints = await BlobCheckpointStorage(store, workflow=build()).list_checkpoints(workflow_name="long-call")
    return [checkpoint.checkpoint_id for checkpoint in checkpoints]
