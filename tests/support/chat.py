"""A scripted model: a real chat client of MAF's, whose answers are a function of the conversation it is sent.

Nothing is remembered between calls, so that a worker that was just started answers as its predecessor would have, and
each answer says what was heard: lost, doubled or foreign messages show in the outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    UsageDetails,
)

Answer = str | list[Content]
"""What a model says: text, or contents such as calls of functions."""

Script = Callable[[Sequence[Message]], Answer]
"""Given the conversation that a model is sent, what it answers."""


class ScriptedChat(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A chat client that answers by its script, in the layers that MAF's own clients have."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse] | ResponseStream[ChatResponseUpdate, ChatResponse]:
        answer = self._script(messages)
        contents = [Content.from_text(answer)] if isinstance(answer, str) else answer
        if stream:
            return self._build_response_stream(_updates(contents))
        return _response(contents, len(messages))


async def _response(contents: list[Content], heard: int) -> ChatResponse:
    usage = UsageDetails(input_token_count=heard, output_token_count=len(contents))
    return ChatResponse(messages=[Message("assistant", contents)], response_id=f"response-{heard}", usage_details=usage)


async def _updates(contents: list[Content]) -> AsyncIterable[ChatResponseUpdate]:
    for content in contents:
        yield ChatResponseUpdate(role="assistant", contents=[content])


def agent(name: str, script: Script | None = None, **options: Any) -> Agent:
    """Return an agent over a scripted model; without a script, it tells what it heard."""
    return Agent(ScriptedChat(script or telling(name)), f"You are {name}.", name=name, **options)


def telling(name: str) -> Script:
    """Return the script of a model that tells what it heard."""
    return lambda messages: f"{name} heard {digest(messages)}"


def digest(messages: Sequence[Message]) -> str:
    """Return how many messages there are, a hash of all (roles, authors, contents), and what a person said last."""
    return f"{len(messages)} messages ({_hash(messages)}) up to {last_said(messages)!r}"


def last_said(messages: Sequence[Message]) -> str:
    """Return what a person said last, or who speaks as one."""
    return next((one.text for one in reversed(messages) if one.role == "user" and one.text), "")


def _hash(messages: Sequence[Message], *more: Any) -> str:
    told = [(one.role, one.author_name, [_told(content) for content in one.contents]) for one in messages]
    return hashlib.sha256(repr((told, *more)).encode()).hexdigest()[:8]


def _told(content: Content) -> Any:
    return content.type, content.text, content.call_id, content.name, content.arguments, content.result


def call(messages: Sequence[Message], name: str, **arguments: Any) -> list[Content]:
    """Return the call of a function, as an answer; its ids tell it from other calls."""
    id = f"call-{_hash(messages, name, arguments)}"
    return [Content.from_function_call(call_id=id, name=name, arguments=arguments, id=id)]


def results(messages: Sequence[Message]) -> list[Any]:
    """Return the results of the functions called since somebody last spoke."""
    found: list[Any] = []
    for message in messages:
        if message.role == "user":
            found.clear()
        found += [content.result for content in message.contents if content.type == "function_result"]
    return found
