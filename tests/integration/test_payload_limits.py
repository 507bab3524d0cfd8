"""What history must hold stays within Temporal's limits, however much is sent, shown or answered at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from temporalio.client import Client

from temporal_adapter import DurableRun
from temporal_adapter.engine import responses
from tests.support.graphs import Add
from tests.support.running import serving, until
from tests.support.scripted import Script, step

TEXT, QUESTIONS = "x" * 4000, 20


class Repeats(Executor):
    """Sends or yields one text again and again."""

    def __init__(self, times: int, text: str, *, yields: bool) -> None:
        super().__init__(id="repeats")
        self.times, self.text, self.yields = times, text, yields

    @handler
    async def handle(self, message: int, ctx: WorkflowContext[str, str]) -> None:
        for _ in range(self.times):
            await (ctx.yield_output(self.text) if self.yields else ctx.send_message(self.text))


class AsksMany(Executor):
    """Asks many questions, and yields each answer."""

    @handler
    async def handle(self, message: int, ctx: WorkflowContext) -> None:
        for number in range(QUESTIONS):
            await ctx.request_info(number, str)

    @response_handler
    async def answered(self, question: int, answer: str, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(answer)


class Counts(Executor):
    """Counts what it was sent, and says nothing of it."""

    @handler
    async def handle(self, message: str, ctx: WorkflowContext) -> None:
        assert message == TEXT


def repeating(times: int, text: str, *, yields: bool) -> Callable[[], Workflow]:
    def build() -> Workflow:
        repeats = Repeats(times, text, yields=yields)
        builder = WorkflowBuilder(name="repeating", start_executor=repeats)
        return builder.build() if yields else builder.add_edge(repeats, Counts(id="counts")).build()

    return build


async def largest_input(run: DurableRun) -> int:
    """Return the bytes of the largest input of an activity."""
    history = await run.handle.fetch_history()
    return max(
        event.activity_task_scheduled_event_attributes.input.ByteSize()
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    )


async def test_a_value_that_is_sent_many_times_does_not_fill_a_payload(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, repeating(100, TEXT, yields=False)) as durable:
        run = await durable.start(1)
        await run.result()
        assert await largest_input(run) < 100 * 1024


async def test_a_value_that_is_shown_many_times_can_be_read(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, repeating(300, 3 * TEXT, yields=True)) as durable:
        run = await durable.start(1)
        result = await run.result()
    assert result.get_outputs() == [3 * TEXT] * 300


async def test_responses_that_wait_for_a_superstep_to_end_go_into_one_payload_however_many(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "_INLINE_BUDGET", 10_000)
    script = Script()
    script.hold("work")
    async with serving(client, task_queue, asking_beside_work(script)) as durable:
        run = await durable.start(1)
        await script.entered("work")
        requests: list[Any] = await until(lambda: all_of(run))
        for request in requests:
            await run.respond(request.request_id, TEXT)
        script.release("work")
        result = await run.result()
        largest = await largest_input(run)

    assert result.get_outputs().count(TEXT) == QUESTIONS
    assert largest < 40_000


async def all_of(run: DurableRun) -> list[Any]:
    requests = await run.pending_requests()
    return requests if len(requests) == QUESTIONS else []


def asking_beside_work(script: Script) -> Callable[[], Workflow]:
    def build() -> Workflow:
        start, ask, work = Add("start"), AsksMany(id="ask"), step(script, "work")
        builder = WorkflowBuilder(name="asking-many", start_executor=start)
        return builder.add_fan_out_edges(start, [ask, work]).build()

    return build
