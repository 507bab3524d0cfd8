"""A drop-in as an agent: turn by turn, streamed or not, with requests as function calls and approvals."""

from __future__ import annotations

from typing import Any

from agent_framework import (
    AgentSession,
    Content,
    InMemoryCheckpointStorage,
    Message,
    Workflow,
    WorkflowAgent,
)

from temporal_adapter.testing.on_temporal import Serving
from tests.support.drop_ins import drop_in, same
from tests.support.support_desk import approving, desk


def answer(request: Content, value: str) -> Message:
    """Return a person's answer to a request that an agent has made."""
    return Message("user", [Content.from_function_result(call_id=request.call_id or "", result=value)])


def told(messages: list[Message]) -> list[Any]:
    """Return what messages say."""
    return [
        (one.role, one.author_name, [(content.type, content.text, content.name) for content in one.contents])
        for one in messages
    ]


async def test_turns_of_a_conversation_are_those_of_mafs_agent(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        agent, session = workflow.as_agent("front"), AgentSession()
        first = await agent.run("hello", session=session)
        second = await agent.run("again", session=session)
        asked = await agent.run("refund 30")
        [request] = [one for message in asked.messages for one in message.contents if one.type == "function_call"]
        paid = await agent.run(answer(request, "yes"))  # MAF takes an answer without the conversation before it
        last = await agent.run("thanks", session=session)
        return [agent.name, agent.description, *(told(one.messages) for one in (first, second, asked, paid, last))]

    *_, paid, _ = await same(serving, desk, use)
    assert paid[-1][2] == [("text", "Paid back 30 in all.", None)]


async def test_a_streamed_conversation_is_that_of_mafs_agent(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        agent, seen = workflow.as_agent(), list[Any]()
        given: Any = "refund 30"
        for _ in range(2):
            stream = agent.run(given, stream=True)
            contents = [content async for update in stream for content in update.contents]
            seen.append([(one.type, one.text) for one in contents])
            seen.append((await stream.get_final_response()).text)
            given = answer(next((one for one in contents if one.type == "function_call"), contents[0]), "yes")
        return seen

    seen = await same(serving, desk, use)
    assert seen[0][:3] == [("text", "Refunding "), ("text", "30"), ("text", " soon.")]
    assert seen[-1] == "Paid back 30 in all."


async def test_a_tool_that_needs_approval_is_asked_for_as_function_approval(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        agent = workflow.as_agent()
        asked = await agent.run("pay 30")
        [request] = [one for message in asked.messages for one in message.contents if one.user_input_request]
        paid = await agent.run(Message("user", [request.to_function_approval_response(approved=True)]))
        return [request.type, request.function_call.name, request.function_call.arguments, told(paid.messages)]

    kind, name, _, messages = await same(serving, approving, use)
    assert (kind, name) == ("function_approval_request", "pay")
    assert "paid 30" in str(messages)


async def test_another_process_goes_on_with_a_conversation_where_a_request_waits(serving: Serving) -> None:
    first = drop_in(serving, desk)
    asked = await first.as_agent().run("refund 30")
    [request] = [one for message in asked.messages for one in message.contents if one.type == "function_call"]

    agent = drop_in(serving, desk, session_id=first.session.id).as_agent()
    paid = await agent.run(answer(request, "yes"))

    assert isinstance(agent, WorkflowAgent)
    assert paid.text == "Paid back 30 in all."


async def test_an_agent_goes_back_to_a_checkpoint(serving: Serving) -> None:
    async def use(workflow: Workflow) -> Any:
        agent, storage = workflow.as_agent(), InMemoryCheckpointStorage()
        asked = await agent.run("refund 30", checkpoint_storage=storage)
        [request] = [one for message in asked.messages for one in message.contents if one.type == "function_call"]
        pause = workflow.get_last_checkpoint_id()
        refused = await agent.run(answer(request, "no"), checkpoint_storage=storage)
        paid = await agent.run(answer(request, "yes"), checkpoint_id=pause, checkpoint_storage=storage)
        return [refused.text, paid.text]

    assert await same(serving, desk, use) == ["Paid back 0 in all.", "Paid back 30 in all."]
