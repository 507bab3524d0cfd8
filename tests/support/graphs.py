"""Small graphs, each for one thing that MAF's runner does. All are deterministic.

`GRAPHS` has what the differential and the resuming tests need: how to build each, what to give it, how to answer it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_framework import (
    Case,
    Default,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    executor,
    handler,
    response_handler,
)
from pydantic import BaseModel


@dataclass
class Order:
    """A message of a user's own type; its dict has an order that must be kept."""

    name: str
    lines: dict[str, int]


class Question(BaseModel):
    """A request."""

    text: str
    amount: float = 0.5


class Add(Executor):
    """Adds a number, keeps what it saw in the shared state, and passes the sum on."""

    def __init__(self, id: str, number: int = 1) -> None:
        super().__init__(id=id)
        self._number = number

    @handler
    async def add(self, value: int, ctx: WorkflowContext[int]) -> None:
        ctx.set_state(self.id, value)
        await ctx.send_message(value + self._number)


class Report(Executor):
    """Yields what reaches it."""

    @handler
    async def report(self, value: int | str | list[int] | list[str] | Order, ctx: WorkflowContext[int, Any]) -> None:
        await ctx.yield_output((self.id, value))


# --- edges --------------------------------------------------------------------------------------------------


def chain() -> Workflow:
    """One after another."""
    first, second, last = Add("first"), Add("second", 10), Report("last")
    return WorkflowBuilder(name="chain", start_executor=first).add_chain([first, second, last]).build()


def fan_out_fan_in() -> Workflow:
    """Two branches, one list."""
    start, left, right, join = Add("start"), Add("left", 10), Add("right", 20), Report("join")
    builder = WorkflowBuilder(name="fan out and in", start_executor=start)
    return builder.add_fan_out_edges(start, [left, right]).add_fan_in_edges([left, right], join).build()


def uneven_fan_in() -> Workflow:
    """The left branch is a step longer: the fan-in's buffer outlives a superstep."""
    start, left, longer, right, join = Add("start"), Add("left"), Add("longer"), Add("right"), Report("join")
    builder = WorkflowBuilder(name="uneven-fan-in", start_executor=start)
    builder.add_fan_out_edges(start, [left, right]).add_edge(left, longer)
    return builder.add_fan_in_edges([longer, right], join).build()


async def _is_even(value: Any) -> bool:
    return value % 2 == 0


def async_condition() -> Workflow:
    """One edge of two is taken, as an async condition says."""
    start, even, odd = Add("start"), Report("even"), Report("odd")
    builder = WorkflowBuilder(name="async-condition", start_executor=start)
    builder.add_edge(start, even, condition=_is_even)
    return builder.add_edge(start, odd, condition=lambda value: value % 2 == 1).build()


def switch_case() -> Workflow:
    """The first case that holds gets the message."""
    start, small, large, other = Add("start"), Report("small"), Report("large"), Report("other")
    cases = [
        Case(condition=lambda value: value < 10, target=small),
        Case(condition=lambda value: value > 100, target=large),
        Default(target=other),
    ]
    builder = WorkflowBuilder(name="switch-case", start_executor=start)
    return builder.add_switch_case_edge_group(start, cases).build()


def multi_selection() -> Workflow:
    """The selection function names a target twice, and leaves one out."""
    start, a, b, c = Add("start"), Report("a"), Report("b"), Report("c")
    builder = WorkflowBuilder(name="multi-selection", start_executor=start)
    return builder.add_multi_selection_edge_group(
        start, [a, b, c], lambda _value, ids: [ids[2], ids[0], ids[2]]
    ).build()


def loop() -> Workflow:
    """Goes round until the number is large enough."""
    step, turn, last = Add("step"), Add("turn", 0), Report("last")
    builder = WorkflowBuilder(name="loop", start_executor=step).add_edge(step, turn)
    builder.add_edge(turn, step, condition=lambda value: value < 4)
    return builder.add_edge(turn, last, condition=lambda value: value >= 4).build()


def endless_loop() -> Workflow:
    """Goes round for ever, and may do so five times."""
    ping, pong = Add("ping"), Add("pong")
    builder = WorkflowBuilder(name="endless-loop", start_executor=ping, max_iterations=5)
    return builder.add_edge(ping, pong).add_edge(pong, ping).build()


