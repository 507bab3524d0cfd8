"""Group chat: a function, or an agent, says who speaks next; everybody hears what is said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Content, Executor, Message, Workflow, WorkflowContext, handler, response_handler, tool
from agent_framework_orchestrations import GroupChatBuilder, GroupChatRequestMessage, GroupChatState

# What an executor that takes part has to handle and send; not exported as of 1.4.
from agent_framework_orchestrations._base_group_chat_orchestrator import (
    GroupChatParticipantMessage,
    GroupChatResponseMessage,
)
from temporalio.client import Client

from tests.support import chat
from tests.support.differential import Observed, assert_same
from tests.support.restarts import assert_survives_restarts
from tests.support.reviews import Requests, ask_for_more


@tool(approval_mode="always_require")
def look_up(word: str) -> str:
    """Look up a word."""
    return f"{word} means little"


def looks_up(messages: Sequence[Message]) -> chat.Answer:
    """Look something up, then tell."""
    found = chat.results(messages)
    return f"found {found}: {chat.digest(messages)}" if found else chat.call(messages, "look_up", word="much")


class Guest(Executor):
    """A participant that is a person: asked what to say, with what was said since."""

    def __init__(self) -> None:
        super().__init__(id="guest")
        self.heard: list[Message] = []
        self.turns = 0

    @handler
    async def listen(self, said: GroupChatParticipantMessage, ctx: WorkflowContext) -> None:
        self.heard.extend(said.messages)

    @handler
    async def speak(self, request: GroupChatRequestMessage, ctx: WorkflowContext) -> None:
        self.turns += 1
        await ctx.request_info(f"Turn {self.turns}: {chat.digest(self.heard)}", str)
        self.heard = []

    @response_handler
    async def spoke(self, question: str, answer: str, ctx: WorkflowContext[GroupChatResponseMessage]) -> None:
        await ctx.send_message(GroupChatResponseMessage(message=Message("user", [answer], author_name="guest")))


def in_turn(state: GroupChatState) -> str:
    """Let all speak in turn."""
    return list(state.participants)[state.current_round % len(state.participants)]


async def whoever_spoke_least(state: GroupChatState) -> str:
    """Let those speak who spoke least, by what was said."""
    spoken = [message.author_name for message in state.conversation]
    return min(state.participants, key=spoken.count)


def directs(messages: Sequence[Message]) -> str:
    """Say who speaks next, as the manager; after three have spoken, end."""
    turns = sum(message.text.startswith("{") for message in messages)
    speakers = ["writer", "finder", "writer"]
    over = turns >= len(speakers)
    return json.dumps(
        {
            "terminate": over,
            "reason": chat.digest(messages[:-1]),
            "next_speaker": None if over else speakers[turns],
            "final_message": f"It is over: {chat.digest(messages[:-1])}" if over else None,
        }
    )


def by_turns() -> Workflow:
    """Agents in turn, for so many rounds."""
    agents = [chat.agent(name) for name in ("writer", "critic", "editor")]
    builder = GroupChatBuilder(
        name="turns", participants=agents, selection_func=in_turn, max_rounds=4, intermediate_output_from=["writer"]
    )
    return builder.build()


def with_a_guest() -> Workflow:
    """Agents and a person, until the person says so; one of the agents looks things up, which has to be approved."""
    participants = [chat.agent("writer"), chat.agent("finder", looks_up, tools=[look_up]), Guest()]
    builder = GroupChatBuilder(
        name="guest",
        participants=participants,
        selection_func=whoever_spoke_least,
        termination_condition=lambda conversation: "enough" in conversation[-1].text,
    )
    return builder.build()


def with_a_manager() -> Workflow:
    """An agent directs agents; one of them looks things up, which has to be approved."""
    agents = [
        chat.agent("writer", description="Writes."),
        chat.agent("finder", looks_up, tools=[look_up], description="Finds."),
    ]
    manager = chat.agent("manager", directs)
    return GroupChatBuilder(name="managed", participants=agents, orchestrator_agent=manager).build()


def with_reviews() -> Workflow:
    """A person reviews what one of the agents says."""
    agents = [chat.agent("writer"), chat.agent("critic")]
    builder = GroupChatBuilder(name="reviews", participants=agents, selection_func=in_turn, max_rounds=3)
    return builder.with_request_info(agents=["writer"]).build()


def attend(requests: Requests) -> Mapping[str, Any]:
    """Approve calls; as the guest, say something, and at the second time that it is enough."""
    return {one.request_id: _contribution(one.data) for one in requests}


def _contribution(asked: Any) -> Any:
    if isinstance(asked, Content):
        return asked.to_function_approval_response(approved=True)
    return "That is enough." if "Turn 2" in asked else "Go on."


def speakers(run: Observed) -> list[str]:
    """Return who was asked to speak, in order."""
    sent = [event.data for event in run.events if event.type == "group_chat"]
    return [data.participant_name for data in sent if type(data).__name__ == "GroupChatRequestSentEvent"]


async def test_a_chat_directed_by_a_function_does_the_same_as_in_process(client: Client) -> None:
    _, run = await assert_same(client, by_turns, "Talk.")

    assert speakers(run) == ["writer", "critic", "editor", "writer"]


@pytest.mark.parametrize("build", [with_a_guest, with_a_manager])
async def test_a_chat_with_people_does_the_same_as_in_process(client: Client, build: Any) -> None:
    _, run = await assert_same(client, build, "Talk.", answers=attend)
    assert speakers(run)[:2] == ["writer", "finder"]


@pytest.mark.parametrize("build", [with_a_guest, with_a_manager])
async def test_a_chat_that_waits_for_people_goes_on_with_new_workers(client: Client, build: Any) -> None:
    run = await assert_survives_restarts(client, build, "Talk.", answers=attend)

    assert len(run.outputs) == 1


async def test_reviews_do_the_same_as_in_process(client: Client) -> None:
    _, run = await assert_same(client, with_reviews, "Talk.", answers=ask_for_more)

    assert len(run.outputs) == 1


async def test_a_chat_that_waits_for_a_review_goes_on_with_new_workers(client: Client) -> None:
    run = await assert_survives_restarts(client, with_reviews, "Talk.", answers=ask_for_more)

    assert len(run.outputs) == 1
