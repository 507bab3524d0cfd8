"""The executors of generated workflows: they do what their node says. No graph is built here."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from agent_framework import (
    Executor,
    SubWorkflowRequestMessage,
    WorkflowContext,
    WorkflowEvent,
    handler,
    response_handler,
)

from .spec import Action, Ask, Fail, Kind, Node, Peek, Remember, Send, Show, Write, Yield, fuel_of


@dataclass
class Token:
    """A message of a type of the user's own."""

    fuel: int
    by: str


def value(kind: Kind, fuel: int, by: str) -> Any:
    """Return a value of a kind, with fuel if the kind has some."""
    made = {
        "token": Token(fuel, by),
        "number": fuel,
        "text": f"{by}:{fuel}",
        "mapping": {"fuel": fuel, "by": [by, None]},
        "none": None,
        "empty text": "",
        "zero": 0,
        "false": False,
        "empty list": [],
    }
    return made[kind]


def response_to(request: WorkflowEvent[Any], fuel: int) -> Any:
    """Return a response of the type that a request asks for."""
    if request.response_type is bool:
        return fuel % 2 == 0
    kinds: dict[Any, Kind] = {int: "number", str: "text", Token: "token"}
    return value(kinds[request.response_type], fuel, "answer")


class Actor(Executor):
    """Does what a node says.

    Args:
        node: What to do.
        shares: Among how many its fuel is divided with each message it sends.
        inner: Whether it is in a sub-workflow, so that its outputs are messages too.
    """

    def __init__(self, node: Node, shares: int, inner: bool) -> None:
        super().__init__(id=node.id)
        self._node = lambda: node  # a function is no state: it neither travels nor is it copied
        self._shares = shares
        self._sending = (Send, Ask, Yield, Peek) if inner else (Send, Ask)
        self.memory: dict[str, Any] = {"count": 0, "seen": [], "asked": 0}

    async def act(self, message: Any, ctx: WorkflowContext[Any, Any]) -> None:
        node = self._node()
        if node.intercepts and isinstance(message, SubWorkflowRequestMessage):
            response = message.create_response(response_to(message.source_event, 4))
            await ctx.send_message(response, target_id=message.executor_id)
            return
        fuel = fuel_of(message)
        await self._perform(node.odd if fuel % 2 and node.odd else node.does, message, fuel, ctx)

    async def act_on_response(self, response: Any, ctx: WorkflowContext[Any, Any]) -> None:
        await self._perform(self._node().answered, response, fuel_of(response), ctx)

    async def _perform(
        self, actions: tuple[Action, ...], message: Any, fuel: int, ctx: WorkflowContext[Any, Any]
    ) -> None:
        sent = sum(getattr(action, "times", 1) for action in actions if isinstance(action, self._sending))
        less = (fuel - 1) // max(1, sent * self._shares)
        for action in actions:
            if fuel <= 0 and isinstance(action, self._sending):
                continue  # else a loop through a sub-workflow would double what it yields at each turn
            await self._do(action, message, fuel, less, ctx)

    async def _do(self, action: Action, message: Any, fuel: int, less: int, ctx: WorkflowContext[Any, Any]) -> None:
        match action:
            case Send():
                for _ in range(action.times if fuel > 0 else 0):
                    await ctx.send_message(value(action.kind, less, self.id), target_id=action.to)
            case Yield("remembered"):
                await ctx.yield_output(copy.deepcopy(self.memory))
            case Yield(kind):
                fuel = less if Yield in self._sending else fuel
                await ctx.yield_output(value(kind, fuel, self.id))  # type: ignore[arg-type]
            case Write():
                self._write(action, fuel, ctx)
            case Peek(of):
                await ctx.yield_output({"peeked": ctx.get_state(of, "nothing")})
            case Remember():
                self.memory["count"] += 1
                self.memory["seen"].append(message)
            case Show(kind):
                await ctx.add_event(WorkflowEvent("data", value(kind, fuel, self.id), executor_id=self.id))
            case Ask():
                await self._ask(action, fuel, less, ctx)
            case Fail():
                raise ValueError(f"{self.id} cannot take {fuel}")

    def _write(self, action: Write, fuel: int, ctx: WorkflowContext[Any, Any]) -> None:
        found = ctx.get_state(self.id)
        match action.how:
            case "set":
                ctx.set_state(self.id, value(action.kind, fuel, self.id))
            case "count":
                ctx.set_state(self.id, found + 1 if type(found) is int else 1)
            case "nest":
                nested = found if isinstance(found, dict) and "list" in found else {"list": [[]]}
                nested["list"][0].append(value(action.kind, fuel, self.id))
                ctx.set_state(self.id, nested)
            case "delete":
                if ctx.state.has(self.id):
                    ctx.state.delete(self.id)

    async def _ask(self, action: Ask, fuel: int, less: int, ctx: WorkflowContext[Any, Any]) -> None:
        types: dict[str, type] = {"number": int, "text": str, "yes": bool, "token": Token}
        for _ in range(action.times if fuel > 0 else 0):
            self.memory["asked"] += 1
            name = f"{self.id}.{self.memory['asked']}"
            await ctx.request_info(
                value(action.kind, less, name), types[action.answer], request_id=name if action.named else None
            )

    @response_handler
    async def about_text(
        self, request: str, response: int | str | bool | Token, ctx: WorkflowContext[Any, Any]
    ) -> None:
        await self.act_on_response(response, ctx)

    @response_handler
    async def about_mapping(
        self, request: dict[str, Any], response: int | str | bool | Token, ctx: WorkflowContext[Any, Any]
    ) -> None:
        await self.act_on_response(response, ctx)

    @response_handler
    async def about_token(
        self, request: Token, response: int | str | bool | Token, ctx: WorkflowContext[Any, Any]
    ) -> None:
        await self.act_on_response(response, ctx)


