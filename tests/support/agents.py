"""Agents that answer word by word: real MAF agents around a scripted chat client, the only stand-in for a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentExecutor,
    AgentExecutorRequest,
    AgentExecutorResponse,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    Executor,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
)

from .scripted import Script

Words = Callable[[str], AsyncIterable[str]]
"""Given the last message, the words of the answer, each when it is due."""


class WordByWord(FunctionInvocationLayer, BaseChatClient):
    """Answers what its script says, one update a word."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse] | ResponseStream[ChatResponseUpdate, ChatResponse]:
        words = self._words(messages[-1].text)
        return self._build_response_stream(_updates(words)) if stream else _response(words)


async def _updates(words: AsyncIterable[str]) -> AsyncIterable[ChatResponseUpdate]:
    async for word in words:
        yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(word)])


async def _response(words: AsyncIterable[str]) -> ChatResponse:
    return ChatResponse(messages=[Message("assistant", ["".join([word async for word in words])])])


def saying(*words: str) -> Words:
    """A script that says the same words at once, whatever it is told."""

    async def say(_: str) -> AsyncIterable[str]:
        for word in words:
            yield word

    return say


def slowly(*words: str, seconds: float = 0.01) -> Words:
    """A script that takes so long before each word."""

    async def say(_: str) -> AsyncIterable[str]:
        for word in words:
            await asyncio.sleep(seconds)
            yield word

    return say


def held(script: Script, first: str, *rest: str) -> Words:
    """A script whose words after the first wait at the step `second`."""

    async def say(_: str) -> AsyncIterable[str]:
        yield first
        await script.enter("second")
        for word in rest:
            yield word

    return say


def failing_first(script: Script, *words: str) -> Words:
    """A script whose last word never comes in a first attempt: that fails once the step `failure` is released."""
    script.hold("failure")

    async def say(_: str) -> AsyncIterable[str]:
        for word in words[:-1]:
            yield word
        if not script.calls["failure"]:
            await script.enter("failure")
            raise ConnectionError("the model is away")
        yield words[-1]

    return say


def agent(id: str, words: Words) -> AgentExecutor:
    """Return an agent that answers word by word."""
    return AgentExecutor(Agent(WordByWord(words), name=id), id=id)


class Ask(Executor):
    """Asks the agents."""

    @handler
    async def begin(self, text: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        await ctx.send_message(AgentExecutorRequest(messages=[Message("user", [text])]))


class Approve(Executor):
    """Asks whether the answers will do, and reports what it is told."""

    @handler
    async def all(self, answers: list[AgentExecutorResponse], ctx: WorkflowContext[None, str]) -> None:
        await ctx.request_info(" / ".join(answer.agent_response.text for answer in answers), bool)

    @response_handler
    async def decided(self, question: str, good: bool, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(f"{question}: {good}")


def one_agent(words: Words) -> Callable[[], Workflow]:
    """Return a factory of the graph `one-agent`: the agent `writer` alone."""

    def build() -> Workflow:
        return WorkflowBuilder(name="one-agent", start_executor=agent("writer", words)).build()

    return build


def two_agents(left: Words, right: Words) -> Callable[[], Workflow]:
    """Return a factory of the graph `two-agents`: `left` and `right` answer side by side, a person approves."""

    def build() -> Workflow:
        ask, agents, approve = Ask(id="ask"), [agent("left", left), agent("right", right)], Approve(id="approve")
        builder = WorkflowBuilder(
            name="two-agents",
            start_executor=ask,
            output_from=[approve, agents[0]],
            intermediate_output_from=[agents[1]],
        )
        return builder.add_fan_out_edges(ask, agents).add_fan_in_edges(agents, approve).build()

    return build
