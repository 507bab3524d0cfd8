"""Asking a run that goes on as a new Temporal run just now: it answers once it has read what it carries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.client import WorkflowQueryFailedError

from temporal_adapter.wire.names import NOT_TAKEN_UP

AnswerT = TypeVar("AnswerT")


async def once_taken_up(
    ask: Callable[[], Awaitable[AnswerT]],
    pause: float,
    patience: float | None = None,
    check: Callable[[], Awaitable[None]] | None = None,
) -> AnswerT:
    """Return what a query is answered, made again while the run has not read what it carries.

    Args:
        ask: Makes the query.
        pause: Seconds between two.
        patience: Seconds until its error is raised all the same; None: for ever.
        check: Called between two; raises what is to be raised where the run will never answer.

    Raises:
        WorkflowQueryFailedError: The query fails otherwise, or for that after so long.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        try:
            return await ask()
        except WorkflowQueryFailedError as error:
            if NOT_TAKEN_UP not in str(error) or (patience is not None and loop.time() - began > patience):
                raise
        if check is not None:
            await check()
        await asyncio.sleep(pause)
