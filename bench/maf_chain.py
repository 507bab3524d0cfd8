"""The chain as a MAF workflow, on Temporal by `temporal_adapter`.

Its worker has the defaults of Temporal and of the plugin, and so the checkpoint store's: a local directory.
"""

from __future__ import annotations

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from temporalio.client import Client
from temporalio.worker import Worker

from bench.sides import ACTIVITY_OPTIONS, WORKFLOW_TYPES, step_name
from temporal_adapter import AgentFrameworkPlugin


class Step(Executor):
    """Adds 1 and sends the number on."""

    @handler
    async def add_one(self, number: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(number + 1)


class LastStep(Executor):
    """Adds 1 and yields the number as the workflow's output."""

    @handler
    async def add_one(self, number: int, ctx: WorkflowContext[int, int]) -> None:
        await ctx.yield_output(number + 1)


def build(steps: int) -> Workflow:
    """Builds a chain of so many steps, two at least."""
    executors = [*(Step(id=step_name(position)) for position in range(steps - 1)), LastStep(id=step_name(steps - 1))]
    builder = WorkflowBuilder(
        start_executor=executors[0],
        name=WORKFLOW_TYPES["maf"],
        max_iterations=steps,
        output_from=[executors[-1]],
    )
    return builder.add_chain(executors).build()


def worker(client: Client, task_queue: str, steps: int, checkpoint_store: str) -> Worker:
    """Makes the worker of a chain of so many steps that writes its checkpoints to the store."""
    plugin = AgentFrameworkPlugin(
        workflows=[lambda: build(steps)],
        checkpoint_store=checkpoint_store,
        default_activity_options=ACTIVITY_OPTIONS,
    )
    return Worker(client, task_queue=task_queue, plugins=[plugin])
