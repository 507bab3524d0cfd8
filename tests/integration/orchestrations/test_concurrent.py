"""Concurrent: agents that all hear the same, and what is made of all they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from agent_framework import AgentExecutorResponse, Executor, Message, Workflow, WorkflowContext, handler, tool
from agent_framework_orchestrations import ConcurrentBuilder
from temporalio.client import Client
from typing_extensions import Never

from tests.support import chat
from tests.support.differential import assert_same
from tests.support.restarts import assert_survives_restarts
from tests.support.reviews import approve, approve_last, ask_for_more, reject


def join(results: list[AgentExecutorResponse]) -> str:
    """Join what was said."""
    return " | ".join(f"{one.executor_id}: {one.agent_response.text}" for one in results)


async def join_soon(results: list[AgentExecutorResponse]) -> dict[str, str]:
    """Return what was said, by agent."""
    return {one.executor_id: one.agent_response.text for one in results}


async def yield_each(results: list[AgentExecutorResponse], ctx: WorkflowContext[Never, str]) -> None:
    """Yield one output for each agent, and count them in the shared state."""
    for one in results:
        ctx.set_state("counted", ctx.get_state("counted", 0) + 1)
        await ctx.yield_output(one.agent_response.text)


class Tally(Executor):
    """An aggregator that keeps what it counts."""

    def __init__(self) -> None:
        super().__init__(id="tally")
        self.heard: list[Message] = []

    @handler
    async def aggregate(self, results: list[AgentExecutorResponse], ctx: WorkflowContext[Never, int]) -> None:
        self.heard = [message for one in results for message in one.full_conversation]
        await ctx.yield_output(len(self.heard))


@tool(approval_mode="always_require")
def search(subject: str) -> str:
    """Search for something."""
    return f"found {subject}"


def searches(messages: Sequence[Message]) -> chat.Answer:
    """Search, then say what was found."""
    found = chat.results(messages)
    return f"{found}, and {chat.digest(messages)}" if found else chat.call(messages, "search", subject="prices")


def reads(messages: Sequence[Message]) -> chat.Answer:
    """Search for two things at once, then say what was found."""
    found = chat.results(messages)
    if found:
        return f"{found}, and {chat.digest(messages)}"
    return [content for subject in ("laws", "news") for content in chat.call(messages, "search", subject=subject)]


def plain() -> Workflow:
    """Three agents, and the aggregator that comes with them."""
    return ConcurrentBuilder(name="plain", participants=[chat.agent(name) for name in ("a", "b", "c")]).build()


def aggregated(by: Any) -> Callable[[], Workflow]:
    """Return a factory of a graph whose aggregator is one of those above."""

    def build() -> Workflow:
        agents = [chat.agent(name) for name in ("a", "b")]
        aggregator = by() if isinstance(by, type) else by
        builder = ConcurrentBuilder(name="aggregated", participants=agents, intermediate_output_from=["a"])
        return builder.with_aggregator(aggregator).build()

    return build


def with_tool_approvals() -> Workflow:
    """Two of three agents call functions that people have to approve; one of them two at once."""
    agents = [
        chat.agent("quick"),
        chat.agent("searcher", searches, tools=[search]),
        chat.agent("reader", reads, tools=[search]),
    ]
    return ConcurrentBuilder(name="approvals", participants=agents).with_aggregator(join).build()


def with_request_info() -> Workflow:
    """People review what one of two agents says."""
    agents = [chat.agent("quick"), chat.agent("reviewed")]
    builder = ConcurrentBuilder(name="reviews", participants=agents).with_request_info(agents=["reviewed"])
    return builder.with_aggregator(join).build()


async def test_agents_side_by_side_do_the_same_as_in_process(client: Client) -> None:
    _, run = await assert_same(client, plain, "Say.")

    [answer] = run.outputs
    assert [message.author_name for message in answer.messages] == ["a", "b", "c"]


@pytest.mark.parametrize("aggregator", [join, join_soon, yield_each, Tally])
async def test_an_aggregator_of_ones_own_does_the_same_as_in_process(client: Client, aggregator: Any) -> None:
    _, run = await assert_same(client, aggregated(aggregator), "Say.")

    assert run.outputs


@pytest.mark.parametrize("answers", [approve, reject, approve_last])
async def test_approvals_side_by_side_do_the_same_as_in_process(client: Client, answers: Any) -> None:
    _, run = await assert_same(client, with_tool_approvals, "Say.", answers=answers)

    assert len(run.outputs) == 1


@pytest.mark.parametrize("answers", [approve, reject, approve_last])
async def test_a_run_that_waits_for_approvals_goes_on_with_new_workers(client: Client, answers: Any) -> None:
    run = await assert_survives_restarts(client, with_tool_approvals, "Say.", answers=answers)

    assert len(run.outputs) == 1


async def test_reviews_do_the_same_as_in_process(client: Client) -> None:
    _, run = await assert_same(client, with_request_info, "Say.", answers=ask_for_more)

    assert len(run.outputs) == 1


async def test_a_run_that_waits_for_a_review_goes_on_with_new_workers(client: Client) -> None:
    run = await assert_survives_restarts(client, with_request_info, "Say.", answers=ask_for_more)

    assert len(run.outputs) == 1
