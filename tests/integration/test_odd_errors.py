"""Whatever an executor raises is an error of that executor, and a client is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, executor
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ApplicationError,
    CancelledError,
    TerminatedError,
    WorkflowAlreadyStartedError,
)
from temporalio.workflow import ActivityConfig

from tests.support.histories import attempts
from tests.support.running import failure_of, serving

TWICE = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=20),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=2),
)


class InSlots(Exception):
    """What it says is in a slot."""

    __slots__ = ("code",)

    def __init__(self, code: int) -> None:
        super().__init__("code")
        self.code = code

    def __str__(self) -> str:
        return f"code {self.code}"


class Elsewhere(Exception):
    """Of a module that ends the process that imports it."""


Elsewhere.__module__ = "tests.support.exits_on_import"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raising(make: Callable[[], BaseException]) -> Callable[[], Workflow]:
    """Return a factory of a graph whose executor raises what is made."""

    def build() -> Workflow:
        @executor(id="raises")
        async def raises(value: int, ctx: WorkflowContext[int]) -> None:
            raise make()

        return WorkflowBuilder(name="raising", start_executor=raises).build()

    return build


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


async def _cancelled_elsewhere() -> None:
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task


# --- the client says what happened --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [InSlots(7), Elsewhere("gone"), Mute()], ids=lambda error: type(error).__name__)
async def test_an_exception_that_the_client_cannot_make_faithfully_is_temporals_own(
    client: Client, task_queue: str, error: Exception
) -> None:
    async with serving(client, task_queue, raising(lambda: error), default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        with pytest.raises(WorkflowFailureError) as raised:
            await run.result()

    assert isinstance(raised.value.cause, ApplicationError)
    assert raised.value.cause.type == type(error).__name__
    assert raised.value.cause.message


async def test_details_of_an_executors_own_application_error_do_not_choose_what_the_client_raises(
    client: Client, task_queue: str
) -> None:
    details = ({"error_type": "Mine", "message": "m"}, {"cls": "builtins:ValueError", "args": ["my own"]})

    def mine() -> Exception:
        return ApplicationError("my own", *details, type="Mine")

    async with serving(client, task_queue, raising(mine), default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        with pytest.raises(WorkflowFailureError) as raised:
            await run.result()

    assert isinstance(raised.value.cause, ApplicationError)
    assert (raised.value.cause.type, raised.value.cause.message) == ("Mine", "my own")


# --- what cannot be written down as it is -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: ValueError("lone \ud800"), ("ValueError", "lone \\ud800")),
        (lambda: _caused(ValueError("outer"), ValueError("lone \ud800")), ("ValueError", "outer")),
        (lambda: _caused(ValueError("outer"), Mute()), ("ValueError", "outer")),
        (lambda: ApplicationError("lone \ud800", {"a": 1}, type="Mine"), ("Mine", "lone \\ud800")),
        (lambda: ApplicationError("mine", object(), type="Mine"), ("Mine", "mine")),
    ],
    ids=["message", "cause's message", "cause's __str__", "ApplicationError's message", "ApplicationError's details"],
)
async def test_an_error_that_temporal_cannot_write_down_keeps_its_type(
    client: Client, task_queue: str, make: Callable[[], Exception], expected: tuple[str, str]
) -> None:
    async with serving(client, task_queue, raising(make), default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        error = await failure_of(run)

    assert (error.type, error.message) == expected
    assert attempts(await run.handle.fetch_history())["raising/raises"] == 2


async def test_an_application_error_that_is_not_written_down_as_it_is_is_not_retried_when_it_says_so(
    client: Client, task_queue: str
) -> None:
    def final() -> Exception:
        return ApplicationError("\ud800", type="Mine", non_retryable=True)

    async with serving(client, task_queue, raising(final), default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        error = await failure_of(run)

    assert error.type == "Mine"
    assert attempts(await run.handle.fetch_history())["raising/raises"] == 1


# --- Temporal's own errors, and asyncio's -------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        CancelledError("enough"),
        asyncio.CancelledError("enough"),
        TerminatedError("gone"),
        WorkflowAlreadyStartedError("an-id", "a-type"),
    ],
    ids=lambda error: f"{type(error).__module__}.{type(error).__name__}",
)
async def test_an_error_of_another_workflow_or_task_is_an_ordinary_error_of_the_executor_that_raises_it(
    client: Client, task_queue: str, error: BaseException
) -> None:
    async with serving(client, task_queue, raising(lambda: error), default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        with pytest.raises(WorkflowFailureError):  # and not Temporal's own, as if it were of this run
            await run.result()
        failure = await failure_of(run)
        events = [event async for event in run.events()]

    assert (failure.type, failure.message) == (type(error).__name__, str(error))
    assert attempts(await run.handle.fetch_history())["raising/raises"] == 2
    details: Any = events[-2].details
    assert (details.error_type, details.executor_id) == (type(error).__name__, None)
    assert [(event.type, event.executor_id) for event in events[-3:-1]] == [
        ("executor_failed", "raises"),
        ("failed", None),
    ]


async def test_awaiting_a_task_that_was_cancelled_is_an_ordinary_error_too(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="raises")
        async def raises(value: int, ctx: WorkflowContext[int]) -> None:
            await _cancelled_elsewhere()

        return WorkflowBuilder(name="raising", start_executor=raises).build()

    async with serving(client, task_queue, build, default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        failure = await failure_of(run)

    assert failure.type == "CancelledError"
    assert attempts(await run.handle.fetch_history())["raising/raises"] == 2
