"""How writers and a prune stay out of each other's way. What is pruned is not decided here.

A prune deletes values that no checkpoint refers to any more. A worker may be about to refer to one of them again, since
equal values are one object. They need no lock, because each keeps to its half of this:

- A prune first puts a mark, `<namespace>/pruning`, and renews it every few minutes; it lists only after that, and it
  deletes no value that was written within `KEPT_FOR`.
- A writer that finds its value in the store already, older than `RENEWED_AFTER`, writes it again, and *then* looks for
  the mark. None there: whatever prune comes next sees a young value. A fresh one: the prune may have listed before the
  value was young, so the writer reports trouble, and its workflow tries again later.
- A writer trusts its memory that a value is there for `TRUSTED_FOR`, so a value it refers to is at most `RENEWED_AFTER`
  and `TRUSTED_FOR` old, well within `KEPT_FOR`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

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

_RETRY = "The value store is being pruned, try again"

Clock = Callable[[], datetime]
"""Tells the time, with a time zone."""


class _Mark(msgspec.Struct, frozen=True):
    at: str


def present() -> datetime:
    """Return the present time."""
    return datetime.now(timezone.utc)


async def announce(blobs: BlobStore, namespace: str, at: datetime) -> None:
    """Put the mark, or renew it.

    Raises:
        StoreError: The store cannot be written.
    """
    await Records(blobs).write(names.pruning_object(namespace), _Mark(at.isoformat()))


async def withdraw(blobs: BlobStore, namespace: str) -> None:
    """Take the mark away.

    Raises:
        StoreError: The store refuses.
    """
    await blobs.delete(names.pruning_object(namespace))


async def check_not_pruned(blobs: BlobStore, namespace: str, now: datetime) -> None:
    """Check that no prune is at work. Comes after what must be safe from it was written.

    Raises:
        StoreError: One is; or the store cannot be read, or the mark is damaged.
    """
    name = names.pruning_object(namespace)
    try:
        at = datetime.fromisoformat((await Records(blobs).read(_Mark, name, "The mark of a prune")).at)
    except MissingObject:
        return
    except CorruptObject as error:
        raise CorruptObject(f"{error} Delete the object when no prune is at work.") from error
    if abs(now - at) < MARK_FRESH_FOR:  # clocks differ, so a mark may seem to be of the future
        raise StoreError(f"{_RETRY}: {name} in the blob store {blobs.url} is of {at.isoformat()}.")
