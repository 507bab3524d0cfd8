"""The engine against MAF's own runner: the same graph gives the same events, states and checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import (
    Case,
    Default,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
)
from agent_framework.observability import OBSERVABILITY_SETTINGS
from hypothesis import given, settings
from hypothesis import strategies as st

from .inprocess import Responses, by_engine, by_maf


class Step(Executor):
    """Sends its input on with its own id; writes a key of shared state; yields at the end of the road."""

    def __init__(self, id: str, ends: bool = False, times: int = 1) -> None:
        super().__init__(id=id)
        self.ends, self.times = ends, times

    @handler
    async def one(self, message: str, ctx: WorkflowContext[str, str]) -> None:
        ctx.set_state(f"seen-by-{self.id}", message)
        ctx.set_state("last", self.id) if self.id in "abc" else None
        if self.ends:
            await ctx.yield_output(f"{message}>{self.id}")
            return
        for number in range(self.times):
            await ctx.send_message(f"{message}>{self.id}{number or ''}")

    @handler
    async def many(self, messages: list[str], ctx: WorkflowContext[str, str]) -> None:
        await self.one("+".join(messages), ctx)


class Count(Executor):
    @handler
    async def count(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        ctx.set_state("n", ctx.get_state("n", 0) + 1)
        if ctx.get_state("n") == 3:
            ctx.state.delete("n")
            ctx.set_state("reset", True)
        await (ctx.send_message(message - 1) if message else ctx.yield_output(message))


class Approve(Executor):
    @handler
    async def ask(self, message: str, ctx: WorkflowContext[str, str]) -> None:
        for number in (1, 2):
            await ctx.request_info(f"{message}?", str, request_id=f"{self.id}-{number}")

    @response_handler
    async def answered(self, request: str, response: str, ctx: WorkflowContext[str, str]) -> None:
        ctx.set_state(response, request)
        await ctx.send_message(f"{request}{response}")


class Break(Executor):
    @handler
    async def fail(self, message: str, ctx: WorkflowContext[str, str]) -> None:
        ctx.set_state("broken", True)
        raise ValueError(f"cannot take {message}")


def chain() -> Workflow:
    return WorkflowBuilder(start_executor=(a := Step("a"))).add_chain([a, Step("b"), Step("c", ends=True)]).build()


def fan() -> Workflow:
    a, b, c, end = Step("a"), Step("b"), Step("c"), Step("end", ends=True)
    return WorkflowBuilder(start_executor=a).add_fan_out_edges(a, [b, c]).add_fan_in_edges([b, c], end).build()


def uneven_fan() -> Workflow:
    """One source sends more than the other: the fan-in fires, and keeps the rest."""
    a, b, c, end = Step("a", times=2), Step("b", times=2), Step("c"), Step("end", ends=True)
    builder = WorkflowBuilder(start_executor=a).add_fan_out_edges(a, [c, b])
    return builder.add_fan_in_edges([b, c], end).build()


def switch() -> Workflow:
    a, b, c = Step("a", times=3), Step("b", ends=True), Step("c", ends=True)
    cases = [Case(condition=lambda message: message.endswith("1"), target=b), Default(target=c)]
    return WorkflowBuilder(start_executor=a).add_switch_case_edge_group(a, cases).build()


def multi_selection() -> Workflow:
    a, b, c = Step("a", times=3), Step("b", ends=True), Step("c", ends=True)

    def select(message: str, targets: list[str]) -> list[str]:
        return targets + targets[:1] if message.endswith("1") else targets[1:]

    return WorkflowBuilder(start_executor=a).add_multi_selection_edge_group(a, [b, c], select).build()


def loop(max_iterations: int = 100) -> Workflow:
    a, b = Count(id="a"), Count(id="b")
    builder = WorkflowBuilder(start_executor=a, max_iterations=max_iterations)
    return builder.add_edge(a, b).add_edge(b, a, condition=lambda left: left > 0).build()


def approvals() -> Workflow:
    a, ask, end = Step("a"), Approve(id="ask"), Step("end", ends=True)
    return WorkflowBuilder(start_executor=a).add_chain([a, ask, end]).build()


def failing() -> Workflow:
    return WorkflowBuilder(start_executor=(a := Step("a"))).add_chain([a, Break(id="b"), Step("c")]).build()


def failing_condition() -> Workflow:
    a, b = Step("a"), Step("b", ends=True)
    return WorkflowBuilder(start_executor=a).add_edge(a, b, condition=lambda message: 1 / 0).build()


def dead_end() -> Workflow:
    """The only message goes nowhere."""
    a, b = Step("a"), Step("b", ends=True)
    return WorkflowBuilder(start_executor=a).add_edge(a, b, condition=lambda message: False).build()


ONE, OTHER = {"ask-1": "yes"}, {"ask-2": "no"}
CASES: dict[str, tuple[Callable[[], Workflow], Any, Responses]] = {
    "chain": (chain, "in", ()),
    "fan-out and fan-in": (fan, "in", ()),
    "uneven fan-in": (uneven_fan, "in", ()),
    "switch-case": (switch, "in", ()),
    "multi-selection": (multi_selection, "in", ()),
    "loop that writes and deletes state": (loop, 7, ()),
    "loop without end": (lambda: loop(max_iterations=3), 100, ()),
    "pause": (approvals, "in", ()),
    "pause, all answered at once": (approvals, "in", ({**ONE, **OTHER},)),
    "pause, answered one after another": (approvals, "in", (OTHER, ONE)),
    "failing executor": (failing, "in", ()),
    "failing condition": (failing_condition, "in", ()),
    "dead end": (dead_end, "in", ()),
}


@pytest.mark.parametrize("case", CASES)
async def test_engine_and_maf_show_and_checkpoint_the_same(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without it MAF hides what an error says; the engine's own errors have nothing to hide.
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_sensitive_data", True)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_instrumentation", True)
    build, message, responses = CASES[case]

    expected = await by_maf(build(), message, responses)
    actual = await by_engine(build(), message, responses)

    assert actual.error == expected.error
    warnings = [event for event in actual.events if event[0] == "warning"]
    assert len(warnings) == (1 if case == "uneven fan-in" else 0)  # ours alone: MAF says nothing of it
    actual.events = [event for event in actual.events if event not in warnings]
    assert actual.supersteps() == expected.supersteps()
    assert actual.checkpoints == expected.checkpoints


class Source(Executor):
    """Sends, at each tick, as many messages as its plan says."""

    def __init__(self, id: str, plan: list[int]) -> None:
        super().__init__(id=id)
        self.plan = plan

    @handler
    async def tick(self, tick: int, ctx: WorkflowContext[str]) -> None:
        for number in range(self.plan[tick]):
            await ctx.send_message(f"{self.id}{tick}.{number}")


class Clock(Executor):
    @handler
    async def tick(self, tick: int, ctx: WorkflowContext[int]) -> None:
        if tick > 0:
            await ctx.send_message(tick - 1)


class Collect(Executor):
    @handler
    async def collect(self, batch: list[str], ctx: WorkflowContext[str, list[str]]) -> None:
        await ctx.yield_output(batch)


def ticking(plans: list[list[int]], shapes: list[list[int]]) -> Workflow:
    tick, tock = Clock(id="tick"), Clock(id="tock")
    sources = [Source(f"s{number}", plan) for number, plan in enumerate(plans)]
    builder = WorkflowBuilder(start_executor=tick, max_iterations=50)
    builder.add_fan_out_edges(tick, [tock, *sources]).add_edge(tock, tick)
    for number, shape in enumerate(shapes):
        builder.add_fan_in_edges([sources[one] for one in shape], Collect(id=f"in{number}"))
    return builder.build()


plans = st.lists(st.lists(st.integers(0, 3), min_size=8, max_size=8), min_size=3, max_size=3)
shapes = st.lists(st.permutations([0, 1, 2]).flatmap(lambda order: st.sampled_from([order, order[:2]])), max_size=3)


@given(plans=plans, shapes=shapes.filter(bool))
@settings(max_examples=40, deadline=None)
def test_fan_ins_fire_and_keep_the_rest_as_in_maf(plans: list[list[int]], shapes: list[list[int]]) -> None:
    async def both() -> None:
        expected = await by_maf(ticking(plans, shapes), 8)
        actual = await by_engine(ticking(plans, shapes), 8)
        actual.events = [event for event in actual.events if event[0] != "warning"]
        assert actual.supersteps() == expected.supersteps()
        assert [one.buffers for one in actual.checkpoints] == [one.buffers for one in expected.checkpoints]
        assert [one.messages for one in actual.checkpoints] == [one.messages for one in expected.checkpoints]

    asyncio.run(both())
