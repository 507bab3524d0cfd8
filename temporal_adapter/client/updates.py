"""Updates to a run that may go on as a new Temporal run before it has answered them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from temporal_adapter.wire.names import RUN_CONTINUES

_PAUSE = 0.2  # seconds, until the new Temporal run has begun


async def answered(send: Callable[[], Awaitable[Any]]) -> Any:
    """Send an update, again as long as the run says that it has to go on as a new Temporal run first."""
    while True:
        try:
            return await send()
        except WorkflowUpdateFailedError as error:
            if not (isinstance(error.cause, ApplicationError) and error.cause.type == RUN_CONTINUES):
                raise
        await asyncio.sleep(_PAUSE)
