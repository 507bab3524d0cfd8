"""Runs that share a worker share nothing else: attributes, executor state, agents' sessions, shared state."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentExecutor,
    AgentExecutorRequest,
    AgentExecutorResponse,
    BaseChatClient,
    ChatResponse,
    Executor,
    FunctionInvocationLayer,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from temporalio.client import Client

from tests.support.graphs import hookless_attributes, hooks_state
from tests.support.running import serving

RUNS = 20


class Recalls(FunctionInvocationLayer, BaseChatClient):
    """A model that says back all that it was ever told."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Awaitable[ChatResponse]:
        async def respond() -> ChatResponse:
            told = [message.text for message in messages if message.role == "user"]
            return ChatResponse(messages=[Message("assistant", [" ".join(told)])])

        return respond()


class Converse(Executor):
    """Tells the agent three things, one after another, and yields its last answer."""

    @handler
    async def begin(self, name: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        ctx.set_state("name", name)
        await ctx.send_message(_told(f"{name}1"))

    @handler
    async def go_on(self, answer: AgentExecutorResponse, ctx: WorkflowContext[AgentExecutorRequest, str]) -> None:
        text, name = answer.agent_response.text, ctx.get_state("name")
        said = len(text.split())
        if said < 3:
            await ctx.send_message(_told(f"{name}{said + 1}"))
        else:
            await ctx.yield_output(text)


def conversation() -> Workflow:
    """An agent with a session, and one who talks to it."""
    converse, agent = Converse(id="converse"), AgentExecutor(Agent(Recalls(), name="recalls"))
    builder = WorkflowBuilder(name="conversation", start_executor=converse, output_from=[converse])
    return builder.add_edge(converse, agent).add_edge(agent, converse).build()


async def test_agents_of_many_runs_recall_only_what_their_own_run_told_them(client: Client, task_queue: str) -> None:
    outputs = await _outputs(client, task_queue, conversation, [f"run{number}-" for number in range(RUNS)])

    assert outputs == [[" ".join(f"run{number}-{turn}" for turn in (1, 2, 3))] for number in range(RUNS)]


async def test_attributes_of_many_runs_do_not_mix(client: Client, task_queue: str) -> None:
    outputs = await _outputs(client, task_queue, hookless_attributes, [1] * RUNS)

    for output in outputs:
        assert [one["seen"] for one in output] == [[1], [1, 2], [1, 2, 3]]
        assert [one["total"] for one in output] == [one["shared"] for one in output] == [1, 3, 6]


async def test_executor_states_of_many_runs_do_not_mix(client: Client, task_queue: str) -> None:
    outputs = await _outputs(client, task_queue, hooks_state, [0] * RUNS)

    for output in outputs:
        assert output[-1] == {"calls": 3, "of 0": 1, "of 1": 1, "of 2": 1}


async def _outputs(client: Client, task_queue: str, build: Any, messages: list[Any]) -> list[list[Any]]:
    """Run the graph with all the messages at the same time."""
    async with serving(client, task_queue, build) as durable:

        async def outputs(message: Any) -> list[Any]:
            return (await (await durable.start(message)).result()).get_outputs()

        return await asyncio.gather(*map(outputs, messages))


def _told(text: str) -> AgentExecutorRequest:
    return AgentExecutorRequest(messages=[Message("user", [text])])
