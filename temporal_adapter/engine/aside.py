"""What sub-workflows changed in the superstep of the run that is under way: it counts when that is over.

A sub-workflow may run many supersteps within one of its parent, and no checkpoint is made meanwhile to build on. So
that history does not carry all that it changed with each of its deliveries, its entries are *stowed* from time to time:
written to the blob store by themselves, and referred to from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from temporal_adapter import wire

from .snapshot import Entries, Place, merged, weight

STOW_AFTER = 32 * 1024
"""Bytes of entries that a sub-workflow's deliveries carry in all before its entries are stowed: what that costs."""

_WORTH_STOWING = 1024  # bytes; a reference is a tenth of it


class Aside:
    """Entries of sub-workflows since the last superstep of the run, by path."""

    def __init__(self) -> None:
        self._entries = Entries()
        self._number = 0  # of the next entry
        self._carried: dict[str, int] = {}  # bytes of entries in deliveries since the last stowing

    def put(self, place: Place, value: Any) -> None:
        """Set an entry; None deletes it."""
        self._entries.put(place, value, self._number)
        self._number += 1

    def over(self, under: wire.Changes, path: str) -> wire.Changes:
        """Return the changes of a level with its entries laid over them."""
        return merged(under, self._entries.level(path))

    def paths(self) -> list[str]:
        """Return the paths of the levels that have entries."""
        return self._entries.paths()

    def carry(self, path: str, changes: wire.Changes, times: int) -> bool:
        """Whether so many deliveries may carry the changes of a level; else they are to be stowed first."""
        size = weight(changes)
        carried = self._carried.get(path, 0) + size * times
        if size >= _WORTH_STOWING and carried > STOW_AFTER:
            return False
        self._carried[path] = carried
        return True

    def stowed(self, path: str, value: wire.Value) -> None:
        """All that a level had is in the blob store. Nothing was put in it since it was asked for."""
        self._carried[path] = 0
        self.put((path, "stowed", ""), value)

    def drain(self) -> Iterator[tuple[Place, Any]]:
        """Yield all entries, and forget them."""
        entries, self._entries = self._entries, Entries()
        self._carried.clear()
        for place, value, _ in entries.all():
            yield place, value
