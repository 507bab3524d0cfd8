"""Two releases of one graph, and a session's: what a deployment test brings out one after the other."""

from __future__ import annotations

from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler

from .graphs import Question


class Ask(Executor):
    """Asks, and says what it was answered."""

    @handler
    async def ask(self, name: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.request_info(Question(text=name), bool)

    @response_handler
    async def answered(self, question: Question, yes: bool, ctx: WorkflowContext[str, str]) -> None:
        await ctx.send_message(f"{question.text}: {yes}")


class Sign(Executor):
    """Yields what it is given, signed."""

    def __init__(self, id: str, release: str) -> None:
        super().__init__(id=id)
        self.release = release

    @handler
    async def sign(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.yield_output(f"{text}, by release {self.release}")


def _letter(release: str, *more: Executor) -> Workflow:
    steps = [Ask(id="ask"), *more, Sign("sign", release)]
    return WorkflowBuilder(name="letter", start_executor=steps[0]).add_chain(steps).build()


def first() -> Workflow:
    """The first release."""
    return _letter("1")


def edited() -> Workflow:
    """Does something else in a handler; the graph is that of the first release."""
    return _letter("1 edited")


class Polish(Executor):
    """Passes on."""

    @handler
    async def polish(self, text: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(text.upper())


def second() -> Workflow:
    """Has one executor more."""
    return _letter("2", Polish(id="polish"))


class Ledger(Executor):
    """Adds up what it is given, and asks before it takes more than 100."""

    def __init__(self, release: str) -> None:
        super().__init__(id="ledger")
        self.release = release
        self.total = 0

    @handler
    async def add(self, amount: int, ctx: WorkflowContext[None, Any]) -> None:
        if amount > 100:
            await ctx.request_info(Question(text="so much?", amount=amount), bool)
        else:
            await self._take(amount, ctx)

    @response_handler
    async def decided(self, question: Question, yes: bool, ctx: WorkflowContext[None, Any]) -> None:
        await self._take(int(question.amount) if yes else 0, ctx)

    async def _take(self, amount: int, ctx: WorkflowContext[None, Any]) -> None:
        self.total += amount
        await ctx.yield_output((self.total, self.release))


def books(release: str) -> Workflow:
    """A session's graph, the same in each release."""
    return WorkflowBuilder(name="books", start_executor=Ledger(release)).build()


def first_books() -> Workflow:
    return books("1")


def second_books() -> Workflow:
    return books("2")
