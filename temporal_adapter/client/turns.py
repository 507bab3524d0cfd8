"""One turn of a session, as its caller sees it: the update that makes it, and its events, at its end or as they happen.

What a turn is given, and what its refusals become, is `session`'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable
from typing import Any

from agent_framework import WorkflowEvent
from temporalio.client import WorkflowQueryFailedError
from temporalio.common import QueryRejectCondition

from temporal_adapter import wire

from .errors import NoWorker, RunNotFound
from .reading import EventReader
from .run import DurableRun
from .streaming import LiveMerge, read_live
from .updates import update

logger = logging.getLogger(__name__)

_LOOK_SECONDS = (0.05, 0.2)  # between looks at a turn under way: after news, and at most
AT_REST = ("IDLE", "IDLE_WITH_PENDING_REQUESTS", "FAILED")
"""States in which a session is at rest."""


class Turn:
    """A turn of a session.

    Args:
        run: The session's Temporal run.
        sent: The update `run` that makes the turn, not yet awaited.
        update_id: Its id.
        reader: Decodes events.
    """

    def __init__(self, run: DurableRun, sent: Awaitable[Any], update_id: str, reader: EventReader) -> None:
        self._run = run
        self._update = asyncio.ensure_future(self._to_its_end(sent))
        self._update.add_done_callback(_retrieve)  # nobody asks, where whoever follows a turn has gone
        self._id = update_id
        self._reader = reader

    async def _to_its_end(self, sent: Awaitable[Any]) -> Any:
        """Wait for the turn, in whichever Temporal run of the session it ends."""
        answer = await sent
        while answer.get("continues"):
            await asyncio.sleep(_LOOK_SECONDS[0])
            with self._run.explained():
                answer = await update(self._run.handle, "follow", self._id)
        return answer

    def leave(self) -> None:
        """Wait for the turn no longer. It goes on."""
        self._update.cancel()

    async def events(self) -> AsyncGenerator[WorkflowEvent[Any], None]:
        """Yield the turn's events when it is over; raise what it failed with."""
        await asyncio.wait({self._update})
        for event in await self._between_ends():
            yield await self._reader.event(event)
        await self._update

    async def live_events(self) -> AsyncGenerator[WorkflowEvent[Any], None]:
        """Yield the turn's events while they happen, as `DurableRun.stream` does; raise what it failed with."""
        merge = LiveMerge(self._reader.event)
        progress = await self._begun()
        offset, live_offset = (0, 0) if progress is None else (progress.first, progress.live)
        pause = _LOOK_SECONDS[0]
        while progress is not None and progress.next != offset:
            over = self._update.done()  # before the look, so that nothing comes after the last one
            try:
                batches, live_offset = await self._run.unless_stuck(read_live(self._run.handle, live_offset))
                events = await self._events_from(offset)
                if over or any(event.state in AT_REST for event in events):
                    progress = await self._progress() or progress
            except NoWorker as error:
                logger.warning("%s", error)
                continue
            if progress.next is not None:  # what follows is no longer of this turn
                events = events[: progress.next - offset]
            offset += len(events)
            for event in events:
                async for shown in merge.durable(event):
                    yield shown
            for batch in batches if progress.next is None else ():
                async for shown in merge.live(batch):
                    yield shown
            if over and progress.next is None:
                break  # it is refused, or the session has ended
            pause = _LOOK_SECONDS[0] if events or batches else min(2 * pause, _LOOK_SECONDS[1])
            if progress.next != offset:
                await asyncio.wait({self._update}, timeout=pause)
        for abandoned in merge.close():
            yield abandoned
        await self._update

    async def _begun(self) -> wire.TurnProgress | None:
        """Wait until the turn has begun; None if it is refused."""
        pause = _LOOK_SECONDS[0]
        while True:
            refused = self._update.done() and self._update.exception() is not None
            try:
                progress = await self._progress()
            except NoWorker as error:
                logger.warning("%s", error)
                progress = None
            if progress is not None or refused:
                return progress
            await asyncio.wait({self._update}, timeout=pause)
            pause = min(2 * pause, _LOOK_SECONDS[1])

    async def _between_ends(self) -> list[wire.Event]:
        """Return the events of a turn that is over; of one that was refused, there are none."""
        if self._update.exception() is None:
            turn = wire.load(wire.Turn, self._update.result())
            return await self._run.events_between(turn.first, turn.next)
        try:
            progress = await self._progress()
        except (NoWorker, WorkflowQueryFailedError):  # what the turn failed with is what matters now
            progress = None
        if progress is None or progress.next is None:
            return []
        return await self._run.events_between(progress.first, progress.next)

    async def _events_from(self, offset: int) -> list[wire.Event]:
        return await self._run.events_between(offset, (await self._run.status()).events)

    async def _progress(self) -> wire.TurnProgress | None:
        """Return where the turn stands; None if it has not begun."""
        query = self._run.handle.query("turn", self._id, reject_condition=QueryRejectCondition.NONE)
        try:
            with self._run.explained():
                answer = await self._run.unless_stuck(query)
        except RunNotFound:  # the session is not open yet
            return None
        return None if answer is None else wire.load(wire.TurnProgress, answer)


def _retrieve(update: asyncio.Future[Any]) -> None:
    if not update.cancelled():
        update.exception()
