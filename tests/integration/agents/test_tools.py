"""Agents' tools: functions run inside the agent's activity; approvals and calls for the client are requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    AgentExecutor,
    Content,
    FunctionTool,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowEvent,
    tool,
)
from pydantic import BaseModel
from temporalio import activity
from temporalio.client import Client

from temporal_adapter import ResponseRefused
from tests.support import chat
from tests.support.differential import assert_same
from tests.support.histories import attempts
from tests.support.restarts import assert_survives_restarts
from tests.support.running import pending, serving

Requests = Sequence[WorkflowEvent[Any]]


class Place(BaseModel):
    """Where it may rain."""

    city: str
    days: int = 1


def weather(places: list[Place], unit: str = "mm") -> dict[str, Any]:
    """Say how much it will rain."""
    return {place.city: f"{place.days}0 {unit}" for place in places}


@tool(approval_mode="always_require")
def pay(amount: float, to: str) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


@tool(approval_mode="always_require")
def sign(document: str) -> str:
    """Sign a document."""
    return f"signed {document}"


locate = FunctionTool(
    name="locate",
    description="Ask the user's device where it is.",
    func=None,
    input_model={"type": "object", "properties": {"precise": {"type": "boolean"}}},
)


def once(*calls: tuple[str, dict[str, Any]]) -> chat.Script:
    """Return the script of a model that makes these calls, then says what came of them."""

    def says(messages: Sequence[Message]) -> chat.Answer:
        results = chat.results(messages)
        if results or not calls:
            return f"{results}, and {chat.digest(messages)}"
        return [content for name, arguments in calls for content in chat.call(messages, name, **arguments)]

    return says


def with_tools(script: chat.Script, *tools: Any) -> Callable[[], Workflow]:
    """Return a factory of a graph in which an agent with tools is followed by one without."""

    def build() -> Workflow:
        clerk = AgentExecutor(chat.agent("clerk", script, tools=list(tools)))
        auditor = AgentExecutor(chat.agent("auditor"))
        builder = WorkflowBuilder(name="office", start_executor=clerk, output_from=[clerk, auditor])
        return builder.add_edge(clerk, auditor).build()

    return build


# --- functions ----------------------------------------------------------------------------------------------


async def test_functions_are_called_within_the_agents_activity(client: Client, task_queue: str) -> None:
    seen: list[tuple[str, str]] = []

    def where() -> str:
        """Say where this runs."""
        seen.append((activity.info().activity_type, activity.info().workflow_id or ""))
        return "here"

    async with serving(client, task_queue, with_tools(once(("where", {})), where)) as durable:
        run = await durable.start("hello", id=task_queue)
        result = await run.result()

    assert seen == [("office/clerk", task_queue)]
    assert result.get_outputs()[0].text.startswith("['here']")
    assert attempts(await run.handle.fetch_history())["office/clerk"] == 1


async def test_the_conversation_with_functions_is_the_same(client: Client) -> None:
    script = once(
        ("weather", {"places": [{"city": "Oslo", "days": 3}, {"city": "Rome"}]}),
        ("weather", {"places": [], "unit": ""}),
    )

    _, run = await assert_same(client, with_tools(script, weather), "Will it rain?")

    contents = [content for message in run.outputs[0].messages for content in message.contents]
    assert [content.type for content in contents] == ["function_call"] * 2 + ["function_result"] * 2 + ["text"]
    assert contents[0].arguments == {"places": [{"city": "Oslo", "days": 3}, {"city": "Rome"}]}


async def test_a_function_that_raises_is_told_to_the_model(client: Client) -> None:
    def breaks(how: str) -> str:
        """Break."""
        raise ValueError(how)

    _, run = await assert_same(client, with_tools(once(("breaks", {"how": "badly"})), breaks), "go")

    assert "Error" in run.outputs[0].text


# --- approvals and calls for the client ---------------------------------------------------------------------


def approve(*decisions: bool) -> Callable[[Requests], Mapping[str, Content]]:
    """Return answers that decide all requests at once, in order."""

    def answers(requests: Requests) -> Mapping[str, Content]:
        return {
            request.request_id: request.data.to_function_approval_response(approved=decision)
            for request, decision in zip(requests, decisions, strict=True)
        }

    return answers


def one_at_a_time(position: int, answer: Callable[[Content], Content]) -> Callable[[Requests], Mapping[str, Content]]:
    """Return answers that give one at each pause: the first (0) or the last (-1) of those that wait."""
    return lambda requests: {requests[position].request_id: answer(requests[position].data)}


def answered(request: Content) -> Content:
    """Answer a request of either kind: approve, or do what the client is called for."""
    if request.type == "function_approval_request":
        return request.to_function_approval_response(approved=True)
    return Content.from_function_result(
        call_id=request.call_id or "", id=request.id, result={"lat": 59.9, "how": request.arguments}
    )


PAY = ("pay", {"amount": 12.5, "to": "Ada"})
SIGN = ("sign", {"document": "contract"})
LOCATE = ("locate", {"precise": True})

CASES: dict[str, tuple[Callable[[], Workflow], Callable[[Requests], Mapping[str, Content]]]] = {
    "approved": (with_tools(once(PAY), pay), approve(True)),
    "rejected": (with_tools(once(PAY), pay), approve(False)),
    "several at once": (with_tools(once(PAY, SIGN), pay, sign), approve(True, True)),
    "several at once, of two minds": (with_tools(once(PAY, SIGN), pay, sign), approve(False, True)),
    "several, one at a time": (with_tools(once(PAY, SIGN, PAY), pay, sign), one_at_a_time(0, answered)),
    "several, the last first": (with_tools(once(PAY, SIGN), pay, sign), one_at_a_time(-1, answered)),
    "done by the client": (with_tools(once(LOCATE), locate), one_at_a_time(0, answered)),
    "two done by the client": (with_tools(once(LOCATE, ("locate", {})), locate), one_at_a_time(-1, answered)),
    "beside one that needs no approval": (
        with_tools(once(PAY, ("weather", {"places": []})), pay, weather),
        one_at_a_time(0, answered),
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_people_decide(client: Client, case: str) -> None:
    build, answers = CASES[case]

    _, run = await assert_same(client, build, "go", answers=answers)

    assert run.outputs[-1].text.startswith("auditor heard"), "it went on to the end"


@pytest.mark.parametrize("case", ["approved", "several, the last first", "done by the client"])
async def test_people_decide_while_workers_come_and_go(client: Client, case: str) -> None:
    build, answers = CASES[case]

    await assert_survives_restarts(client, build, "go", answers=answers)


async def test_a_function_runs_once_and_only_when_it_was_approved(client: Client, task_queue: str) -> None:
    paid: list[float] = []

    @tool(name="pay", approval_mode="always_require")
    def really_pay(amount: float, to: str) -> str:
        """Pay somebody."""
        paid.append(amount)
        return "paid"

    async with serving(client, task_queue, with_tools(once(PAY, SIGN), really_pay, sign)) as durable:
        run = await durable.start("go")
        first, second = await pending(run, 2)
        assert paid == []
        await run.respond(second.request_id, second.data.to_function_approval_response(approved=False))
        assert paid == []
        await run.respond(first.request_id, first.data.to_function_approval_response(approved=True))
        await run.result()

    assert paid == [12.5]


async def test_a_request_shows_the_call_in_plain_json_and_is_answered_in_plain_json(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, with_tools(once(PAY, LOCATE), pay, locate)) as durable:
        run = await durable.start("go")
        await pending(run)
        requests = {one["data"]["type"]: one for one in await run.handle.query("pending_requests")}
        approval = requests["function_approval_request"]
        assert approval["data"]["function_call"]["arguments"] == {"amount": 12.5, "to": "Ada"}

        response = {
            "type": "function_approval_response",
            "id": approval["data"]["id"],
            "approved": True,
            "function_call": approval["data"]["function_call"],
        }
        await run.handle.signal("respond", {"request_id": approval["request_id"], "response": response})
        while (await run.status()).state.value != "IDLE":
            for one in await run.handle.query("pending_requests"):
                if one["data"]["type"] == "function_call":
                    result = {"type": "function_result", "call_id": one["data"]["call_id"], "result": "Oslo"}
                    await run.handle.execute_update("respond", {"request_id": one["request_id"], "response": result})
        outputs = (await run.result()).get_outputs()

    assert "paid 12.5 to Ada" in outputs[0].text


@pytest.mark.parametrize("wrong", [1, {"approved": True}, [], None])
async def test_what_is_no_content_is_refused_and_the_request_stays(client: Client, task_queue: str, wrong: Any) -> None:
    async with serving(client, task_queue, with_tools(once(PAY), pay)) as durable:
        run = await durable.start("go")
        [request] = await pending(run)

        with pytest.raises(ResponseRefused, match="Content"):
            await run.respond(request.request_id, wrong)
        assert len(await run.pending_requests()) == 1

        await run.respond(request.request_id, request.data.to_function_approval_response(approved=True))
        assert "paid" in (await run.result()).get_outputs()[0].text
