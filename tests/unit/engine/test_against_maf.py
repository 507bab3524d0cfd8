"""The engine against MAF's own runner, case by case: the same graph gives the same events, states and checkpoints.

`test_generated.py` has the cases that nobody thought of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

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

from temporal_adapter.testing import Script
from temporal_adapter.testing.difference import difference_of
from temporal_adapter.testing.in_process import run_in_process

from .inprocess import run_by_engine


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
    return (
        WorkflowBuilder(name="case", start_executor=(a := Step("a")))
        .add_chain([a, Step("b"), Step("c", ends=True)])
        .build()
    )


def fan() -> Workflow:
    a, b, c, end = Step("a"), Step("b"), Step("c"), Step("end", ends=True)
    return (
        WorkflowBuilder(name="case", start_executor=a)
        .add_fan_out_edges(a, [b, c])
        .add_fan_in_edges([b, c], end)
        .build()
    )


def uneven_fan() -> Workflow:
    """One source sends more than the other: the fan-in fires, and keeps the rest."""
    a, b, c, end = Step("a", times=2), Step("b", times=2), Step("c"), Step("end", ends=True)
    builder = WorkflowBuilder(name="case", start_executor=a).add_fan_out_edges(a, [c, b])
    return builder.add_fan_in_edges([b, c], end).build()


def switch() -> Workflow:
    a, b, c = Step("a", times=3), Step("b", ends=True), Step("c", ends=True)
    cases = [Case(condition=lambda message: message.endswith("1"), target=b), Default(target=c)]
    return WorkflowBuilder(name="case", start_executor=a).add_switch_case_edge_group(a, cases).build()


def multi_selection() -> Workflow:
    a, b, c = Step("a", times=3), Step("b", ends=True), Step("c", ends=True)

    def select(message: str, targets: list[str]) -> list[str]:
        return targets + targets[:1] if message.endswith("1") else targets[1:]

    return WorkflowBuilder(name="case", start_executor=a).add_multi_selection_edge_group(a, [b, c], select).build()


def loop(max_iterations: int = 100) -> Workflow:
    a, b = Count(id="a"), Count(id="b")
    builder = WorkflowBuilder(name="case", start_executor=a, max_iterations=max_iterations)
    return builder.add_edge(a, b).add_edge(b, a, condition=lambda left: left > 0).build()


def approvals() -> Workflow:
    a, ask, end = Step("a"), Approve(id="ask"), Step("end", ends=True)
    return WorkflowBuilder(name="case", start_executor=a).add_chain([a, ask, end]).build()


def failing() -> Workflow:
    return (
        WorkflowBuilder(name="case", start_executor=(a := Step("a"))).add_chain([a, Break(id="b"), Step("c")]).build()
    )


def failing_condition() -> Workflow:
    a, b = Step("a"), Step("b", ends=True)
    return WorkflowBuilder(name="case", start_executor=a).add_edge(a, b, condition=lambda message: 1 / 0).build()


def dead_end() -> Workflow:
    """The only message goes nowhere."""
    a, b = Step("a"), Step("b", ends=True)
    return WorkflowBuilder(name="case", start_executor=a).add_edge(a, b, condition=lambda message: False).build()


def in_turn(*answered: dict[str, str]) -> Script:
    """The input, and what is answered at each pause."""
    left = list(answered)
    return Script("in", lambda _: left.pop(0) if left else {})


ONE, OTHER = {"ask-1": "yes"}, {"ask-2": "no"}
CASES: dict[str, tuple[Callable[[], Workflow], Callable[[], Script]]] = {
    "chain": (chain, in_turn),
    "fan-out and fan-in": (fan, in_turn),
    "uneven fan-in": (uneven_fan, in_turn),
    "switch-case": (switch, in_turn),
    "multi-selection": (multi_selection, in_turn),
    "loop that writes and deletes state": (loop, lambda: Script(7)),
    "loop without end": (lambda: loop(max_iterations=3), lambda: Script(100)),
    "pause": (approvals, in_turn),
    "pause, all answered at once": (approvals, lambda: in_turn({**ONE, **OTHER})),
    "pause, answered one after another": (approvals, lambda: in_turn(OTHER, ONE)),
    "failing executor": (failing, in_turn),
    "failing condition": (failing_condition, in_turn),
    "dead end": (dead_end, in_turn),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sensitive", [False, True], ids=["errors hidden", "errors shown"])
@pytest.mark.parametrize("leaving", [0.0, 1.0], ids=["stays", "leaves"])
async def test_engine_and_maf_show_and_checkpoint_the_same(
    case: str, sensitive: bool, leaving: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By default MAF hides what an error says.
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_sensitive_data", sensitive)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_instrumentation", sensitive)
    build, script = CASES[case]

    expected = await run_in_process(build, script())
    actual = await run_by_engine(build, script(), leaving=leaving)

    difference = difference_of(expected, actual)
    assert difference is None, difference
    warnings = [event for event in actual.events if event.type == "warning"]
    assert len(warnings) == (1 if case == "uneven fan-in" else 0)  # ours alone: MAF says nothing of it


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
    builder = WorkflowBuilder(name="ticking", start_executor=tick, max_iterations=50)
    builder.add_fan_out_edges(tick, [tock, *sources]).add_edge(tock, tick)
    for number, shape in enumerate(shapes):
        builder.add_fan_in_edges([sources[one] for one in shape], Collect(id=f"in{number}"))
    return builder.build()


plans = st.lists(st.lists(st.integers(0, 3), min_size=8, max_size=8), min_size=3, max_size=3)
shapes = st.lists(st.permutations([0, 1, 2]).flatmap(lambda order: st.sampled_from([order, order[:2]])), max_size=3)


@given(plans=plans, shapes=shapes.filter(bool))
@settings(max_examples=20, deadline=None)
def test_fan_ins_fire_and_keep_the_rest_as_in_maf(plans: list[list[int]], shapes: list[list[int]]) -> None:
    async def both() -> str | None:
        expected = await run_in_process(lambda: ticking(plans, shapes), Script(8))
        actual = await run_by_engine(lambda: ticking(plans, shapes), Script(8))
        return difference_of(expected, actual)

    difference = asyncio.run(both())
    assert difference is None, difference
