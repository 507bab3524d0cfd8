"""The chain as a Temporal developer writes it: one workflow, one activity a step, in a loop.

It uses temporalio and nothing else. Its worker has Temporal's defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

from bench.sides import ACTIVITY_OPTIONS, WORKFLOW_TYPES, step_name


@dataclass
class Input:
    """Where the chain starts, and how many steps it has."""

    number: int
    steps: int


@workflow.defn(name=WORKFLOW_TYPES["hand-written"])
class BenchChain:
    """Hands the number from step to step."""

    @workflow.run
    async def run(self, given: Input) -> int:
        number = given.number
        for position in range(given.steps):
            number = await workflow.execute_activity(step_name(position), number, result_type=int, **ACTIVITY_OPTIONS)
        return number


def worker(client: Client, task_queue: str, steps: int) -> Worker:
    """Makes the worker of a chain of so many steps."""
    activities = [_step(position) for position in range(steps)]
    return Worker(client, task_queue=task_queue, workflows=[BenchChain], activities=activities)


def _step(position: int) -> Callable[..., Any]:
    @activity.defn(name=step_name(position))
    async def add_one(number: int) -> int:
        return number + 1

    return add_one
