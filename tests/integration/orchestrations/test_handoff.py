"""Handoff: agents that pass a conversation with a person to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Agent, Content, InMemoryHistoryProvider, Message, Workflow, WorkflowEvent, tool
from agent_framework_orchestrations import HandoffAgentUserRequest, HandoffBuilder
from temporalio.client import Client

from tests.support import chat
from tests.support.differential import assert_same
from tests.support.restarts import assert_survives_restarts
from tests.support.reviews import Requests


@tool(approval_mode="always_require")
def refund(order: str) -> str:
    """Refund an order."""
    return f"order {order} is refunded"


def triages(messages: Sequence[Message]) -> chat.Answer:
    """Hand over to who can help, or ask."""
    wish = _last_wish(messages)
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
    if "money" in _last_wish(messages):
        return chat.call(messages, "refund", order=_last_wish(messages).split()[-1])
    return chat.call(messages, "handoff_to_triage")


def orders(messages: Sequence[Message]) -> chat.Answer:
    """Tell about a parcel; hand money matters over."""
    if "money" in _last_wish(messages):
        return chat.call(messages, "handoff_to_refunds")
    return f"orders says the parcel comes: {chat.digest(messages)}"


def _last_wish(messages: Sequence[Message]) -> str:
    return next((one.text for one in reversed(messages) if one.role == "user" and one.text), "")


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
    return builder.with_autonomous_mode(prompts={"orders": "Go on."}, turn_limits={"orders": 2, "triage": 1}).build()


def customer(approves: bool) -> Callable[[Requests], Mapping[str, Any]]:
    """Return a person who answers what an agent says, lets money be refunded or not, and ends with nothing more."""

    def answer(requests: Requests) -> Mapping[str, Any]:
        return {one.request_id: _answer(one, approves) for one in requests}

    return answer


def _answer(request: WorkflowEvent[Any], approves: bool) -> Any:
    if isinstance(request.data, Content):
        return request.data.to_function_approval_response(approved=approves)
    said = request.data.agent_response.messages[-1].text
    reply = next((reply for heard, reply in _REPLIES.items() if heard in said), None)
    return HandoffAgentUserRequest.terminate() if reply is None else HandoffAgentUserRequest.create_response(reply)


_REPLIES = {
    "up to 'Hello.'": "I want money for 7",
    "up to 'I want money for 7'": "And my parcel",
    "up to 'And my parcel'": "More money for 8",
}

GRAPHS = [desk, desk_with_triage_first, desk_with_a_history_provider, pair, autonomous]


@pytest.mark.parametrize("approves", [True, False])
@pytest.mark.parametrize("build", GRAPHS)
async def test_a_handoff_does_the_same_as_in_process(client: Client, build: Any, approves: bool) -> None:
    _, run = await assert_same(client, build, "Hello.", answers=customer(approves))

    for o in run.events: print(o.type, o.executor_id or o.data if o.type!="output" else [ (m.author_name, m.text, [c.name for c in m.contents]) for m in o.data.messages])


@pytest.mark.parametrize("build", GRAPHS)
async def test_a_handoff_that_waits_for_a_person_goes_on_with_new_workers(client: Client, build: Any) -> None:
    run = await assert_survives_restarts(client, build, "Hello.", answers=customer(approves=True))
