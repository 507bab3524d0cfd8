"""Updates to a run that may go on as a new Temporal run before it has answered them."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, cast

from temporalio.client import WorkflowExecutionStatus, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from temporal_adapter.wire.names import RUN_CONTINUES

_PAUSE = 0.2  # seconds, until the new Temporal run has begun
_PATIENCE = 15.0  # seconds, with a workflow task that fails: if it does so again and again, it is for another reason

# How Temporal says that an update was not taken, since the workflow task that it came with ended the Temporal run, or
# was made anew for what came meanwhile.
_TASK_FAILED, _RUN_ENDED = "workflow task failure", ("closing workflow", "already completed")


async def update(handle: WorkflowHandle[Any, Any], name: str, *args: Any) -> Any:
    """Send an update to a run, in whichever Temporal run of it that is answered.

    Raises:
        WorkflowUpdateFailedError: It is refused.
        RPCError: There is no such run, or it is over.
    """
    update_id = str(uuid.uuid4())
    # The SDK's overloads leave this one partly untyped.
    return await answered(handle, lambda: cast("Any", handle).execute_update(name, args=list(args), id=update_id))


async def answered(handle: WorkflowHandle[Any, Any], send: Callable[[], Awaitable[Any]]) -> Any:
    """Send an update, again as long as the run has to go on as a new Temporal run first. It has an id: it counts once.

    Raises:
        WorkflowUpdateFailedError: It is refused.
        RPCError: There is no such run, or it is over.
    """
    began = time.monotonic()
    while True:
        try:
            return await send()
        except WorkflowUpdateFailedError as error:
            if not (isinstance(error.cause, ApplicationError) and error.cause.type == RUN_CONTINUES):
                raise
        except RPCError as error:
            anew = _TASK_FAILED in error.message and time.monotonic() - began < _PATIENCE
            if not anew and not (any(one in error.message for one in _RUN_ENDED) and await _is_open(handle)):
                raise
        await asyncio.sleep(_PAUSE)


async def _is_open(handle: WorkflowHandle[Any, Any]) -> bool:
    return (await handle.describe()).status is WorkflowExecutionStatus.RUNNING
