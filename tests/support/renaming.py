"""One graph under two sets of executor ids: what a release that renames executors has before and after. Deterministic.

Its runs have at one time or another all that a checkpoint can hold of an executor: state by hooks, changed attributes,
a message in flight, a place in a fan-in's buffer, a pending request, and the same in a sub-workflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_framework import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowContext,
    WorkflowExecutor,
    handler,
    response_handler,
)

from temporal_adapter.migration import renamed

from .graphs import Question

OUTER = {
    "start": "begin",
    "left": "port",
    "longer": "port-side",
    "right": "starboard",
    "join": "meet",
    "approve": "consent",
    "wrap": "around",
    "end": "last",
}
INNER = {"weigh": "scale", "sign": "seal"}
SAME: dict[str, str] = {}


class Keeps(Executor):
    """Counts its calls, in a state of its own, and passes a larger number on."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.calls: list[int] = []

    @handler
    async def keep(self, value: int, ctx: WorkflowContext[int]) -> None:
        self.calls.append(value)
        await ctx.send_message(value + len(self.calls))

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"calls": self.calls}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.calls = list(state["calls"])


class Counts(Executor):
    """The same in an attribute that nobody saves."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.seen = 0

    @handler
    async def count(self, value: int, ctx: WorkflowContext[int]) -> None:
        self.seen += 1
        await ctx.send_message(value + self.seen)


class Gather(Executor):
    """Adds up what comes together."""

    @handler
    async def gather(self, values: list[int], ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(sum(values))


class Asks(Executor):
    """Asks twice, one after the other, and passes on how often it was answered, with what it was asked about."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.answers: list[bool] = []

    @handler
    async def ask(self, value: int, ctx: WorkflowContext[int, int]) -> None:
        await ctx.request_info(Question(text="Will it do?", amount=value), bool)

    @response_handler
    async def answered(self, question: Question, answer: bool, ctx: WorkflowContext[int, int]) -> None:
        self.answers.append(answer)
        if len(self.answers) == 1:
            await ctx.request_info(Question(text="Really?", amount=question.amount), bool)
            return
        await ctx.send_message(int(question.amount) + len(self.answers))
        await ctx.yield_output(int(question.amount) + len(self.answers))

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"answers": self.answers}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.answers = list(state["answers"])


class Ends(Executor):
    """Yields what reaches it."""

    @handler
    async def end(self, value: int, ctx: WorkflowContext[int, int]) -> None:
        await ctx.yield_output(value)


def before() -> Workflow:
    """The graph of the release before."""
    return built(SAME, SAME)


def after() -> Workflow:
    """The graph of the next release: all executors have other ids."""
    return built(OUTER, INNER)


def migrate(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
    """Carry a checkpoint from the one to the other."""
    renamed(checkpoint, OUTER)
    return renamed(checkpoint, INNER, within=["around"])


def built(outer: Mapping[str, str], inner: Mapping[str, str]) -> Workflow:
    """Build the graph under these ids."""
    start, right, end = Keeps(_id("start", outer)), Keeps(_id("right", outer)), Ends(_id("end", outer))
    left, longer = Counts(_id("left", outer)), Counts(_id("longer", outer))
    join, approve = Gather(_id("join", outer)), Asks(_id("approve", outer))
    wrap = WorkflowExecutor(_child(inner), id=_id("wrap", outer), propagate_request=True)
    builder = WorkflowBuilder(name="renaming", start_executor=start, output_from=[end])
    builder.add_fan_out_edges(start, [left, right]).add_edge(left, longer).add_fan_in_edges([longer, right], join)
    return builder.add_chain([join, approve, wrap, end]).build()


def _child(names: Mapping[str, str]) -> Workflow:
    weigh, sign = Keeps(_id("weigh", names)), Asks(_id("sign", names))
    return WorkflowBuilder(name="weighing", start_executor=weigh).add_edge(weigh, sign).build()


def _id(id: str, names: Mapping[str, str]) -> str:
    return names.get(id, id)