class SendTo(Executor):
    """Addresses each message to one of its targets."""

    @handler
    async def send(self, value: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(value, target_id="b")
        await ctx.send_message(value + 1, target_id="a")
        await ctx.send_message(value + 2)


def target_id() -> Workflow:
    """Some messages are for one target of a fan-out, one is for all."""
    start, a, b = SendTo(id="start"), Report("a"), Report("b")
    return WorkflowBuilder(name="target-id", start_executor=start).add_fan_out_edges(start, [a, b]).build()


# --- messages -----------------------------------------------------------------------------------------------


class Burst(Executor):
    """Sends several messages at once."""

    @handler
    async def burst(self, count: int, ctx: WorkflowContext[int]) -> None:
        for value in range(count):
            await ctx.send_message(value)


class Sum(Executor):
    """Adds up what it is given in shared state and in an attribute; knows no checkpoint hook."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.total = 0
        self.seen: list[int] = []

    @handler
    async def sum(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
        self.total += value
        self.seen.append(value)
        ctx.set_state("total", ctx.get_state("total", 0) + value)
        await ctx.yield_output({"total": self.total, "seen": list(self.seen), "shared": ctx.get_state("total")})
        await ctx.send_message(value)


def several_messages() -> Workflow:
    """One executor handles several messages in one superstep, each seeing what the one before left."""
    start, total, last = Burst(id="start"), Sum("total"), Report("last")
    builder = WorkflowBuilder(name="several-messages", start_executor=start)
    return builder.add_edge(start, total).add_edge(total, last).build()


def hookless_attributes() -> Workflow:
    """An executor without checkpoint hooks changes its attributes, superstep after superstep."""
    total, turn = Sum("total"), Add("turn", 1)
    builder = WorkflowBuilder(name="hookless-attributes", start_executor=total).add_edge(total, turn)
    return builder.add_edge(turn, total, condition=lambda value: value < 4).build()


class Falsy(Executor):
    """Sends what is false in Python."""

    @handler
    async def send(self, value: str | int, ctx: WorkflowContext[Any]) -> None:
        for message in (None, "", 0, False, 0.0, [], {}, value):
            await ctx.send_message(message)


class ReportAny(Executor):
    """Yields what reaches it, and keeps the last of it."""

    @handler
    async def report(self, value: object, ctx: WorkflowContext[Any, Any]) -> None:
        ctx.set_state("last", value)
        await ctx.yield_output(value)


def falsy_messages() -> Workflow:
    """None, "", 0, False and others are messages, outputs and state like any other."""
    start, last = Falsy(id="start"), ReportAny(id="last")
    return WorkflowBuilder(name="falsy-messages", start_executor=start).add_edge(start, last).build()


class Reorder(Executor):
    """Adds a line in front."""

    @handler
    async def reorder(self, order: Order, ctx: WorkflowContext[Order]) -> None:
        ctx.set_state("lines", {"zero": 0, **order.lines})
        await ctx.send_message(Order(order.name, {"zero": 0, **order.lines}))


def typed_messages() -> Workflow:
    """A dataclass travels, and the order of its dict is kept."""
    start, last = Reorder(id="start"), Report("last")
    return WorkflowBuilder(name="typed-messages", start_executor=start).add_edge(start, last).build()


# --- state --------------------------------------------------------------------------------------------------


class Write(Executor):
    """Writes keys of the shared state: one of its own, and one that its sibling writes too."""

    @handler
    async def write(self, value: int, ctx: WorkflowContext[int]) -> None:
        ctx.set_state("last writer", self.id)
        ctx.set_state(f"by {self.id}", {"value": value, "nested": [value, None, True]})
        await ctx.send_message(value)


class Read(Executor):
    """Yields the shared state, and deletes a key."""

    @handler
    async def read(self, values: list[int], ctx: WorkflowContext[int, Any]) -> None:
        await ctx.yield_output([ctx.get_state("last writer"), ctx.get_state("by left"), ctx.get_state("by right")])
        ctx.state.delete("by left")
        ctx.set_state("values", tuple(values))


def two_writers() -> Workflow:
    """Two siblings write one key of the shared state."""
    start, left, right, join = Add("start"), Write(id="left"), Write(id="right"), Read(id="join")
    builder = WorkflowBuilder(name="two-writers", start_executor=start)
    return builder.add_fan_out_edges(start, [left, right]).add_fan_in_edges([left, right], join).build()


class Count(Executor):
    """Has a state of its own, by MAF's checkpoint hooks."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._counts: dict[str, int] = {}

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"counts": self._counts}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self._counts = state["counts"]

    @handler
    async def count(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
        self._counts["calls"] = self._counts.get("calls", 0) + 1
        self._counts[f"of {value}"] = self._counts.get(f"of {value}", 0) + 1
        await ctx.yield_output(dict(self._counts))
        await ctx.send_message(value + 1)


def hooks_state() -> Workflow:
    """An executor carries its state by hooks through a loop."""
    count, turn = Count("count"), Add("turn", 0)
    builder = WorkflowBuilder(name="hooks-state", start_executor=count).add_edge(count, turn)
    return builder.add_edge(turn, count, condition=lambda value: value < 3).build()


# --- events and outputs -------------------------------------------------------------------------------------


def designations() -> Workflow:
    """One executor's yields are outputs, another's intermediate, a third's hidden."""
    first, second, third = Sum("first"), Sum("second"), Sum("third")
    builder = WorkflowBuilder(
        name="designations", start_executor=first, output_from=[third], intermediate_output_from=[first]
    )
    return builder.add_chain([first, second, third]).build()


@executor(id="eventful")
async def _eventful(value: int, ctx: WorkflowContext[int, str]) -> None:
    await ctx.add_event(WorkflowEvent.warning("careful"))
    await ctx.add_event(WorkflowEvent.error(ValueError("odd", 3)))
    await ctx.add_event(WorkflowEvent("data", {"progress": 0.5, "of": ["a", None]}, executor_id="eventful"))
    await ctx.add_event(WorkflowEvent.executor_invoked("forged"))
    await ctx.yield_output("done")


def custom_events() -> Workflow:
    """Events of the user's own, and one that MAF turns into a warning."""
    return WorkflowBuilder(name="custom-events", start_executor=_eventful).build()


# --- people -------------------------------------------------------------------------------------------------


class Ask(Executor):
    """Asks, and passes the answer on."""

    @handler
    async def ask(self, value: int, ctx: WorkflowContext[int]) -> None:
        ctx.set_state(f"{self.id} asked", value)
        await ctx.request_info(Question(text=f"{self.id}: {value}?"), bool)

    @response_handler
    async def answered(self, question: Question, ok: bool, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(f"{question.text} {ok}")


def ask_once() -> Workflow:
    """One request."""
    ask, last = Ask(id="ask"), Report("last")
    return WorkflowBuilder(name="ask-once", start_executor=ask).add_edge(ask, last).build()


def ask_twice() -> Workflow:
    """Two requests at once, and a fan-in of the answers."""
    start, left, right, join = Add("start"), Ask(id="left"), Ask(id="right"), Report("join")
    builder = WorkflowBuilder(name="ask-twice", start_executor=start)
    return builder.add_fan_out_edges(start, [left, right]).add_fan_in_edges([left, right], join).build()


def answer_all(requests: Sequence[WorkflowEvent[Any]]) -> Mapping[str, Any]:
    """Say yes to everything."""
    return {request.request_id: True for request in sorted(requests, key=_asked_by)}


def answer_last(requests: Sequence[WorkflowEvent[Any]]) -> Mapping[str, Any]:
    """Say no to one request at a time, the last executor's first."""
    return {max(requests, key=_asked_by).request_id: False}


def _asked_by(request: WorkflowEvent[Any]) -> str:
    return request.source_executor_id


@dataclass(frozen=True)
class Graph:
    """A graph and how to run it."""

    build: Callable[[], Workflow]
    message: Any
    answers: Callable[[Sequence[WorkflowEvent[Any]]], Mapping[str, Any]] | None = None


GRAPHS = {
    "chain": Graph(chain, 1),
    "fan-out and fan-in": Graph(fan_out_fan_in, 1),
    "fan-in that waits a superstep": Graph(uneven_fan_in, 1),
    "async condition, true": Graph(async_condition, 1),
    "async condition, false": Graph(async_condition, 2),
    "switch-case, first case": Graph(switch_case, 1),
    "switch-case, default": Graph(switch_case, 50),
    "multi-selection with a duplicate": Graph(multi_selection, 1),
    "loop": Graph(loop, 0),
    "loop without end": Graph(endless_loop, 0),
    "target_id": Graph(target_id, 1),
    "several messages to one executor": Graph(several_messages, 4),
    "attributes of an executor without hooks": Graph(hookless_attributes, 1),
    "falsy messages, after text": Graph(falsy_messages, ""),
    "falsy messages, after a number": Graph(falsy_messages, 0),
    "typed message": Graph(typed_messages, Order("a", {"b": 1, "a": 2})),
    "shared state with two writers": Graph(two_writers, 1),
    "executor state by hooks": Graph(hooks_state, 0),
    "output designations": Graph(designations, 1),
    "custom events": Graph(custom_events, 1),
    "request": Graph(ask_once, 1, answer_all),
    "request, not answered": Graph(ask_once, 1),
    "two requests, answered together": Graph(ask_twice, 1, answer_all),
    "two requests, answered one by one": Graph(ask_twice, 1, answer_last),
}
