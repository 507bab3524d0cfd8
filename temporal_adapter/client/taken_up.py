"""Asking a run that cannot answer just now: it goes on as a new Temporal run, or its worker has too much to do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.client import WorkflowQueryFailedError

from temporal_adapter.wire.names import NOT_TAKEN_UP

AnswerT = TypeVar("AnswerT")

_TOO_SLOW = "[TMPRL1101]"
"""In what a worker answers that had no time for a workflow for two seconds: it has too much to do."""

_SLOW_SECONDS = 30.0
"""Seconds for which a query is made again where workers are too slow."""


async def once_taken_up(
    ask: Callable[[], Awaitable[AnswerT]],
    pause: float,
    patience: float | None = None,
    check: Callable[[], Awaitable[None]] | None = None,
) -> AnswerT:
    """Return what a query is answered, made again while the run cannot answer it.

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
            waited = loop.time() - began
            passes = NOT_TAKEN_UP in str(error) or (_TOO_SLOW in str(error) and waited < _SLOW_SECONDS)
            if not passes or (patience is not None and waited > patience):
                raise
        if check is not None:
            await check()
        await asyncio.sleep(pause)
