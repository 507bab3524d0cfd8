"""Sequential: agents and executors one after the other, each hearing what was said before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from agent_framework import (
    AgentExecutorResponse,
    AgentResponse,
    Executor,
    Message,
    Workflow,
    WorkflowContext,
    handler,
    tool,
)
from agent_framework_orchestrations import SequentialBuilder
from temporalio.client import Client

from tests.support import chat
from tests.support.differential import assert_same
from tests.support.restarts import assert_survives_restarts
from tests.support.reviews import approve, ask_for_more, reject


class Summary(Executor):
    """Ends a sequence with what was said, as one message."""

    @handler
    async def summarize(self, prior: AgentExecutorResponse, ctx: WorkflowContext[Any, AgentResponse]) -> None:
        said = " | ".join(f"{one.author_name or one.role}: {one.text}" for one in prior.full_conversation)
        await ctx.yield_output(AgentResponse(messages=[Message("assistant", [said])]))


@tool(approval_mode="always_require")
def publish(title: str) -> str:
    """Publish a text."""
    return f"published {title}"


def publishes(messages: Sequence[Message]) -> chat.Answer:
    """Publish what it hears, then say what it was told."""
    done = chat.results(messages)
    if not done:
        return chat.call(messages, "publish", title=messages[-1].text[:12])
    return f"{done}, and {chat.digest(messages)}"


def three_agents() -> Workflow:
    """Three agents; what the first two say are intermediate outputs."""
    agents = [chat.agent(name) for name in ("writer", "critic", "editor")]
    builder = SequentialBuilder(
        name="three", participants=agents, output_from=["editor"], intermediate_output_from="all_other"
    )
    return builder.build()


def only_the_last_word() -> Workflow:
    """Each agent hears the one before it alone, with a user's turn after it."""
    agents = [chat.agent(name) for name in ("writer", "critic", "editor")]
    builder = SequentialBuilder(
        name="last-word", participants=agents, chain_only_agent_responses=True, ensure_trailing_user_turn=True
    )
    return builder.build()


def agents_and_an_executor() -> Workflow:
    """Two agents, and an executor of one's own at the end."""
    participants = [chat.agent("writer"), chat.agent("critic"), Summary(id="summary")]
    return SequentialBuilder(name="summary", participants=participants).build()


def with_tool_approval() -> Workflow:
    """The second of three agents calls a function that a person has to approve."""
    publisher = chat.agent("publisher", publishes, tools=[publish])
    return SequentialBuilder(
        name="approval", participants=[chat.agent("writer"), publisher, chat.agent("editor")]
    ).build()


def with_request_info() -> Workflow:
    """A person reviews what each of two agents says."""
    agents = [chat.agent("writer"), chat.agent("editor")]
    return SequentialBuilder(name="review", participants=agents).with_request_info().build()


@pytest.mark.parametrize("build", [three_agents, only_the_last_word, agents_and_an_executor])
@pytest.mark.parametrize("message", ["Write.", Message("user", ["Write."])], ids=["text", "message"])
async def test_a_sequence_does_the_same_as_in_process(client: Client, build: Any, message: Any) -> None:
    _, run = await assert_same(client, build, message)

    assert len(run.outputs) == 1


@pytest.mark.parametrize("answers", [approve, reject])
async def test_a_sequence_whose_agent_needs_approval_does_the_same_as_in_process(client: Client, answers: Any) -> None:
    _, run = await assert_same(client, with_tool_approval, "Write.", answers=answers)

    assert len(run.outputs) == 1


@pytest.mark.parametrize("answers", [approve, reject])
async def test_a_sequence_that_waits_for_approval_goes_on_with_new_workers(client: Client, answers: Any) -> None:
    run = await assert_survives_restarts(client, with_tool_approval, "Write.", answers=answers)

    assert len(run.outputs) == 1


async def test_a_sequence_with_reviews_does_the_same_as_in_process(client: Client) -> None:
    _, run = await assert_same(client, with_request_info, "Write.", answers=ask_for_more)

    assert len(run.outputs) == 1


async def test_a_sequence_that_waits_for_reviews_goes_on_with_new_workers(client: Client) -> None:
    run = await assert_survives_restarts(client, with_request_info, "Write.", answers=ask_for_more)

    assert len(run.outputs) == 1
