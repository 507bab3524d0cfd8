"""The worker process of the soak: `python -m bench.soak_worker ADDRESS CHECKPOINT_STORE SUPERSTEPS [EVENTS]`."""

from __future__ import annotations

import asyncio
import functools
import sys

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from temporalio.client import Client
from temporalio.worker import Worker
from typing_extensions import Never

from temporal_adapter import AgentFrameworkPlugin, process

READY = "ready"
WALKER, CLERK = "soak-walker", "soak-clerk"


class Step(Executor):
    """Counts down in the message and up in the shared state; the last one yields how many there were."""

    @handler
    async def step(self, left: int, ctx: WorkflowContext[int, int]) -> None:
        taken = ctx.get_state("taken", 0) + 1
        ctx.set_state("taken", taken)
        if left > 1:
            await ctx.send_message(left - 1)
        else:
            await ctx.yield_output(taken)


class Count(Executor):
    """Yields each input with how many there were."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._inputs = 0

    @handler
    async def count(self, number: int, ctx: WorkflowContext[Never, tuple[int, int]]) -> None:
        self._inputs += 1
        await ctx.yield_output((number, self._inputs))

    async def on_checkpoint_save(self) -> dict[str, int]:
        return {"inputs": self._inputs}

    async def on_checkpoint_restore(self, state: dict[str, int]) -> None:
        self._inputs = state["inputs"]


def walker(supersteps: int = 1) -> Workflow:
    """Two executors that hand a number to each other until it is 1."""
    left, right = Step(id="left"), Step(id="right")
    builder = WorkflowBuilder(name=WALKER, start_executor=left, max_iterations=supersteps + 1)
    return builder.add_edge(left, right).add_edge(right, left).build()


def clerk() -> Workflow:
    """One executor, for a session."""
    return WorkflowBuilder(name=CLERK, start_executor=Count(id="count")).build()


async def main(address: str, store: str, supersteps: int, after: int | None) -> None:
    client = await Client.connect(address)
    plugin = AgentFrameworkPlugin(
        [functools.partial(walker, supersteps), clerk], checkpoint_store=store, continue_as_new_after=after
    )
    async with Worker(client, task_queue=WALKER, plugins=[plugin]):
        print(READY, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    _, address, store, supersteps, *after = sys.argv
    process.serve(main(address, store, int(supersteps), int(after[0]) if after else None))
