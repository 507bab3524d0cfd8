"""The model behind the agent `fraud-score`: OpenAI's when its environment variables are set, a script otherwise.

The script stands in for the model, so that the example runs anywhere and answers the same each time. It is a chat
client like any other: the agent around it, and what the agent sends and keeps, are the real ones.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    SupportsChatGetResponse,
)

from .models import ExpenseItem, ExpenseReport, FraudScore, in_euros

_KEY = "OPENAI_API_KEY"
_MODELS = ("OPENAI_CHAT_MODEL", "OPENAI_MODEL")


class ModelUnavailable(RuntimeError):
    """A real model is asked for, and its client is not installed."""


def fraud_chat_client() -> SupportsChatGetResponse[Any]:
    """Return the chat client that the environment asks for.

    MAF's OpenAI client reads OPENAI_API_KEY and OPENAI_CHAT_MODEL (or OPENAI_MODEL), and needs both. With one of them
    missing the script answers, so that a key set for other programs does not spend money here.

    Raises:
        ModelUnavailable: Both are set, and `agent-framework-openai` is not installed.
    """
    if not os.environ.get(_KEY) or not any(os.environ.get(name) for name in _MODELS):
        return ScriptedFraudClient()
    try:
        from agent_framework.openai import OpenAIChatClient  # pyright: ignore  # an optional package
    except ImportError as error:
        raise ModelUnavailable(
            f"{_KEY} and a model are set, and MAF's OpenAI client is not installed. "
            f"Install it (pip install agent-framework-openai), or unset {_KEY} to let the scripted client answer."
        ) from error
    return OpenAIChatClient()  # reads the rest of its settings from the environment


class ScriptedFraudClient(FunctionInvocationLayer, BaseChatClient):
    """Scores an expense report as a careful model would, by rules of thumb."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse] | ResponseStream[ChatResponseUpdate, ChatResponse]:
        report = ExpenseReport.model_validate_json(messages[-1].text)
        text = score(report).model_dump_json()
        if stream:
            return self._build_response_stream(_updates(text))
        return _response(text)


async def _response(text: str) -> ChatResponse:
    return ChatResponse(messages=[Message("assistant", [text])])


async def _updates(text: str) -> AsyncIterable[ChatResponseUpdate]:
    yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(text)])


def score(report: ExpenseReport) -> FraudScore:
    """Return the script's opinion of a report."""
    reasons = [reason for item in report.items for reason in _tells(item)]
    return FraudScore(score=min(100, 30 * len(reasons)), reasons=reasons)


def _tells(item: ExpenseItem) -> list[str]:
    tells: list[str] = []
    if item.amount >= 100 and item.amount % 100 == 0:
        tells.append(f"{in_euros(item.amount)} for {item.category} is a round sum.")
    if item.category == "entertainment" and item.spent_on.weekday() >= 5:
        tells.append(f"{item.spent_on} was a weekend.")
    if "gift card" in item.description.lower():
        tells.append("Gift cards can be turned into cash.")
    return tells
