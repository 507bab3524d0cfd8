"""A workflow that asks what it is told to ask: a request of each kind that a form is made for."""

from __future__ import annotations

from datetime import date, datetime
from enum import Enum
from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from pydantic import BaseModel, Field


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Question(BaseModel):
    """A request."""

    text: str
    details: Any = None


class Line(BaseModel):
    name: str
    amount: float
    paid: bool = False


class Address(BaseModel):
    city: str
    zip: str | None = None


class Order(BaseModel):
    """What is ordered."""

    customer: str = Field(title="Customer", description="Who pays.", min_length=1)
    count: int = Field(ge=1, le=9)
    urgent: bool
    colour: Colour = Colour.GREEN
    due: date
    at: datetime | None = None
    address: Address | None = None
    lines: list[Line] = []


TYPES: dict[str, Any] = {"bool": bool, "colour": Colour, "order": Order, "text": str, "any": dict[str, int]}


class Ask(BaseModel):
    """The input."""

    kind: str
    text: str
    details: Any = None


class Desk(Executor):
    """Asks, and yields what it was answered."""

    @handler
    async def ask(self, asked: Ask, ctx: WorkflowContext[str]) -> None:
        await ctx.request_info(Question(text=asked.text, details=asked.details), TYPES[asked.kind])

    @response_handler
    async def approved(self, question: Question, answer: bool, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(repr(answer))

    @response_handler
    async def chosen(self, question: Question, answer: Colour, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(answer.name)

    @response_handler
    async def ordered(self, question: Question, answer: Order, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(answer.model_dump_json())

    @response_handler
    async def written(self, question: Question, answer: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(answer)

    @response_handler
    async def counted(self, question: Question, answer: dict[str, int], ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(repr(answer))


class File(Executor):
    """Yields what it is sent."""

    @handler
    async def file(self, answer: str, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(answer)


def build_desk() -> Workflow:
    desk, file = Desk("desk"), File("file")
    return WorkflowBuilder(name="desk", start_executor=desk, output_from=[file]).add_edge(desk, file).build()
