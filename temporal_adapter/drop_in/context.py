"""The runner's context of a workflow that runs elsewhere: MAF's own, with the requests that wait in the session.

`WorkflowAgent`, AG-UI and MAF's `Workflow.run` read these from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent_framework import CheckpointStorage, InProcRunnerContext, WorkflowEvent

Pending = Callable[[], Awaitable[Mapping[str, WorkflowEvent[Any]]]]
"""Returns the requests that wait now, by request id."""


class SessionContext(InProcRunnerContext):
    """MAF's context, asked for pending requests only."""

    def __init__(self, pending: Pending, checkpoint_storage: CheckpointStorage | None) -> None:
        super().__init__(checkpoint_storage)
        self._ask = pending

    async def get_pending_request_info_events(self) -> dict[str, WorkflowEvent[Any]]:
        """Return the requests that wait for a response, whoever made them wait and wherever."""
        return dict(await self._ask())
