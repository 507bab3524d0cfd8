"""A prune's mark in the store: put, renewed, looked at before each deletion, taken away. What is pruned is elsewhere's.

`store.pruning` says what the mark is for. Here is the prune's half: it stops when it could not renew the mark in time,
or when the mark is no longer its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

from temporal_adapter.store import BlobStore, StoreError
from temporal_adapter.store.names import pruning_object
from temporal_adapter.store.pruning import MARK_FRESH_FOR, Clock, announce, announced, withdraw

_RENEWED_EVERY = timedelta(minutes=1)

_LOOKED_AT_EVERY = timedelta(seconds=10)

_TRUSTED_FOR = MARK_FRESH_FOR / 2  # without a renewal; the rest is for the deletions under way


class PruneRefused(StoreError):
    """Another prune is at work, or the mark of this one could not be kept up."""


class Marked:
    """The mark, while it is there."""

    def __init__(self, blobs: BlobStore, namespace: str, since: datetime, clock: Clock) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._since = self._renewed = since
        self._clock = clock
        self._seen: datetime | None = None  # when it was last found to be this prune's

    async def confirm(self) -> None:
        """Check that writers see the mark; comes before every few deletions.

        Raises:
            PruneRefused: They may not.
        """
        now = self._clock()
        if self._seen is None or abs(now - self._seen) > _LOOKED_AT_EVERY:
            await self.check_own()
        if abs(self._clock() - self._renewed) > _TRUSTED_FOR:
            raise PruneRefused(
                f"The prune of {self._blobs.url} stops: its mark was last renewed at {self._renewed.isoformat()}. "
                "What it deleted is safe to be gone; start it again for the rest."
            )

    async def check_own(self) -> None:
        """Check that the mark is this prune's.

        Raises:
            PruneRefused: It is not.
        """
        mark = await announced(self._blobs, self._namespace)
        if mark is None or mark.since != self._since:
            raise PruneRefused(
                f"The prune of {self._blobs.url} stops: another one has put its mark in the place of its own. "
                "Start it again when that one is done."
            )
        self._seen = self._clock()

    async def keep_renewed(self) -> None:
        """Renew the mark, for ever. What goes wrong is told by `confirm`, when the mark gets too old."""
        while True:
            await asyncio.sleep(_RENEWED_EVERY.total_seconds())
            with contextlib.suppress(StoreError):
                await self.check_own()
                at = self._clock()
                await announce(self._blobs, self._namespace, since=self._since, at=at)
                self._renewed = at

    async def end(self) -> None:
        """Take the mark away, if it is this prune's.

        Raises:
            StoreError: The store refuses.
        """
        mark = await announced(self._blobs, self._namespace)
        if mark is not None and mark.since == self._since:
            await withdraw(self._blobs, self._namespace)


@contextlib.asynccontextmanager
async def marked(blobs: BlobStore, namespace: str, clock: Clock) -> AsyncGenerator[Marked, None]:
    """Hold the mark while the block is open.

    Raises:
        PruneRefused: Another prune is at work.
        StoreError: The store cannot be read or written.
    """
    since = clock()
    there = await announced(blobs, namespace)
    if there is not None and there.is_fresh(since):
        raise PruneRefused(
            f"The blob store {blobs.url} is being pruned by another process, since {there.since.isoformat()}. Try "
            f"again when it is done. If it was killed, that is {MARK_FRESH_FOR.seconds // 60} minutes after its last "
            f"sign of life, {there.at.isoformat()}; or delete {pruning_object(namespace)}."
        )
    await announce(blobs, namespace, since=since, at=since)
    mark = Marked(blobs, namespace, since, clock)
    renewing = asyncio.create_task(mark.keep_renewed())
    try:
        yield mark
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
        await mark.end()
