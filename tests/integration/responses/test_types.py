"""Responses of every type: an executor is given on Temporal what it is given in-process, or the sender a reason."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Content,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    handler,
    response_handler,
)
from pydantic import BaseModel
from temporalio.client import Client

from temporal_adapter import ResponseRefused
from tests.support.differential import assert_same
from tests.support.running import pending, serving


class Colour(enum.Enum):
    RED = "red"


class Verdict(BaseModel):
    ok: bool
    colour: Colour = Colour.RED


@dataclasses.dataclass
class Note:
    text: str
    at: datetime.date | None = None


DAY = datetime.date(2024, 1, 2)
MORNING = datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)

# What is asked for, an object that answers it, and JSON that does.
ANSWERS: list[tuple[Any, Any, Any]] = [
    (bool, True, True),
    (int, 5, 5),
    (float, 1.5, 1.5),
    (str, "123", "123"),
    (str, "true", "true"),
    (str, '{"a": 1}', '{"a": 1}'),
    (int | None, None, None),
    (int | None, 7, 7),
    (Content, Content.from_text("hi"), "hi"),
    (Content, Content.from_text("hi"), {"type": "text", "text": "hi"}),
    (Verdict, Verdict(ok=False), {"ok": False, "colour": "red"}),
    (Note, Note("x"), {"text": "x"}),
    (Note, Note("x", DAY), {"text": "x", "at": "2024-01-02"}),
    (Colour, Colour.RED, "red"),
    (list[int], [1, 2], [1, 2]),
    (list[Note], [Note("x")], [{"text": "x"}]),
    (datetime.datetime, MORNING, "2024-01-02T03:04:00Z"),
    (dict, {"a": [1]}, {"a": [1]}),
]


class Asker(Executor):
    """Asks for one thing of each type, and tells what it was given."""

    @handler
    async def ask(self, message: int, ctx: WorkflowContext) -> None:
        for number, (response_type, _, _) in enumerate(ANSWERS):
            await ctx.request_info(f"{number:02}", response_type, request_id=f"request-{number:02}")

    @response_handler
    async def content(self, asked: str, answer: Content, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(f"{asked}: content {answer.to_dict()}")

    @response_handler
    async def anything(
        self,
        asked: str,
        answer: bool
        | int
        | float
        | str
        | Verdict
        | Note
        | Colour
        | list[Any]
        | datetime.datetime
        | dict[str, Any]
        | None,
        ctx: WorkflowContext[None, str],
    ) -> None:
        await ctx.yield_output(f"{asked}: {type(answer).__name__} {answer!r}")


def build() -> Workflow:
    return WorkflowBuilder(name="types", start_executor=Asker(id="asker")).build()


def objects(requests: Sequence[WorkflowEvent[Any]]) -> Mapping[str, Any]:
    return {request.request_id: ANSWERS[int(request.data)][1] for request in requests}


async def test_an_executor_is_given_the_same_as_in_process_whether_an_object_or_json_is_sent(
    client: Client, task_queue: str
) -> None:
    expected, _ = await assert_same(client, build, 1, answers=objects)

    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        requests = await pending(run, len(ANSWERS))
        await run.handle.execute_update(
            "respond",
            [{"request_id": one.request_id, "response": ANSWERS[int(one.data)][2]} for one in requests],
        )
        outputs = (await run.result()).get_outputs()
    assert sorted(outputs) == sorted(expected.outputs)
    assert len(outputs) == len(ANSWERS)


class Partial(Executor):
    """Asks for anything, and has a handler for a bool."""

    @handler
    async def ask(self, message: int, ctx: WorkflowContext) -> None:
        await ctx.request_info(Note("sure?"), object)

    @response_handler
    async def decided(self, asked: Note, answer: bool, ctx: WorkflowContext[None, bool]) -> None:
        await ctx.yield_output(answer)


def build_partial() -> Workflow:
    return WorkflowBuilder(name="partial", start_executor=Partial(id="partial")).build()


async def test_a_response_that_no_handler_takes_is_refused_naming_both_types(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build_partial) as durable:
        run = await durable.start(1)
        [request] = await pending(run)

        with pytest.raises(ResponseRefused, match=r"no response handler for a request of type Note and .* type str"):
            await run.respond(request.request_id, "yes")

        await run.respond(request.request_id, True)
        assert (await run.result()).get_outputs() == [True]


async def test_a_request_tells_the_schema_of_what_it_waits_for_and_a_refusal_repeats_it(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        await pending(run, len(ANSWERS))
        by_type = {one.response_type: one.response_schema for one in await run.open_requests()}

        with pytest.raises(ResponseRefused, match=r'Its JSON schema: \{"type": "boolean"\}'):
            await run.respond("request-00", "yes")
        [refused] = await run.responses()
        await run.handle.terminate("seen")
    assert by_type["bool"] == {"type": "boolean"}
    assert by_type["int | None"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert by_type[f"{__name__}:Verdict"] == Verdict.model_json_schema()
    assert (refused.request_id, refused.outcome) == ("request-00", "refused")
    assert "must be bool" in str(refused.reason)
