"""A list that is only appended to, and whose beginning may be in the blob store: in pages, which it refers to.

Items are counted by *offset*, from 0, for the life of the run. Where they are stored is not decided here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from temporal_adapter import wire

ItemT = TypeVar("ItemT")


class Log(Generic[ItemT]):
    """Items, appended only.

    Args:
        count: How many an item stands for.

    Attributes:
        pages: Of the items that are in the blob store, oldest first.
        items: Those that follow.
        length: How many there are in all.
    """

    def __init__(self, count: Callable[[ItemT], int] = lambda _: 1) -> None:
        self.pages: list[wire.ArchivedPage] = []
        self.items: list[ItemT] = []
        self.length = 0
        self._count = count
        self._offsets: list[int] = []  # of `items`

    def load(self, pages: Iterable[wire.ArchivedPage], items: Iterable[ItemT]) -> None:
        """Go on from what another log had."""
        self.pages = list(pages)
        self.items, self._offsets = [], []
        self.length = self.pages[-1].next if self.pages else 0
        for item in items:
            self.append(item)

    @property
    def first(self) -> int:
        """The offset from which on items are here."""
        return self.pages[-1].next if self.pages else 0

    def append(self, item: ItemT) -> None:
        """Append an item."""
        self._offsets.append(self.length)
        self.items.append(item)
        self.length += self._count(item)

    def remove(self, place: int) -> None:
        """Forget one of `items`; what follows moves up."""
        count = self._count(self.items[place])
        del self.items[place], self._offsets[place]
        self._offsets[place:] = [one - count for one in self._offsets[place:]]
        self.length -= count

    def archived(self, offset: int) -> wire.ArchivedPage | None:
        """Return the page in the blob store that has an offset, if one has."""
        if not self.pages or not 0 <= offset < self.first:
            return None
        return self.pages[bisect_right([page.first for page in self.pages], offset) - 1]

    def place_of(self, offset: int) -> int:
        """Return the place in `items` of the one that has an offset which is here; at the end, their number."""
        return bisect_right(self._offsets, offset) - 1 if offset < self.length else len(self.items)

    def offset_of(self, place: int) -> int:
        """Return the offset of one of `items`; of their number, that of the next."""
        return self._offsets[place] if place < len(self.items) else self.length

    def archive(self, pages: Sequence[wire.ArchivedPage]) -> None:
        """These pages, of the first of `items`, are in the blob store now."""
        if not pages:
            return
        kept = self.place_of(pages[-1].next)
        self.pages += pages
        del self.items[:kept], self._offsets[:kept]
