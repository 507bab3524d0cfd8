"""A run that waits, instead of failing, until an operator has its failed executors run again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import DurableRun, RetryRefused
from tests.support.nested import NESTED
from tests.support.running import failure_of, serving, until
from tests.support.scripted import Script, flaky_between, steps

TWICE = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=20),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=2),
)


class Outage(Exception):
    """What the world does to an executor."""


async def failed(run: DurableRun) -> list[str]:
    """Await executors that wait for an operator, all checkpoints mirrored; return their paths."""

    async def waiting() -> list[str]:
        status = await run.status()
        return [] if status.unmirrored_checkpoints else [one.executor for one in status.failed_executors]

    found: list[str] = await until(waiting)
    return found


async def test_a_retried_executor_goes_on_and_its_finished_siblings_are_not_run_again(
    client: Client, task_queue: str
) -> None:
    script = Script()
    build = flaky_between(script, 3, lambda: Outage("the bank is away"))
    async with serving(client, task_queue, build, default_activity_options=TWICE) as durable:
        run = await durable.start(1, on_failure="wait")
        assert await failed(run) == ["flaky"]
        status = await run.status()

        assert await run.retry() == ["flaky"]
        result = await run.result()

    assert [(one.error_type, one.message) for one in status.failed_executors] == [("Outage", "the bank is away")]
    assert status.state.value == "IN_PROGRESS"
    assert result.get_outputs() == [2, ("join", [2, 2])]
    assert script.calls["steady"] == 1
    assert script.calls["flaky"] == 4


async def test_the_failure_shows_in_the_events_and_no_executor_failed_event_does(
    client: Client, task_queue: str
) -> None:
    build = flaky_between(Script(), 2, lambda: Outage("the bank is away"))
    async with serving(client, task_queue, build, default_activity_options=TWICE, on_failure="wait") as durable:
        run = await durable.start(1)
        await failed(run)
        await run.retry("flaky")
        await run.result()
        events = [event async for event in run.events()]

    (warning,) = [event.data for event in events if event.type == "warning"]
    assert "'flaky' failed" in warning
    assert "`retry`" in warning
    assert not [event for event in events if event.type in ("executor_failed", "failed")]


async def test_an_executor_that_fails_again_waits_again(client: Client, task_queue: str) -> None:
    script = Script()
    build = flaky_between(script, 5, lambda: Outage("still away"))
    async with serving(client, task_queue, build, default_activity_options=TWICE, on_failure="wait") as durable:
        run = await durable.start(1)
        for _ in range(2):
            await failed(run)
            await run.retry()
        result = await run.result()

    assert script.calls["flaky"] == 6
    assert result.get_outputs() == [2, ("join", [2, 2])]


async def test_an_executor_inside_a_sub_workflow_waits_by_its_path(client: Client, task_queue: str) -> None:
    async with serving(
        client, task_queue, NESTED["fails"].build, default_activity_options=TWICE, on_failure="wait"
    ) as durable:
        run = await durable.start(1)
        assert await failed(run) == ["wraps/fail"]
        await run.handle.cancel()


@pytest.mark.parametrize("names", [(), ("nobody",), ("first", "nobody"), (7,)], ids=str)
async def test_a_retry_of_what_did_not_fail_is_refused_and_says_what_did(
    client: Client, task_queue: str, names: tuple[Any, ...]
) -> None:
    script = Script()
    script.hold("first")
    async with serving(client, task_queue, steps(script, "first", "second")) as durable:
        run = await durable.start(1, on_failure="wait")
        await script.entered("first")
        with pytest.raises(RetryRefused, match="none does"):
            await run.retry(*names)
        await run.handle.signal("retry", args=list(names))
        script.release("first")
        await run.result()
        events = [event async for event in run.events()]

    assert ["A retry signal was refused" in event.data for event in events if event.type == "warning"] == [True]


async def test_a_retry_by_signal_and_a_replay(client: Client, task_queue: str) -> None:
    build = flaky_between(Script(), 2, lambda: Outage("away"))
    async with serving(
        client, task_queue, build, default_activity_options=TWICE, on_failure="wait", max_cached_workflows=0
    ) as durable:
        run = await durable.start(1)
        await failed(run)
        await run.handle.signal("retry", "flaky")
        result = await run.result()

    assert result.get_outputs() == [2, ("join", [2, 2])]


async def test_a_run_can_be_told_to_fail_where_workers_let_runs_wait(client: Client, task_queue: str) -> None:
    build = flaky_between(Script(), 9, lambda: Outage("away"))
    async with serving(client, task_queue, build, default_activity_options=TWICE, on_failure="wait") as durable:
        run = await durable.start(1, on_failure="fail")
        failure = await failure_of(run)

    assert failure.type == "Outage"