class TakesAny(Actor):
    @handler
    async def any(self, message: object, ctx: WorkflowContext[Any, Any]) -> None:
        await self.act(message, ctx)


class TakesNumbers(Actor):
    @handler
    async def one(self, message: int, ctx: WorkflowContext[Any, Any]) -> None:
        await self.act(message, ctx)

    @handler
    async def many(self, message: list[int], ctx: WorkflowContext[Any, Any]) -> None:
        await self.act(message, ctx)


class TakesTexts(Actor):
    @handler
    async def one(self, message: str, ctx: WorkflowContext[Any, Any]) -> None:
        await self.act(message, ctx)

    @handler
    async def many(self, message: list[str], ctx: WorkflowContext[Any, Any]) -> None:
        await self.act(message, ctx)


class TakesTokens(Actor):
    @handler
    async def one(self, message: Token, ctx: WorkflowContext[Any, Any]) -> None:
        await self.act(message, ctx)

    @handler
    async def many(self, message: list[Token], ctx: WorkflowContext[Any, Any]) -> None:
        await self.act(message, ctx)


class _Hooks(Executor):
    """What is remembered travels by MAF's checkpoint hooks."""

    memory: dict[str, Any]

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"memory": self.memory}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.memory = state["memory"]


class TakesAnyWithHooks(_Hooks, TakesAny): ...


class TakesNumbersWithHooks(_Hooks, TakesNumbers): ...


class TakesTextsWithHooks(_Hooks, TakesTexts): ...


class TakesTokensWithHooks(_Hooks, TakesTokens): ...


CLASSES: dict[tuple[str, bool], type[Actor]] = {
    ("any", False): TakesAny,
    ("numbers", False): TakesNumbers,
    ("texts", False): TakesTexts,
    ("tokens", False): TakesTokens,
    ("any", True): TakesAnyWithHooks,
    ("numbers", True): TakesNumbersWithHooks,
    ("texts", True): TakesTextsWithHooks,
    ("tokens", True): TakesTokensWithHooks,
}
