"""Graphs whose executors a test holds back, fails or counts. The test keeps the script; no module holds state.

Executors close over the script instead of keeping it: workers build graphs again and again, and put attributes back.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from agent_framework import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    executor,
    handler,
    response_handler,
)

from .graphs import Add, Question, Report


class Script:
    """What a test lets steps do, and what it saw them do.

    Attributes:
        calls: How often each step was entered.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._entered: dict[str, asyncio.Event] = {}
        self._gates: dict[str, asyncio.Event] = {}

    def hold(self, step: str) -> None:
        """Make a step wait until it is released."""
        self._gates[step] = asyncio.Event()

    def release(self, step: str) -> None:
        """Let a held step go on."""
        self._gates[step].set()

    async def entered(self, step: str) -> None:
        """Await until a step was entered."""
        await asyncio.wait_for(self._event(step).wait(), 90)

    async def enter(self, step: str) -> int:
        """Called by a step: count, wait while held; return which call this is, from 1."""
        self.calls[step] += 1
        call = self.calls[step]
        self._event(step).set()
        if step in self._gates:
            await self._gates[step].wait()
        return call

    def _event(self, step: str) -> asyncio.Event:
        return self._entered.setdefault(step, asyncio.Event())


def step(script: Script, id: str) -> Executor:
    """Return an executor that enters its step and passes its message on."""

    @executor(id=id)
    async def passes_on(value: int, ctx: WorkflowContext[int, int]) -> None:
        await script.enter(id)
        ctx.set_state(id, value)
        await ctx.send_message(value)
        await ctx.yield_output(value)

    return passes_on


def flaky(script: Script, id: str, failures: int, error: Callable[[], Exception]) -> Executor:
    """Return an executor that fails so many times, each after it did all that an attempt can leave traces of."""

    @executor(id=id)
    async def fails_first(value: int, ctx: WorkflowContext[int, str]) -> None:
        call = await script.enter(id)
        if call <= failures:
            ctx.set_state("left by", call)
            await ctx.send_message(1000 + call)
            await ctx.yield_output(f"attempt {call}")
            await ctx.add_event(WorkflowEvent.warning(f"attempt {call}"))
            raise error()
        ctx.set_state("calls", call)
        await ctx.send_message(value)

    return fails_first


def asker(script: Script, id: str, amounts: tuple[float, ...] = (0.5,), response: type = bool) -> Executor:
    """Return an executor that asks a question for each amount; the steps are `<id>` and `<id> answered`."""

    class Asker(Executor):
        @handler
        async def ask(self, value: int, ctx: WorkflowContext[str]) -> None:
            await script.enter(id)
            for amount in amounts:
                await ctx.request_info(Question(text=f"{id} {value}", amount=amount), response)

        @response_handler
        async def answered(self, question: Question, answer: bool, ctx: WorkflowContext[str]) -> None:
            await script.enter(f"{id} answered")
            await ctx.send_message(f"{question.amount}: {answer}")

    return Asker(id=id)


def failing(error: Callable[[], Exception | None], sends: Any = None) -> Callable[[], Workflow]:
    """Return a factory of the graph `failing`: its executor `fails` raises what is made, or else sends something."""

    def build() -> Workflow:
        @executor(id="fails")
        async def fails(value: int, ctx: WorkflowContext[Any, Any]) -> None:
            raised = error()
            if raised is not None:
                raise raised
            await ctx.send_message(sends)

        return WorkflowBuilder(name="failing", start_executor=fails).build()

    return build


def asking(script: Script, *amounts: float) -> Callable[[], Workflow]:
    """Return a factory of the graph `asking`: `ask` asks, `last` reports each answer."""

    def build() -> Workflow:
        ask = asker(script, "ask", amounts or (0.5,))
        return WorkflowBuilder(name="asking", start_executor=ask).add_edge(ask, Report("last")).build()

    return build


def asking_beside_work(script: Script) -> Callable[[], Workflow]:
    """Return a factory of a graph that asks in one branch and works, at the step `work`, in the other."""

    def build() -> Workflow:
        start, ask, work = Add("start"), asker(script, "ask"), step(script, "work")
        builder = WorkflowBuilder(name="asking-beside-work", start_executor=start)
        return builder.add_fan_out_edges(start, [ask, work]).add_edge(ask, Report("last")).build()

    return build


def flaky_between(script: Script, failures: int, error: Callable[[], Exception]) -> Callable[[], Workflow]:
    """Return a factory of a graph whose executor `flaky` fails beside a `steady` sibling; `join` gets both."""

    def build() -> Workflow:
        start, steady, unsteady = Add("start"), step(script, "steady"), flaky(script, "flaky", failures, error)
        builder = WorkflowBuilder(name="flaky-between", start_executor=start).add_fan_out_edges(
            start, [steady, unsteady]
        )
        return builder.add_fan_in_edges([steady, unsteady], Report("join")).build()

    return build


def steps(script: Script, *ids: str) -> Callable[[], Workflow]:
    """Return a factory of the graph `steps`: a chain of steps that pass their message on."""

    def build() -> Workflow:
        chained = [step(script, id) for id in ids]
        return (
            WorkflowBuilder(name="steps", start_executor=chained[0], output_from=[chained[-1]])
            .add_chain(chained)
            .build()
        )

    return build
