"""A graph whose executors say whether they run on the workflow's input, on two levels that use the same ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    WorkflowExecutor,
    handler,
    response_handler,
)

from temporal_adapter import is_initial_input

from .graphs import Question

INPUT = 1


class Looks(Executor):
    """Says for what it is given whether that is the input, asks about the input, and passes everything on."""

    def __init__(self, id: str, level: str) -> None:
        super().__init__(id=id)
        self._level = level

    @handler
    async def look(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
        initial = is_initial_input(ctx)
        await ctx.yield_output((self._level, self.id, "message", value, initial))
        if initial:
            await ctx.request_info(Question(text=self._level), bool)
        await ctx.send_message(value)

    @response_handler
    async def answered(self, question: Question, answer: bool, ctx: WorkflowContext[int, Any]) -> None:
        await ctx.yield_output((self._level, self.id, "response", ctx.source_executor_ids, is_initial_input(ctx)))


class Back(Executor):
    """Sends a number back, larger by one, until it is three."""

    @handler
    async def back(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
        if value < INPUT + 2:
            await ctx.send_message(value + 1)


def level(name: str) -> tuple[WorkflowBuilder, Executor]:
    """Return a builder of a loop whose start executor `start` is a target of edges too, and that executor."""
    start, back = Looks("start", name), Back("back")
    builder = WorkflowBuilder(name=f"looks-{name}", start_executor=start)
    return builder.add_edge(start, back).add_edge(back, start), start


def looking() -> Workflow:
    """A loop, and the same loop again in a sub-workflow behind its start executor."""
    builder, start = level("outer")
    inner = WorkflowExecutor(level("inner")[0].build(), id="wraps", propagate_request=True, allow_direct_output=True)
    return builder.add_edge(start, inner, condition=lambda value: value == INPUT).build()


def answers(requests: Sequence[WorkflowEvent[Any]]) -> Mapping[str, Any]:
    """Answer yes to everything."""
    return {request.request_id: True for request in requests}


EXPECTED = [
    said
    for name in ("inner", "outer")
    for said in (
        (name, "start", "message", INPUT, True),
        (name, "start", "message", INPUT + 1, False),
        (name, "start", "message", INPUT + 2, False),
        (name, "start", "response", ["internal:start"], False),
    )
]
"""The outputs of `looking`, sorted by their text."""
