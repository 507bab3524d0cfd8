"""Graphs with sub-workflows, each for one thing that MAF's `WorkflowExecutor` does. All are deterministic.

`NESTED` has what the differential and restart tests need: how to build each, what to give it, how to answer it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Executor,
    SubWorkflowRequestMessage,
    SubWorkflowResponseMessage,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    WorkflowExecutor,
    handler,
    response_handler,
)

from .graphs import Add, Graph, Question, Report


class Tally(Executor):
    """Counts its calls in an attribute and in shared state, and yields both with what it got."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.calls = 0

    @handler
    async def tally(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
        self.calls += 1
        ctx.set_state("calls", [*ctx.get_state("calls", []), value])
        await ctx.send_message(value * 10)
        await ctx.yield_output([self.id, self.calls, ctx.get_state("calls")])


class Ask(Executor):
    """Asks whether a number will do; passes it on if so."""

    @handler
    async def ask(self, value: int, ctx: WorkflowContext[int, str]) -> None:
        await ctx.request_info(Question(text=f"{self.id}: is {value} right?", amount=value), bool)

    @response_handler
    async def answered(self, question: Question, answer: bool, ctx: WorkflowContext[int, str]) -> None:
        await ctx.yield_output(f"{question.text} {answer} ({ctx.request_id is not None})")
        if answer:
            await ctx.send_message(int(question.amount))


class Intercept(Executor):
    """Answers a sub-workflow's question itself when it is about less than ten, else asks a person."""

    @handler
    async def take(
        self, request: SubWorkflowRequestMessage, ctx: WorkflowContext[SubWorkflowResponseMessage, Any]
    ) -> None:
        question = request.source_event.data
        if question.amount < 10:
            await ctx.send_message(request.create_response(True), target_id=request.executor_id)
            return
        ctx.set_state("intercepted", request)
        await ctx.request_info(question, bool)

    @response_handler
    async def answered(
        self, question: Question, answer: bool, ctx: WorkflowContext[SubWorkflowResponseMessage, Any]
    ) -> None:
        request = ctx.get_state("intercepted")
        await ctx.send_message(request.create_response(answer), target_id=request.executor_id)


class Repeat(Executor):
    """Sends a number several times."""

    def __init__(self, id: str, times: int) -> None:
        super().__init__(id=id)
        self._times = times

    @handler
    async def repeat(self, value: int, ctx: WorkflowContext[int]) -> None:
        for number in range(self._times):
            await ctx.send_message(value + number)


class Say(Executor):
    """Yields the texts and lists that reach it."""

    @handler
    async def say(self, value: str | list[Any] | int, ctx: WorkflowContext[Any, Any]) -> None:
        await ctx.yield_output((self.id, value))


class Fail(Executor):
    """Raises."""

    @handler
    async def fail(self, value: int, ctx: WorkflowContext[int]) -> None:
        raise ValueError(f"cannot do {value}")


class Kwargs(Executor):
    """Yields the run kwargs it sees."""

    @handler
    async def see(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
        seen = {key: ctx.get_state(key) for key in sorted(ctx.state.export_state()) if key.startswith("_")}
        await ctx.yield_output([self.id, seen.get("_resolved_workflow_run_kwargs")])
        await ctx.send_message(value)


def child(name: str = "child", *, intermediate: bool = False) -> Workflow:
    """Return a chain of three: add, tally, report."""
    add, tally, report = Add("add"), Tally("tally"), Say("report")
    chosen = {"output_from": [report], "intermediate_output_from": [tally]} if intermediate else {}
    return WorkflowBuilder(name=name, start_executor=add, **chosen).add_chain([add, tally, report]).build()


def asking_child(name: str = "asker") -> Workflow:
    """Return a chain that asks in its middle."""
    add, ask, report = Add("add"), Ask("ask"), Say("report")
    return WorkflowBuilder(name=name, start_executor=add).add_chain([add, ask, report]).build()


def messages() -> Workflow:
    """Outputs of the child become messages to the executor behind it."""
    start, wraps, last = Add("start"), WorkflowExecutor(child(), id="wraps"), Say("last")
    return WorkflowBuilder(name="nested-messages", start_executor=start).add_chain([start, wraps, last]).build()


def direct() -> Workflow:
    """Outputs of the child are outputs of the parent; its intermediate outputs come with the wrapper's name."""
    start = Add("start")
    wraps = WorkflowExecutor(child(intermediate=True), id="wraps", allow_direct_output=True)
    return WorkflowBuilder(name="nested-direct", start_executor=start).add_edge(start, wraps).build()


def keeps_state() -> Workflow:
    """The child gets three inputs in one superstep, and keeps its state between them."""
    start = Repeat("start", 3)
    wraps = WorkflowExecutor(child(), id="wraps", allow_direct_output=True)
    return WorkflowBuilder(name="nested-state", start_executor=start).add_edge(start, wraps).build()


def propagates() -> Workflow:
    """A request of the child is one of the parent, with the same id."""
    start, last = Add("start"), Say("last")
    wraps = WorkflowExecutor(asking_child("asker"), id="wraps", propagate_request=True)
    return WorkflowBuilder(name="nested-propagates", start_executor=start).add_chain([start, wraps, last]).build()


def intercepts() -> Workflow:
    """The parent's executor answers the child's first question, and asks a person about the second."""
    start, wraps = Repeat("start", 2), WorkflowExecutor(asking_child("asker"), id="wraps")
    intercept, last = Intercept("intercept"), Say("last")
    builder = WorkflowBuilder(name="nested-intercepts", start_executor=start)
    builder = builder.add_edge(start, wraps).add_edge(wraps, intercept).add_edge(intercept, wraps)
    return builder.add_edge(wraps, last).build()


def three_levels() -> Workflow:
    """A child in a child asks; the request reaches the outside under its bare id."""
    inner = WorkflowExecutor(asking_child("innermost"), id="inner", propagate_request=True)
    first, tally = Add("first"), Tally("tally")
    middle = WorkflowBuilder(name="middle", start_executor=first).add_chain([first, inner, Say("middle-last")]).build()
    wraps = WorkflowExecutor(middle, id="outer", propagate_request=True, allow_direct_output=True)
    start = Add("start")
    return WorkflowBuilder(name="nested-three", start_executor=start).add_fan_out_edges(start, [wraps, tally]).build()


def two_at_once() -> Workflow:
    """Two children pause at once while another branch of the parent goes on."""
    start, work, more = Add("start"), Add("work"), Report("more")
    left = WorkflowExecutor(asking_child("left-child"), id="left", propagate_request=True)
    right = WorkflowExecutor(asking_child("right-child"), id="right", propagate_request=True)
    builder = WorkflowBuilder(name="nested-two", start_executor=start).add_fan_out_edges(start, [left, right, work])
    return builder.add_edge(work, more).add_edge(left, Say("said")).add_edge(right, Say("told")).build()


def fails() -> Workflow:
    """An executor of the child raises."""
    add, fail = Add("add"), Fail("fail")
    inner = WorkflowBuilder(name="failing-child", start_executor=add).add_edge(add, fail).build()
    start = Add("start")
    wraps = WorkflowExecutor(inner, id="wraps")
    return WorkflowBuilder(name="nested-fails", start_executor=start).add_edge(start, wraps).build()


def does_not_converge() -> Workflow:
    """The child loops for ever."""
    one, two = Add("one"), Add("two")
    inner = WorkflowBuilder(name="looping-child", start_executor=one, max_iterations=4)
    looping = inner.add_edge(one, two).add_edge(two, one).build()
    start = Add("start")
    wraps = WorkflowExecutor(looping, id="wraps")
    return WorkflowBuilder(name="nested-loops", start_executor=start).add_edge(start, wraps).build()


def fans_in() -> Workflow:
    """The child has a fan-in that its second input fills."""
    start, left, right = Add("fan"), Add("left"), Add("right", 5)
    builder = WorkflowBuilder(name="fanning-child", start_executor=start).add_fan_out_edges(start, [left, right])
    inner = builder.add_fan_in_edges([left, right], Report("join")).build()
    first = Repeat("start", 2)
    wraps = WorkflowExecutor(inner, id="wraps", allow_direct_output=True)
    return WorkflowBuilder(name="nested-fan-in", start_executor=first).add_edge(first, wraps).build()


def sees_kwargs() -> Workflow:
    """The child yields the run kwargs that reach it."""
    inner = WorkflowBuilder(name="kwargs-child", start_executor=Kwargs("inside")).build()
    start = Kwargs("outside")
    wraps = WorkflowExecutor(inner, id="wraps", allow_direct_output=True)
    return WorkflowBuilder(name="nested-kwargs", start_executor=start).add_edge(start, wraps).build()


def yes(requests: Sequence[WorkflowEvent[Any]]) -> Mapping[str, Any]:
    return {request.request_id: True for request in requests}


def one_by_one(requests: Sequence[WorkflowEvent[Any]]) -> Mapping[str, Any]:
    """Answer one request, with no to the executor `left` and yes to the others."""
    first = min(requests, key=lambda one: one.source_executor_id)
    return {first.request_id: first.source_executor_id != "left"}


NESTED: dict[str, Graph] = {
    "messages": Graph(messages, 1),
    "direct": Graph(direct, 1),
    "keeps state": Graph(keeps_state, 1),
    "propagates": Graph(propagates, 1, yes),
    "intercepts": Graph(intercepts, 8, yes),
    "three levels": Graph(three_levels, 1, yes),
    "two at once": Graph(two_at_once, 1, one_by_one),
    "fails": Graph(fails, 1),
    "does not converge": Graph(does_not_converge, 1),
    "fans in": Graph(fans_in, 1),
    "sees kwargs": Graph(sees_kwargs, 1),
}
