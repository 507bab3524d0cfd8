"""Handoff: agents that pass a conversation with a person to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Agent, Content, InMemoryHistoryProvider, Message, Workflow, WorkflowEvent, tool
from agent_framework_orchestrations import HandoffAgentUserRequest, HandoffBuilder
from temporalio.client import Client

from tests.support import chat
from tests.support.differential import Observed, assert_same
from tests.support.restarts import assert_survives_restarts
from tests.support.reviews import Requests


@tool(approval_mode="always_require")
def refund(order: str) -> str:
    """Refund an order."""
    return f"order {order} is refunded"


def triages(messages: Sequence[Message]) -> chat.Answer:
    """Hand over to who can help, or ask."""
    wish = chat.last_said(messages)
    if chat.results(messages):
        return f"triage is done: {chat.digest(messages)}"
    if "money" in wish:
        return chat.call(messages, "handoff_to_refunds")
    if "parcel" in wish:
        return chat.call(messages, "handoff_to_orders")
    return f"triage asks what it is about: {chat.digest(messages)}"


def refunds(messages: Sequence[Message]) -> chat.Answer:
    """Refund, if it may; hand the rest over."""
    done = chat.results(messages)
    if done:
        return f"refunds says {done}: {chat.digest(messages)}"
    if "money" in chat.last_said(messages):
        return chat.call(messages, "refund", order=chat.last_said(messages).split()[-1])
    return chat.call(messages, "handoff_to_triage")


def orders(messages: Sequence[Message]) -> chat.Answer:
    """Tell about a parcel; hand money matters over."""
    if "money" in chat.last_said(messages):
        return chat.call(messages, "handoff_to_refunds")
    return f"orders says the parcel comes: {chat.digest(messages)}"


def _agents(**options: Any) -> list[Agent]:
    persisting = {"require_per_service_call_history_persistence": True, **options}
    return [
        chat.agent("triage", triages, description="Finds out what it is about.", **persisting),
        chat.agent("refunds", refunds, tools=[refund], **persisting),
        chat.agent("orders", orders, **persisting),
    ]


def _is_over(conversation: list[Message]) -> bool:
    return "goodbye" in conversation[-1].text


def _desk(agents: list[Agent], name: str) -> HandoffBuilder:
    builder = HandoffBuilder(name=name, participants=agents, termination_condition=_is_over)
    return builder.with_start_agent(agents[0])


def desk() -> Workflow:
    """Each agent can hand over to each; who spoke last hears the person's answer."""
    return _desk(_agents(), "desk").build()


def desk_with_triage_first() -> Workflow:
    """Triage hears every answer of the person."""
    return _desk(_agents(), "triage-first").enable_return_to_previous(False).build()


def desk_with_a_history_provider() -> Workflow:
    """The interception of handoffs is added to the agents' context, not to the agents."""
    agents = _agents(context_providers=[InMemoryHistoryProvider()])
    return _desk(agents, "providers").build()


def pair() -> Workflow:
    """Two agents, one of which can hand over to the other."""
    triage, refunds_agent, _ = _agents()
    builder = HandoffBuilder(name="pair", participants=[triage, refunds_agent], termination_condition=_is_over)
    return builder.with_start_agent(triage).add_handoff(triage, [refunds_agent], description="For money.").build()


def autonomous() -> Workflow:
    """Agents that go on by themselves for some turns before they ask."""
    builder = _desk(_agents(), "autonomous")
    return builder.with_autonomous_mode(
        prompts={"orders": "Go on."}, turn_limits={"orders": 2, "triage": 1, "refunds": 0}
    ).build()


def customer(approves: bool) -> Callable[[Requests], Mapping[str, Any]]:
    """Return a person who answers what agents say; lets money be refunded and says goodbye, or does neither."""

    def answer(requests: Requests) -> Mapping[str, Any]:
        return {one.request_id: _answer(one, approves) for one in requests}

    return answer


def _answer(request: WorkflowEvent[Any], approves: bool) -> Any:
    if isinstance(request.data, Content):
        return request.data.to_function_approval_response(approved=approves)
    said = request.data.agent_response.messages[-1].text
    for heard, reply in _REPLIES.items():
        if f"up to {heard!r}" in said:
            return HandoffAgentUserRequest.create_response(reply)
    return HandoffAgentUserRequest.create_response("goodbye") if approves else HandoffAgentUserRequest.terminate()


_REPLIES = {
    "Hello.": "I want money for 7",
    "User did not respond. Continue assisting autonomously.": "I want money for 7",
    "I want money for 7": "And my parcel",
    "And my parcel": "More money for 8",
    "Go on.": "More money for 8",
}

GRAPHS = [desk, desk_with_triage_first, desk_with_a_history_provider, pair, autonomous]


def handoffs(run: Observed) -> list[tuple[str, str]]:
    """Return who handed over to whom."""
    return [(event.data.source, event.data.target) for event in run.events if event.type == "handoff_sent"]


@pytest.mark.parametrize("build", GRAPHS)
async def test_a_handoff_does_the_same_as_in_process(client: Client, build: Any) -> None:
    _, run = await assert_same(client, build, "Hello.", answers=customer(approves=True))

    assert ("triage", "refunds") in handoffs(run)


async def test_a_handoff_whose_function_call_is_rejected_does_the_same_as_in_process(client: Client) -> None:
    _, run = await assert_same(client, desk, "Hello.", answers=customer(approves=False))

    assert any("rejected" in one.text for one in run.outputs)


@pytest.mark.parametrize("build", GRAPHS)
async def test_a_handoff_that_waits_for_a_person_goes_on_with_new_workers(client: Client, build: Any) -> None:
    run = await assert_survives_restarts(client, build, "Hello.", answers=customer(approves=True))

    assert ("triage", "refunds") in handoffs(run)
