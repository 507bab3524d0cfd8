"""Subclasses of `WorkflowExecutor` do on Temporal what they do in-process; large sub-workflows stay within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from agent_framework import Workflow
from temporalio.client import Client, WorkflowHistory
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import DurableRun
from tests.support.differential import assert_same
from tests.support.faulty import FaultyStore
from tests.support.histories import attempts
from tests.support.running import serving
from tests.support.wrappers import calls_thrice, catches, counts, counts_by_hooks, long, wide

TWICE = ActivityConfig(retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=2))


@pytest.mark.parametrize("build", [catches, counts, counts_by_hooks, calls_thrice])
async def test_a_subclass_does_the_same_on_temporal_as_in_process(
    client: Client, build: Callable[[], Workflow]
) -> None:
    await assert_same(client, build, 1)


async def test_an_error_that_the_executor_around_catches_is_retried_where_it_was_raised(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, catches, default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.get_outputs() == ["caught ValueError: cannot do 3"]
    assert attempts(history) == {
        "catches:seed": 1,
        "catches/start": 1,
        "catches/wraps": 2,
        "catches/wraps/add": 1,
        "catches/wraps/fail": 2,
    }


# --- bounds -------------------------------------------------------------------------------------------------


def size_of(history: WorkflowHistory) -> int:
    return sum(event.ByteSize() for event in history.events)


async def history_of(run: DurableRun) -> WorkflowHistory:
    await asyncio.wait_for(run.result(), 60)
    return await run.handle.fetch_history()


async def test_a_wide_sub_workflow_that_fills_shared_state_ends(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, wide(20, 3900, nested=True)) as durable:
        history = await history_of(await durable.start(0))

    assert size_of(history) < 8 * 1024 * 1024


async def test_the_history_of_a_long_sub_workflow_grows_with_what_changes(client: Client, task_queue: str) -> None:
    sizes: dict[tuple[bool, int], int] = {}
    for nested in (False, True):
        for steps in (40, 80):
            queue = f"{task_queue}-{nested}-{steps}"
            async with serving(client, queue, long(steps, 2000, nested=nested)) as durable:
                sizes[nested, steps] = size_of(await history_of(await durable.start(0)))

    assert sizes[True, 80] < 2.5 * sizes[True, 40]
    assert sizes[True, 80] < 3 * sizes[False, 80]


async def test_a_wide_run_waits_for_a_store_that_is_away_where_history_would_not_hold_it(
    client: Client, task_queue: str
) -> None:
    store = FaultyStore()
    async with serving(client, task_queue, wide(20, 3900, nested=False), store=store) as durable:
        run = await durable.start(0)
        await run.status()  # the worker has looked whether the store can be used
        store.away = True
        asyncio.get_running_loop().call_later(4, lambda: setattr(store, "away", False))
        history = await history_of(run)

    assert size_of(history) < 8 * 1024 * 1024
