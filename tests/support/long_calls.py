"""Executors that take long, on workers that a test can stop, kill or block.

As a program, it is a worker with the graph `long-call`, which a test may kill:
`python -m tests.support.long_calls ADDRESS NAMESPACE TASK_QUEUE CHECKPOINT_STORE`.
It prints `entered` once its executor waits, for ever.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta

from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, executor
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, BlobStore, DurableRun, process
from tests.support.running import until

ENTERED = "entered"

Call = Callable[[int, WorkflowContext[int, int]], Awaitable[None]]
"""What an executor does with its input."""


def calling(**calls: Call) -> Callable[[], Workflow]:
    """Return a factory of the graph `long-call`: `start` sends its input to one executor for each call, named so."""

    def build() -> Workflow:
        @executor(id="start")
        async def start(value: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(value)

        builder = WorkflowBuilder(name="long-call", start_executor=start)
        for name, call in calls.items():
            builder.add_edge(start, executor(call, id=name))
        return builder.build()

    return build


def beating(seconds: float) -> ActivityConfig:
    """Return options with this heartbeat timeout, and next to no pause before a retry."""
    return ActivityConfig(
        start_to_close_timeout=timedelta(minutes=5),
        heartbeat_timeout=timedelta(seconds=seconds),
        retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3),
    )


async def yields(value: int, ctx: WorkflowContext[int, int]) -> None:
    """Yield the input."""
    await ctx.yield_output(value)


async def heartbeat_of(run: DurableRun) -> None:
    """Await until Temporal has had a heartbeat of an attempt of the run."""

    async def heard() -> bool:
        pending = (await run.handle.describe()).raw_description.pending_activities
        return any(one.HasField("last_heartbeat_time") for one in pending)

    await until(heard)


async def main(address: str, namespace: str, task_queue: str, checkpoint_store: str) -> None:
    async def waits(value: int, ctx: WorkflowContext[int, int]) -> None:
        print(ENTERED, flush=True)
        await asyncio.Event().wait()

    plugin = AgentFrameworkPlugin(
        [calling(call=waits)], checkpoint_store=BlobStore(checkpoint_store), default_activity_options=beating(3)
    )
    client = await Client.connect(address, namespace=namespace, plugins=[plugin])
    sticky = timedelta(seconds=1)  # how long the run waits for this worker, once it was killed
    await Worker(client, task_queue=task_queue, sticky_queue_schedule_to_start_timeout=sticky).run()


if __name__ == "__main__":
    process.serve(main(*sys.argv[1:]))
