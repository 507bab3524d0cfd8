"""Graphs whose executors are subclasses of MAF's `WorkflowExecutor`, and wide and long sub-workflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, WorkflowExecutor, handler

from .graphs import Add
from .nested import Fail, Repeat, child


class Catches(WorkflowExecutor):
    """Goes on when its sub-workflow fails."""

    @handler
    async def process_workflow(self, input_data: object, ctx: WorkflowContext[Any, Any]) -> None:
        try:
            await super().process_workflow(input_data, ctx)
        except ValueError as error:
            await ctx.yield_output(f"caught {type(error).__name__}: {error}")


class Counts(WorkflowExecutor):
    """Counts its inputs in an attribute."""

    def __init__(self, workflow: Workflow, id: str) -> None:
        super().__init__(workflow, id, allow_direct_output=True)
        self.count = 0

    @handler
    async def process_workflow(self, input_data: object, ctx: WorkflowContext[Any, Any]) -> None:
        self.count += 1
        await ctx.yield_output(self.count)
        await super().process_workflow(input_data, ctx)


class CountsByHooks(Counts):
    """The same, and says itself what to keep."""

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {**await super().on_checkpoint_save(), "count": self.count}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.count = state["count"]
        await super().on_checkpoint_restore(state)


class CallsThrice(WorkflowExecutor):
    """Runs its sub-workflow three times for one input."""

    @handler
    async def process_workflow(self, input_data: object, ctx: WorkflowContext[Any, Any]) -> None:
        for number in range(3):
            result = await self.workflow.run(input_data + number)  # type: ignore[operator]
            await ctx.yield_output([number, result.get_outputs(), result.get_final_state()])


def catches() -> Workflow:
    start, add, fail = Add("start"), Add("add"), Fail("fail")
    inner = WorkflowBuilder(name="failing-child", start_executor=add).add_edge(add, fail).build()
    return WorkflowBuilder(name="catches", start_executor=start).add_edge(start, Catches(inner, id="wraps")).build()


def counts() -> Workflow:
    start, wraps = Repeat("start", 2), Counts(child(), id="wraps")
    return WorkflowBuilder(name="counts", start_executor=start).add_edge(start, wraps).build()


def counts_by_hooks() -> Workflow:
    start, wraps = Repeat("start", 2), CountsByHooks(child(), id="wraps")
    return WorkflowBuilder(name="counts-by-hooks", start_executor=start).add_edge(start, wraps).build()


def calls_thrice() -> Workflow:
    start = Add("start")
    wraps = CallsThrice(child(), id="wraps")
    return WorkflowBuilder(name="calls-thrice", start_executor=start).add_edge(start, wraps).build()


# --- large ones ---------------------------------------------------------------------------------------------


class Fills(Executor):
    """Adds a key of some size to shared state, and counts on up to a bound."""

    def __init__(self, id: str, size: int, bound: int = 0) -> None:
        super().__init__(id=id)
        self._size, self._bound = size, bound

    @handler
    async def fill(self, value: int, ctx: WorkflowContext[int, int]) -> None:
        ctx.set_state(f"{self.id} {value}", "x" * self._size)
        if self._bound and value >= self._bound:
            await ctx.yield_output(value)
        else:
            await ctx.send_message(value + 1)


class Joins(Executor):
    """Sends on the first of what it gets, up to a bound."""

    @handler
    async def join(self, values: list[int], ctx: WorkflowContext[int, int]) -> None:
        await (ctx.send_message(values[0]) if values[0] < 10 else ctx.yield_output(values[0]))


def wide(width: int, size: int, *, nested: bool) -> Callable[[], Workflow]:
    """Return a factory of a loop of fan-outs, each branch of which fills shared state."""

    def build() -> Workflow:
        start, join, branches = Add("start"), Joins("join"), [Fills(f"branch {place}", size) for place in range(width)]
        builder = WorkflowBuilder(name="wide", start_executor=start).add_fan_out_edges(start, branches)
        return _nested(builder.add_fan_in_edges(branches, join).add_edge(join, start).build(), nested)

    return build


def long(steps: int, size: int, *, nested: bool) -> Callable[[], Workflow]:
    """Return a factory of a loop of so many steps, each of which fills shared state."""

    def build() -> Workflow:
        one, two = Fills("one", size, steps), Fills("two", size, steps)
        builder = WorkflowBuilder(name="long", start_executor=one, max_iterations=steps + 1)
        return _nested(builder.add_edge(one, two).add_edge(two, one).build(), nested)

    return build


def _nested(inner: Workflow, nested: bool) -> Workflow:
    if not nested:
        return inner
    start, wraps = Add("start", 0), WorkflowExecutor(inner, id="wraps", allow_direct_output=True)
    return WorkflowBuilder(name=f"nested-{inner.name}", start_executor=start).add_edge(start, wraps).build()
