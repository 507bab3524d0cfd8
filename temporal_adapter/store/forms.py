"""The form in which a checkpoint is stored: in one piece while its entries are few, else by pages and changes.

A superstep that changes one entry of thousands writes a manifest with that change. When the changes in a manifest
grow, they are folded into the pages: those that have changed entries are written anew, and so is the list of pages. It
is done when the changes exceed the square root of all, in bytes, times a factor: then neither the changes, which every
manifest repeats, nor the list, which every fold repeats, cost more than that root does for each superstep.

Pages and lists are values, read and written through a `ValueStore`. Manifests themselves are not read or written here.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from math import isqrt
from typing import TypeVar

import msgspec

from temporal_adapter import wire
from temporal_adapter.wire.manifest import GraphOutline, PagedManifest, PageList

from .bounded import bounded_map
from .errors import CorruptObject, StoreError
from .manifests import with_entries
from .overlay import composed, overlay
from .pages import pages_of, snapshot_of
from .values import ValueStore

ShapeT = TypeVar("ShapeT", bound=msgspec.Struct)

Form = wire.Manifest | PagedManifest

WHOLE_UP_TO = 8 * 1024
"""Bytes of entries up to which a checkpoint is stored in one piece."""

_SMALLEST_FOLD = 4 * 1024
_FOLD_FACTOR = 4
_LARGEST_INLINE_OUTLINE = 1024
_NONE = wire.Changes()


@dataclass(frozen=True)
class Laid:
    """Changes laid over a checkpoint without reading its pages."""

    pages: str
    size: int
    removed: wire.Changes
    changed: wire.Changes


def header_of(form: Form) -> wire.Manifest:
    """Return the checkpoint without what is in pages."""
    return form.manifest if isinstance(form, PagedManifest) else form


class Forms:
    """Turns checkpoints into the form in which they are stored, and back.

    Args:
        values: Where pages go.
        cache_bytes: JSON bytes of the entries to keep at hand, for a worker that goes on from its own checkpoint.
    """

    def __init__(self, values: ValueStore, *, cache_bytes: int) -> None:
        self._values = values
        self._entries = _EntriesCache(cache_bytes)

    async def laid_over(self, base: Form | None, changes: wire.Changes) -> Laid | wire.SnapshotEntries:
        """Return the entries that result from changes to a checkpoint; as changes still, where that is cheaper.

        Raises:
            StoreError: The pages of the base are needed and cannot be read.
        """
        if not isinstance(base, PagedManifest):
            return overlay(base or wire.SnapshotEntries(), changes)
        removed, changed = composed(base.removed or _NONE, base.changed or _NONE, changes)
        size = sum(len(wire.to_bytes(wire.dump(one))) for one in (removed, changed))
        if size <= max(_SMALLEST_FOLD, _FOLD_FACTOR * isqrt(base.size)):
            return Laid(base.pages, base.size, removed, changed)
        return overlay(overlay(await self._paged(base), removed), changed)

    async def form_of(self, head: wire.Manifest, entries: Laid | wire.SnapshotEntries) -> Form:
        """Return the form in which to store a checkpoint, once its pages are in the store.

        Args:
            head: The checkpoint without entries.
            entries: Its entries.

        Raises:
            StoreError: The pages cannot be written.
        """
        if isinstance(entries, wire.SnapshotEntries):
            if len(wire.to_bytes(wire.dump(entries))) <= WHOLE_UP_TO:
                return with_entries(head, entries)
            entries = await self._in_pages(entries)
        outline = wire.dump(GraphOutline(executor_ids=head.executor_ids, outlines=head.outlines))
        graph = None
        if len(wire.to_bytes(outline)) > _LARGEST_INLINE_OUTLINE:
            graph = await self._values.put(outline)
            head = wire.replace(head, executor_ids=[], outlines={})
        return PagedManifest(
            manifest=head,
            pages=entries.pages,
            size=entries.size,
            removed=None if entries.removed == _NONE else entries.removed,
            changed=None if entries.changed == _NONE else entries.changed,
            graph=graph,
        )

    async def manifest_of(self, form: Form) -> wire.Manifest:
        """Return the complete checkpoint that is stored in a form.

        Raises:
            StoreError: Its pages cannot be read.
        """
        if isinstance(form, wire.Manifest):
            return form
        head = form.manifest
        if form.graph is not None:
            outline = await self._shape(GraphOutline, form.graph)
            head = wire.replace(head, executor_ids=outline.executor_ids, outlines=outline.outlines)
        entries = overlay(await self._paged(form), form.removed or _NONE)  # never the cached one itself
        return with_entries(head, overlay(entries, form.changed or _NONE))

    async def pages_of(self, form: PagedManifest) -> list[str]:
        """Return the digests of a checkpoint's pages.

        Raises:
            StoreError: The list of them cannot be read.
        """
        return (await self._shape(PageList, form.pages)).pages

    async def _in_pages(self, entries: wire.SnapshotEntries) -> Laid:
        texts = pages_of(entries)
        listed = PageList(pages=await bounded_map(self._values.put_text, texts))
        digest = await self._values.put(wire.dump(listed))  # after them, so that nobody finds a list without its pages
        size = sum(map(len, texts))
        self._entries.put(digest, entries, size)
        return Laid(digest, size, _NONE, _NONE)

    async def _paged(self, form: PagedManifest) -> wire.SnapshotEntries:
        entries = self._entries.get(form.pages)
        if entries is None:
            texts = await bounded_map(self._values.get_text, await self.pages_of(form))
            try:
                entries = snapshot_of(texts)
            except ValueError as error:
                raise CorruptObject(f"The pages in the list {form.pages} are no pages: {error}") from error
            self._entries.put(form.pages, entries, form.size)
        return entries

    async def _shape(self, shape: type[ShapeT], digest: str) -> ShapeT:
        try:
            return wire.load(shape, json.loads(await self._values.get_text(digest)))
        except wire.WireError as error:
            raise StoreError(f"The value {digest}: {error}") from error


class _EntriesCache:
    """The entries in pages, by the digest of the list. Least recently used ones go first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._entries: OrderedDict[str, tuple[wire.SnapshotEntries, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> wire.SnapshotEntries | None:
        with self._lock:
            found = self._entries.get(digest)
            if found is None:
                return None
            self._entries.move_to_end(digest)
            return found[0]

    def put(self, digest: str, entries: wire.SnapshotEntries, size: int) -> None:
        with self._lock:
            self._size += size - self._entries.pop(digest, (entries, 0))[1]
            self._entries[digest] = (entries, size)
            while self._size > self._limit:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._size -= dropped
