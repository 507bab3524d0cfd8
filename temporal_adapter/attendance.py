"""Keeping the time for requests that wait for people, and the search attribute by which such runs are found.

Workflow code, deterministic: what is due, and when, follows from what the engine has recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey

with workflow.unsafe.imports_passed_through():
    from temporal_adapter.engine import Engine, Fact, Phase, TimeReached
    from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE

_SOON = timedelta(milliseconds=1)

_PENDING_REQUESTS = SearchAttributeKey.for_int(PENDING_REQUESTS_ATTRIBUTE)


class Attendance:
    """Looks after the requests of one run.

    Args:
        engine: Says what is due.
        spawn: Runs a coroutine beside the run's others.
        tell: Takes the fact that an instant has passed.
        clock: The last time that history has recorded (ISO 8601, UTC): what was due before it is overdue.
        counted: Pending requests, as the search attribute has it.
    """

    def __init__(
        self,
        engine: Engine,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        tell: Callable[[Fact], None],
        clock: Callable[[], str],
        counted: int = 0,
    ) -> None:
        self._engine = engine
        self._spawn = spawn
        self._tell = tell
        self._clock = clock
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at: str | None = None
        self.counted = counted

    def look(self) -> None:
        """See to what has changed."""
        self._set_alarm()
        self._count()

    def _set_alarm(self) -> None:
        """Wait for what is due next about a request, if anything is, and for nothing else."""
        due = self._engine.next_due()
        if due == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_at = None, due
        if due is not None:
            self._alarm = self._spawn(self._ring(due))

    async def _ring(self, due: str) -> None:
        left = datetime.fromisoformat(due) - workflow.now()
        await workflow.sleep(max(left, _SOON), summary="deadline of a request")
        self._alarm, self._alarm_at = None, None
        self._tell(TimeReached(max(due, self._clock())))

    def _count(self) -> None:
        """Keep the search attribute up to date: at rest, and whenever a run begins or ceases to wait for people."""
        if not self._engine.counts_requests:
            return
        count = len(self._engine.pending_requests())
        at_rest = self._engine.phase is not Phase.RUNNING
        if count != self.counted and (at_rest or 0 in (count, self.counted)):
            self.counted = count
            workflow.upsert_search_attributes([_PENDING_REQUESTS.value_set(count)])  # pyright: ignore[reportUnknownMemberType]
