"""MAF's `WorkflowAgent` over a session."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from agent_framework import WorkflowAgent, WorkflowEvent


class SessionAgent(WorkflowAgent):
    """Looks at the session before each run: MAF's agent tells by the workflow's status whether requests wait."""

    async def _run_core(self, *args: Any, **kwargs: Any) -> AsyncGenerator[WorkflowEvent, None]:
        await cast("Any", self.workflow).refresh()
        async with aclosing(cast("Any", super()._run_core(*args, **kwargs))) as events:
            async for event in events:
                yield event
