"""A worker process that stops where a test says, so that it can be killed there.

While the directory has a file `hold-executor`, `hold-reads` or `hold-writes`, the worker's executor, or its blob store,
says so and waits for ever. Run with: address, namespace, task queue, directory; and a build id, to be that build of the
deployment that is called as the task queue.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, BlobStore, process

HELD = "held: "

BRISK = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=20),
    heartbeat_timeout=timedelta(seconds=2),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=4),
)


async def held(directory: Path, what: str) -> None:
    """Wait for ever if the test wants it."""
    if (directory / f"hold-{what}").exists():
        print(f"{HELD}{what}", flush=True)
        await asyncio.Event().wait()


class Account(Executor):
    """Adds up, and asks before it takes more than 100."""

    def __init__(self, id: str, directory: Path) -> None:
        super().__init__(id=id)
        self.directory = str(directory)
        self.total = 0

    @handler
    async def add(self, amount: int, ctx: WorkflowContext[None, int]) -> None:
        await held(Path(self.directory), "executor")
        if amount > 100:
            await ctx.request_info(str(amount), bool)
            return
        await self._take(amount, ctx)

    @response_handler
    async def decided(self, amount: str, yes: bool, ctx: WorkflowContext[None, int]) -> None:
        await held(Path(self.directory), "executor")
        await self._take(int(amount) if yes else 0, ctx)

    async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[None, int]) -> None:
        await held(Path(self.directory), "executor")
        await self._take(0, ctx)

    async def _take(self, amount: int, ctx: WorkflowContext[None, int]) -> None:
        self.total += amount
        ctx.set_state("total", self.total)
        await ctx.yield_output(self.total)


def account(directory: Path) -> Any:
    """Return the factory."""

    def build() -> Workflow:
        return WorkflowBuilder(name="account", start_executor=Account("account", directory)).build()

    return build


class HeldStore(BlobStore):
    """A directory whose reads or writes can be held."""

    def __init__(self, directory: Path) -> None:
        super().__init__(str(directory / "store"))
        self._directory = directory

    async def _write(self, name: str, data: bytes, mode: Any) -> bool:
        await held(self._directory, "writes")
        return await super()._write(name, data, mode)

    async def get(self, name: str) -> bytes:
        await held(self._directory, "reads")
        return await super().get(name)


async def main(address: str, namespace: str, task_queue: str, directory: str, build_id: str | None = None) -> None:
    place = Path(directory)
    plugin = AgentFrameworkPlugin(
        [account(place)],
        checkpoint_store=HeldStore(place),
        default_activity_options=BRISK,
        deployment_name=None if build_id is None else task_queue,
        build_id=build_id,
    )
    client = await Client.connect(address, namespace=namespace, plugins=[plugin])
    print("ready", flush=True)
    sticky = timedelta(seconds=1)  # how long the run waits for this worker, once it was killed
    await Worker(client, task_queue=task_queue, sticky_queue_schedule_to_start_timeout=sticky).run()


if __name__ == "__main__":
    from tests.support import killable  # not `__main__`, since a graph's signature has the modules of its classes

    process.serve(killable.main(*sys.argv[1:]))
