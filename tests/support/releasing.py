"""Graphs with executors that do something when a request of theirs is cancelled. All are deterministic."""

from __future__ import annotations

from typing import Any

from agent_framework import (
    Content,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    WorkflowExecutor,
    handler,
    response_handler,
)

from .graphs import Add, Question, Report
from .nested import Say, Tally, asking_child


class Releases(Executor):
    """Asks as often as it is told, and tells of each request that is cancelled in all the ways an executor has."""

    def __init__(self, id: str, times: int = 1) -> None:
        super().__init__(id=id)
        self._times = times
        self.released: list[str] = []
        self.answers = 0

    @handler
    async def ask(self, value: int, ctx: WorkflowContext[str, Any]) -> None:
        for number in range(self._times):
            request_id = f"{self.id}-{number}"
            await ctx.request_info(Question(text=f"{request_id}?", amount=value), bool, request_id=request_id)

    @response_handler
    async def answered(self, question: Question, yes: bool, ctx: WorkflowContext[str, Any]) -> None:
        self.answers += 1
        await ctx.send_message(f"{question.text} {yes}, after {self.released}")

    async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[str, Any]) -> None:
        self.released.append(request_id)
        ctx.set_state("released", [*ctx.get_state("released", []), f"{request_id} of {ctx.source_executor_ids}"])
        await ctx.add_event(WorkflowEvent("warning", f"{request_id} is released", executor_id=self.id))
        await ctx.yield_output(f"{self.id} released {self.released}")
        await ctx.send_message(f"{request_id} was cancelled")


class AsksAgain(Releases):
    """Asks something else in place of what is cancelled, once."""

    async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[str, Any]) -> None:
        if not request_id.startswith("again"):
            await ctx.request_info(Question(text="again?", amount=1), bool, request_id=f"again-{request_id}")


class AsksManyTimes(Releases):
    """Tells of its cancelled requests once there are no others."""

    async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[str, Any]) -> None:
        self.released.append(request_id)
        if len(self.released) == self._times:
            await ctx.send_message(f"{self._times} released")


class FailsToRelease(Releases):
    """Raises when it is told that a request is cancelled."""

    async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[str, Any]) -> None:
        raise ValueError(f"cannot release {request_id}")


class Operates(Releases):
    """Asks for computer calls, and for a word beside them."""

    @handler
    async def ask(self, value: int, ctx: WorkflowContext[str, Any]) -> None:
        for number in range(self._times):
            id = f"{self.id}-{number}"
            call = Content.from_computer_tool_call(id=id, call_id=f"call-{number}", actions=[{"type": "screenshot"}])
            await ctx.request_info(call, str, request_id=id)
        await ctx.request_info("And?", str, request_id=f"{self.id}-word")

    @response_handler
    async def said(self, question: str, word: str, ctx: WorkflowContext[str, Any]) -> None:
        await ctx.send_message(word)

    @response_handler
    async def done(self, call: Content, word: str, ctx: WorkflowContext[str, Any]) -> None:
        await ctx.send_message(word)


def releasing(*executors: Executor) -> Workflow:
    """The executors ask, each a superstep after the one before; `last` reports what they send."""
    source, last = Add("start"), Report("last")
    builder = WorkflowBuilder(name="releasing", start_executor=source)
    for one in executors:
        builder = builder.add_edge(source, one).add_edge(one, last)
        if one is not executors[-1]:
            later = Add(f"after {one.id}")
            builder, source = builder.add_edge(source, later), later
    return builder.build()


def one() -> Workflow:
    """One request."""
    return releasing(Releases("ask"))


def several() -> Workflow:
    """Three requests of one executor."""
    return releasing(Releases("ask", 3))


def two() -> Workflow:
    """Two executors with two requests each."""
    return releasing(Releases("left", 2), Releases("right", 2))


def asks_again() -> Workflow:
    """A request that is cancelled makes another."""
    return releasing(AsksAgain("ask"))


def fails_to_release() -> Workflow:
    """The executor fails when it is told."""
    return releasing(FailsToRelease("ask"))


def operates() -> Workflow:
    """Computer calls beside another request of the executor, and one of another executor."""
    return releasing(Operates("computer", 2), Releases("other"))


def runs_on() -> Workflow:
    """As few supersteps are allowed as there are before the request."""
    ask = Releases("ask")
    builder = WorkflowBuilder(name="runs-on", start_executor=Add("start"), max_iterations=2)
    return builder.add_edge(builder._start_executor, ask).add_edge(ask, Report("last")).build()  # type: ignore[arg-type]


def releasing_child(name: str, times: int = 1) -> Workflow:
    """A chain that asks in its middle, and releases what is cancelled."""
    add, ask, report = Add("add"), Releases("ask", times), Say("report")
    return WorkflowBuilder(name=name, start_executor=add).add_chain([add, ask, report]).build()


def nested(*, direct: bool = False, times: int = 1) -> Workflow:
    """A sub-workflow's requests are the parent's."""
    start, last = Add("start"), Say("last")
    inner = releasing_child("asker", times)
    wraps = WorkflowExecutor(inner, id="wraps", propagate_request=True, allow_direct_output=direct)
    return WorkflowBuilder(name="nested-releasing", start_executor=start).add_chain([start, wraps, last]).build()


def nested_directly() -> Workflow:
    """The same, with the sub-workflow's outputs as the parent's."""
    return nested(direct=True)


def nested_several() -> Workflow:
    """The sub-workflow has three requests."""
    return nested(times=3)


def nested_silently() -> Workflow:
    """The sub-workflow's executor has nothing to release."""
    start, last = Add("start"), Say("last")
    wraps = WorkflowExecutor(asking_child("asker"), id="wraps", propagate_request=True)
    return WorkflowBuilder(name="nested-silent", start_executor=start).add_chain([start, wraps, last]).build()


def three_levels() -> Workflow:
    """A child in a child asks."""
    inner = WorkflowExecutor(releasing_child("innermost", 2), id="inner", propagate_request=True)
    first = Add("first")
    middle = WorkflowBuilder(name="middle", start_executor=first).add_chain([first, inner, Say("middle-last")]).build()
    wraps = WorkflowExecutor(middle, id="outer", propagate_request=True, allow_direct_output=True)
    start, tally = Add("start"), Tally("tally")
    return (
        WorkflowBuilder(name="releasing-three", start_executor=start).add_fan_out_edges(start, [wraps, tally]).build()
    )


def operates_inside() -> Workflow:
    """Computer calls of a sub-workflow."""
    add, computer, say = Add("add"), Operates("computer", 2), Report("say")
    inner = WorkflowBuilder(name="operator", start_executor=add).add_chain([add, computer, say]).build()
    start = Add("start")
    wraps = WorkflowExecutor(inner, id="wraps", propagate_request=True, allow_direct_output=True)
    return WorkflowBuilder(name="nested-operating", start_executor=start).add_edge(start, wraps).build()


def fails_inside() -> Workflow:
    """An executor of the sub-workflow fails when it is told."""
    add, ask, say = Add("add"), FailsToRelease("ask"), Report("say")
    inner = WorkflowBuilder(name="failing-asker", start_executor=add).add_chain([add, ask, say]).build()
    start = Add("start")
    wraps = WorkflowExecutor(inner, id="wraps", propagate_request=True, allow_direct_output=True)
    return WorkflowBuilder(name="nested-failing", start_executor=start).add_edge(start, wraps).build()
