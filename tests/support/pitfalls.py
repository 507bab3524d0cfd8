"""Graphs for what hosts of MAF workflows get wrong, where `graphs` and `nested` have none. All are deterministic."""

from __future__ import annotations

from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, executor, handler

from .graphs import Add, Report


class Notes(Executor):
    """Adds its id to a list and to a dict that all executors share."""

    @handler
    async def note(self, value: int, ctx: WorkflowContext[int]) -> None:
        ctx.set_state("list", [*ctx.get_state("list", []), self.id])
        notes = ctx.get_state("dict", {})
        notes.setdefault("by", {})[self.id] = value
        ctx.set_state("dict", notes)
        await ctx.send_message(value)


def siblings_add_to_shared_state() -> Workflow:
    """Three of one superstep add to a list and a dict, twice; a fourth says what there is."""

    @executor(id="tells")
    async def tells(values: list[int], ctx: WorkflowContext[int, Any]) -> None:
        await ctx.yield_output([ctx.get_state("list"), ctx.get_state("dict")])

    start, again = Notes("start"), [Notes(f"again {place}") for place in range(3)]
    first = [Notes(f"first {place}") for place in range(3)]
    builder = WorkflowBuilder(name="siblings-add", start_executor=start).add_fan_out_edges(start, first)
    for one, other in zip(first, again, strict=True):
        builder.add_edge(one, other)
    return builder.add_fan_in_edges(again, tells).build()


def one_after_another() -> Workflow:
    """An executor gets four messages in one superstep, and says if it is ever entered while it is at work."""
    entered: list[int] = []

    @executor(id="sends")
    async def sends(value: int, ctx: WorkflowContext[int]) -> None:
        for number in range(4):
            await ctx.send_message(value + number)

    @executor(id="works")
    async def works(value: int, ctx: WorkflowContext[int, Any]) -> None:
        ctx.set_state("order", [*ctx.get_state("order", []), value])
        entered.append(value)
        await ctx.yield_output([value, ctx.get_state("order"), len(entered)])
        entered.pop()

    return WorkflowBuilder(name="one-after-another", start_executor=sends).add_edge(sends, works).build()


def counts_its_predicates() -> Workflow:
    """Each condition says how often it was asked, by what it lets through: the first time only."""
    asked: dict[Any, int] = {}

    def first_time(value: Any) -> bool:
        asked[value] = asked.get(value, 0) + 1
        return asked[value] == 1

    start, last = Add("start"), Report("last")
    return WorkflowBuilder(name="predicates", start_executor=start).add_edge(start, last, condition=first_time).build()


def unlisted_target() -> Workflow:
    """A message is addressed to an executor that no edge leads to, another to one whose condition says no."""

    @executor(id="addresses")
    async def addresses(value: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(value, target_id="far")
        await ctx.send_message(value, target_id="closed")
        await ctx.send_message(value, target_id="near")

    near, far, closed = Report("near"), Report("far"), Report("closed")
    builder = WorkflowBuilder(name="unlisted-target", start_executor=addresses).add_edge(addresses, near)
    return builder.add_edge(addresses, closed, condition=lambda _: False).add_edge(near, far).build()
