"""How writers and a prune stay out of each other's way. What is pruned is not decided here.

A prune deletes values that no checkpoint refers to any more. A worker may be about to refer to one of them again, since
equal values are one object. They need no lock, because each keeps to its half of this:

- A prune first puts a mark, `<namespace>/pruning`, and renews it every few minutes; it lists only after that, and it
  deletes no value that was written within `KEPT_FOR`.
- A writer that finds its value in the store already writes it again when it is older than `RENEWED_AFTER`, and *then*
  looks for the mark. None there: whatever prune comes next sees a young value. A fresh one: the prune may have listed
  before the value was renewed, by this writer or by another, so unless the value is older than the prune, the writer
  reports trouble, and its workflow tries again later.
- A writer trusts its memory that a value is there for `TRUSTED_FOR`, so a value it refers to is at most `RENEWED_AFTER`
  and `TRUSTED_FOR` old, well within `KEPT_FOR`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

import msgspec

from . import names
from .blobs import BlobStore
from .errors import CorruptObject, MissingObject, StoreError
from .records import Records

KEPT_FOR = timedelta(hours=24)
"""Age up to which a prune leaves every value alone, referred to or not."""

RENEWED_AFTER = timedelta(hours=12)
"""Age beyond which a writer that needs a value writes it again."""

TRUSTED_FOR = timedelta(hours=6)
"""How long a writer trusts its memory that a value is in the store."""

MARK_FRESH_FOR = timedelta(minutes=10)
"""Age beyond which a mark is one that a prune left behind when it was killed."""

_CLOCKS_DIFFER_BY = timedelta(minutes=10)

Clock = Callable[[], datetime]
"""Tells the time, with a time zone."""


class _Mark(msgspec.Struct, frozen=True):
    since: str  # when the prune began
    at: str  # when it renewed the mark


class Mark(NamedTuple):
    """A mark, as its prune left it: when that began, and when it renewed the mark."""

    since: datetime
    at: datetime

    def is_fresh(self, now: datetime) -> bool:
        """Return whether its prune is at work."""
        return abs(now - self.at) < MARK_FRESH_FOR  # clocks differ, so a mark may seem to be of the future


def present() -> datetime:
    """Return the present time."""
    return datetime.now(timezone.utc)


async def announce(blobs: BlobStore, namespace: str, *, since: datetime, at: datetime) -> None:
    """Put the mark, or renew it.

    Args:
        blobs: The store that is pruned.
        namespace: The namespace that is pruned.
        since: When this prune began.
        at: The present time.

    Raises:
        StoreError: The store cannot be written.
    """
    await Records(blobs).write(names.pruning_object(namespace), _Mark(since.isoformat(), at.isoformat()))


async def announced(blobs: BlobStore, namespace: str) -> Mark | None:
    """Return the mark, if there is one, fresh or not.

    Raises:
        StoreError: The store cannot be read, or the mark is damaged.
    """
    name = names.pruning_object(namespace)
    try:
        mark = await Records(blobs).read(_Mark, name, "The mark of a prune")
    except MissingObject:
        return None
    except CorruptObject as error:
        raise CorruptObject(f"{error} Delete the object when no prune is at work.") from error
    return Mark(datetime.fromisoformat(mark.since), datetime.fromisoformat(mark.at))


async def withdraw(blobs: BlobStore, namespace: str) -> None:
    """Take the mark away.

    Raises:
        StoreError: The store refuses.
    """
    await blobs.delete(names.pruning_object(namespace))


async def check_not_pruned(blobs: BlobStore, namespace: str, now: datetime, *, written: datetime | None = None) -> None:
    """Check that no prune is at work. Comes after what must be safe from it was found or written.

    Args:
        blobs: The store.
        namespace: The namespace.
        now: The present time.
        written: When it was written, if it was young then: a prune that began after that leaves it alone.

    Raises:
        StoreError: One is; or the store cannot be read, or the mark is damaged.
    """
    mark = await announced(blobs, namespace)
    if mark is None or (written is not None and written < mark.since - _CLOCKS_DIFFER_BY):
        return
    if mark.is_fresh(now):
        raise StoreError(
            f"The blob store {blobs.url} is being pruned, try again: {names.pruning_object(namespace)} was renewed at "
            f"{mark.at.isoformat()}."
        )
