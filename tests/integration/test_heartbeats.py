"""An attempt heartbeats while user code runs, however long: a worker that died is soon told from one at work."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentExecutor, Workflow, WorkflowBuilder, WorkflowContext
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.worker import WorkerConfig
from temporalio.workflow import ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, BlobStore, DurableWorkflow
from tests.support.chat import agent
from tests.support.commands import environment, line_with, started
from tests.support.histories import attempts, deliveries
from tests.support.long_calls import ENTERED, beating, calling, heartbeat_of, yields
from tests.support.middleware import slow
from tests.support.running import serving

_CORE_PATIENCE = 5.0  # seconds that the SDK's core waits above the heartbeat timeout, before it gives an attempt up


async def test_an_agent_in_a_model_call_longer_than_the_heartbeat_timeout_is_left_alone(
    client: Client, task_queue: str
) -> None:
    def build() -> Workflow:
        thinker = AgentExecutor(agent("thinker", middleware=[slow(7)]))
        return WorkflowBuilder(name="thinking", start_executor=thinker).build()

    async with serving(client, task_queue, build, default_activity_options=beating(3)) as durable:
        began = time.monotonic()
        run = await durable.start("hello")
        await run.result()
        took = time.monotonic() - began

    assert took >= 7
    assert attempts(await run.handle.fetch_history())["thinking/thinker"] == 1


async def test_a_handler_that_blocks_the_event_loop_for_longer_harms_neither_itself_nor_its_neighbours(
    client: Client, task_queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    timeout, waiting = 3.0, asyncio.Event()

    async def blocks(value: int, ctx: WorkflowContext[int, int]) -> None:
        await waiting.wait()
        time.sleep(timeout + _CORE_PATIENCE + 2)  # noqa: ASYNC251 - the very thing
        await ctx.yield_output(value)

    async def waits(value: int, ctx: WorkflowContext[int, int]) -> None:
        waiting.set()
        await asyncio.sleep(1)
        await ctx.yield_output(value)

    build = calling(blocks=blocks, waits=waits)
    async with serving(client, task_queue, build, default_activity_options=beating(timeout)) as durable:
        run = await durable.start(7)
        result = await run.result()

    assert result.get_outputs() == [7, 7]
    counts = attempts(await run.handle.fetch_history())
    assert (counts["long-call/blocks"], counts["long-call/waits"]) == (1, 1)
    [warning] = [one.getMessage() for one in caplog.records if "event loop has been blocked" in one.getMessage()]
    assert "asyncio.to_thread" in warning


async def test_heartbeats_leave_no_trace_in_history(client: Client, task_queue: str) -> None:
    async def waits(value: int, ctx: WorkflowContext[int, int]) -> None:
        await asyncio.sleep(value)

    async with serving(client, task_queue, calling(call=waits), default_activity_options=beating(1.5)) as durable:
        short, long = await durable.start(0), await durable.start(3)
        await short.result()
        await long.result()

    assert _event_types(await short.handle.fetch_history()) == _event_types(await long.handle.fetch_history())


async def test_temporal_shows_when_an_attempt_was_last_heard_of(client: Client, task_queue: str) -> None:
    done = asyncio.Event()

    async def waits(value: int, ctx: WorkflowContext[int, int]) -> None:
        await done.wait()

    async with serving(client, task_queue, calling(call=waits), default_activity_options=beating(1.5)) as durable:
        run = await durable.start(1)
        await heartbeat_of(run)
        done.set()
        await run.result()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (None, timedelta(seconds=30)),
        (ActivityConfig(heartbeat_timeout=timedelta(minutes=2)), timedelta(minutes=2)),
        (ActivityConfig(heartbeat_timeout=None), None),
    ],
)
async def test_the_heartbeat_timeout_is_half_a_minute_unless_the_user_says_otherwise(
    client: Client, task_queue: str, options: ActivityConfig | None, expected: timedelta | None
) -> None:
    seen: list[Any] = []

    async def looks(value: int, ctx: WorkflowContext[int, int]) -> None:
        seen.append(activity.info().heartbeat_timeout)

    async with serving(client, task_queue, calling(call=looks), default_activity_options=options) as durable:
        run = await durable.start(1)
        await run.result()

    assert seen == [expected]
    timeouts = [one.heartbeat_timeout.ToTimedelta() for one in deliveries(await run.handle.fetch_history())]
    assert timeouts == [expected or timedelta(0)] * 2


async def test_the_activity_of_a_killed_worker_is_started_again_after_the_heartbeat_timeout(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    store = tmp_path / "checkpoints"
    arguments = [client.service_client.config.target_host, client.namespace, task_queue, str(store)]
    durable = DurableWorkflow(client, "long-call", task_queue=task_queue, checkpoint_store=str(store))
    with started("-m", "tests.support.long_calls", *arguments, env=environment()) as process:
        run = await durable.start(7)
        await asyncio.to_thread(line_with, process, ENTERED)
        os.kill(process.pid, signal.SIGKILL)
        killed = time.monotonic()
    again: list[float] = []

    async def goes_on(value: int, ctx: WorkflowContext[int, int]) -> None:
        again.append(time.monotonic() - killed)
        await ctx.yield_output(value)

    build = calling(call=goes_on)
    async with serving(client, task_queue, build, store=BlobStore(store), default_activity_options=beating(3)):
        result = await run.result()

    assert result.get_outputs() == [7]
    assert len(again) == 1
    assert again[0] < 10, "after three seconds without a heartbeat"
    assert attempts(await run.handle.fetch_history())["long-call/call"] == 2


@pytest.mark.parametrize(("given", "kept"), [(60, 5), (1, 1)])
async def test_the_plugin_lets_a_worker_keep_heartbeats_back_for_no_more_than_seconds(
    client: Client, given: int, kept: int
) -> None:
    plugin = AgentFrameworkPlugin([calling(call=yields)], checkpoint_store="memory://")

    given_config = WorkerConfig(client=client, max_heartbeat_throttle_interval=timedelta(seconds=given))
    config = plugin.configure_worker(given_config)

    assert config["max_heartbeat_throttle_interval"] == timedelta(seconds=kept)


def _event_types(history: Any) -> Counter[str]:
    return Counter(EventType.Name(event.event_type) for event in history.events)
