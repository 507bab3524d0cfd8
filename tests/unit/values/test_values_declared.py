"""What a workflow declares."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Generic, Literal, TypeVar

import pydantic
from agent_framework import (
    Executor,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    executor,
    handler,
    response_handler,
)

from temporal_adapter.values import Codec, declared_types, type_name
from tests.unit.values.samples import Box, Line, through_json

ItemT = TypeVar("ItemT")


class Tree(pydantic.BaseModel, Generic[ItemT]):
    item: ItemT
    children: list[Tree[ItemT]] = []


class Sort(enum.Enum):
    A = "a"


@dataclasses.dataclass
class Inner:
    sort: Sort


@dataclasses.dataclass
class Outer:
    inners: list[Inner]
    lines: dict[str, Line | None]


class Question(pydantic.BaseModel):
    text: str


class Answer(pydantic.BaseModel):
    box: Box[Inner]


class Result(pydantic.BaseModel):
    ok: bool


class Asks(Executor):
    @handler
    async def start(self, message: Outer, ctx: WorkflowContext[str | Literal[Sort.A], Result]) -> None:
        await ctx.request_info(Question(text="?"), Answer)

    @response_handler
    async def answered(self, request: Question, response: Answer, ctx: WorkflowContext[str, Result]) -> None: ...


@executor(id="end")
async def end(message: str, ctx: WorkflowContext[Any, str]) -> None: ...


def names(*classes: type) -> set[str]:
    return {type_name(cls) for cls in classes}


def test_handler_types_and_all_they_lead_to_are_declared() -> None:
    asks = Asks(id="asks")
    workflow = WorkflowBuilder(start_executor=asks).add_edge(asks, end).build()

    found = declared_types(workflow)

    assert set(found) >= names(Outer, Inner, Sort, Line, Question, Answer, Box, Result)
    assert not set(found) & {"str", "list", "dict", "object"}


def test_a_graph_within_a_graph_is_looked_into() -> None:
    asks = Asks(id="asks")
    child = WorkflowBuilder(start_executor=asks).add_edge(asks, end).build()

    @executor(id="wrap")
    async def wrap(message: str, ctx: WorkflowContext[Outer]) -> None: ...

    nested = WorkflowExecutor(child, id="child")
    parent = WorkflowBuilder(start_executor=wrap).add_edge(wrap, nested).build()

    assert set(declared_types(parent)) >= names(Question, Answer)


def test_a_parametrized_model_used_as_a_message_is_declared_with_its_arguments() -> None:
    @executor(id="root")
    async def root(message: pydantic.RootModel[list[Inner]], ctx: WorkflowContext[Any]) -> None: ...

    codec = Codec(declared_types(WorkflowBuilder(start_executor=root).build()))
    message = pydantic.RootModel[list[Inner]]([Inner(Sort.A)])

    restored = through_json(codec, message)

    assert (restored, type(restored)) == (message, type(message))


def test_a_model_that_contains_its_own_kind_is_declared() -> None:
    @executor(id="tree")
    async def grow(message: Tree[Inner], ctx: WorkflowContext[Any]) -> None: ...

    codec = Codec(declared_types(WorkflowBuilder(start_executor=grow).build()))
    tree = Tree[Inner](item=Inner(Sort.A), children=[Tree[Inner](item=Inner(Sort.A))])

    assert through_json(codec, tree) == tree


def test_local_classes_that_functions_close_over_are_declared() -> None:
    @dataclasses.dataclass
    class Memo:
        text: str

    class Local(Executor):
        @handler
        async def start(self, message: str, ctx: WorkflowContext[Any]) -> None:
            ctx.set_state("memo", Memo(message))

    @executor(id="fn")
    async def fn(message: str, ctx: WorkflowContext[Any]) -> None:
        Memo(message)

    for start in (Local(id="local"), fn):
        codec = Codec(declared_types(WorkflowBuilder(start_executor=start).build()))

        assert through_json(codec, Memo("a")) == Memo("a")
