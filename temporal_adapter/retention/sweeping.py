"""Objects that nothing refers to any more. Reads only; deletes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from temporal_adapter.store import BlobStore, CorruptObject, MissingObject, ValueStore, pruning
from temporal_adapter.store.blobs import Entry
from temporal_adapter.store.bounded import bounded_map
from temporal_adapter.store.references import References

from .histories import Mentions, refs_in_text, stowed_in_text
from .survey import Surveyor, Written

_FORMS_AT_ONCE = 64


async def referred_to(
    blobs: BlobStore, namespace: str, kept: Sequence[Written], histories: Iterable[Mentions]
) -> set[str]:
    """Return the names of the content-named objects that checkpoints and histories refer to.

    Raises:
        StoreError: The store cannot be read.
    """
    values = ValueStore(blobs, namespace, cache_bytes=0)
    references = References(values, namespace)
    surveyor = Surveyor(blobs, namespace)
    for start in range(0, len(kept), _FORMS_AT_ONCE):
        await references.add(await surveyor.forms(kept[start : start + _FORMS_AT_ONCE]))
    stowed: set[str] = set()
    for mentions in histories:
        await references.add_values(mentions.refs)
        stowed |= mentions.stowed
        for parts in mentions.parts:
            text = await _joined(values, parts)
            await references.add_values(refs_in_text(text))
            stowed |= stowed_in_text(text)

    async def inside(ref: str) -> dict[str, int]:
        try:
            return refs_in_text(await values.get_text(ref))
        except (CorruptObject, MissingObject):
            return {}

    for refs in await bounded_map(inside, sorted(stowed)):
        await references.add_values(refs)
    return references.objects


async def _joined(values: ValueStore, parts: Sequence[str]) -> bytes:
    """Return the text that strings in the store make; without those that are gone, whose run cannot go on anyway."""
    texts: list[str] = []
    for ref in parts:
        try:
            texts.append(str(json.loads(await values.get_text(ref))))
        except (CorruptObject, MissingObject):
            continue
    return "".join(texts).encode()


def unreferenced(entries: Iterable[Entry], referred: set[str], now: datetime) -> list[Entry]:
    """Return the objects that nothing refers to, and that nobody may be about to refer to."""
    return [entry for entry in entries if entry.name not in referred and is_old(entry, now)]


def is_old(entry: Entry, now: datetime) -> bool:
    """Return whether an object is older than what every prune leaves alone."""
    return now - entry.modified > pruning.KEPT_FOR
