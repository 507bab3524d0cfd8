"""The key by which an executor can tell a repetition from a new delivery."""

from __future__ import annotations

from datetime import timedelta

from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, WorkflowExecutor, executor
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import idempotency_key
from tests.support.graphs import Add
from tests.support.running import serving

QUICKLY = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=20),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3),
)


def noting(keys: list[str | None], failures: int = 0) -> Workflow:
    """Return a graph whose `note` gets two messages in one superstep, and fails at first."""

    @executor(id="twice")
    async def twice(value: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(value)
        await ctx.send_message(value)

    @executor(id="note")
    async def note(value: int, ctx: WorkflowContext[int, str]) -> None:
        keys.append(idempotency_key())
        if len(keys) <= failures:
            raise RuntimeError("not yet")
        await ctx.yield_output("noted")

    return WorkflowBuilder(name="noting", start_executor=twice).add_edge(twice, note).build()


async def test_every_attempt_of_a_delivery_has_one_key_and_every_delivery_another(
    client: Client, task_queue: str
) -> None:
    keys: list[str | None] = []
    async with serving(client, task_queue, lambda: noting(keys, failures=2), default_activity_options=QUICKLY) as one:
        run = await one.start(1)
        await run.result()
        first_run = list(keys)
        await (await one.start(1)).result()

    assert first_run[0] == first_run[1] == first_run[2]
    assert first_run[3] not in first_run[:3]
    assert len(set(keys)) == 4
    assert all(key is not None and key.isascii() and key.startswith(("noting-",)) for key in keys)


async def test_an_executor_in_a_sub_workflow_has_a_key_of_its_own_in_each_run_of_it(
    client: Client, task_queue: str
) -> None:
    keys: list[str | None] = []

    def build() -> Workflow:
        start = Add("start")
        inside = WorkflowExecutor(noting(keys), id="inside", allow_direct_output=True)
        return WorkflowBuilder(name="nested-noting", start_executor=start).add_edge(start, inside).build()

    async with serving(client, task_queue, build) as durable:
        await (await durable.start(1)).result()

    assert len(set(keys)) == len(keys) == 2


async def test_in_process_there_is_none() -> None:
    keys: list[str | None] = []

    await noting(keys).run(1)

    assert keys == [None, None]
