"""What happens around the calls of a scripted model, as chat middleware: `agent(..., middleware=[...])`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agent_framework import ChatContext, ChatResponse, chat_middleware


def before_answering(hook: Callable[[], Awaitable[Any]]) -> Any:
    """Return middleware that awaits the hook in each call of the model."""

    @chat_middleware
    async def waits(context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        await hook()
        await call_next()

    return waits


def slow(seconds: float) -> Any:
    """Return middleware that makes each call of the model take at least so long."""
    return before_answering(lambda: asyncio.sleep(seconds))


def retouched(change: Callable[[ChatResponse], None]) -> Any:
    """Return middleware that changes each answer of the model in place."""

    @chat_middleware
    async def changes(context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        await call_next()
        assert isinstance(context.result, ChatResponse)
        change(context.result)

    return changes
