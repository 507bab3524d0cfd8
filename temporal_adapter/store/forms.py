"""The form in which a checkpoint is stored: in one piece while its entries are few, else by pages and changes.

A superstep that changes one entry of thousands writes a manifest with that change. When the changes in a manifest
grow, they are folded into the pages: those that have changed entries are written anew, and so is the list of pages. It
is done when the changes exceed the square root of all, in bytes, times a factor: then neither the changes, which every
manifest repeats, nor the list, which every fold repeats, cost more than that root does for each superstep.

Pages and lists are values, read and written through a `ValueStore`. Manifests themselves are not read or written here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isqrt
from typing import TypeVar

import msgspec

from temporal_adapter import wire
from temporal_adapter.wire.manifest import GraphOutline, PagedManifest, PageList

from .bounded import bounded_map
from .errors import CorruptObject, StoreError
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


async def laid_over(values: ValueStore, base: Form | None, changes: wire.Changes) -> Laid | wire.SnapshotEntries:
    """Return the entries that result from changes to a checkpoint; as changes still, where that is cheaper.

    Raises:
        StoreError: The pages of the base are needed and cannot be read.
    """
    if not isinstance(base, PagedManifest):
        return overlay(base or wire.SnapshotEntries(), changes)
    removed, changed = composed(base.removed or wire.Changes(), base.changed or wire.Changes(), changes)
    size = sum(len(wire.to_bytes(wire.dump(one))) for one in (removed, changed))
    if size <= max(_SMALLEST_FOLD, _FOLD_FACTOR * isqrt(base.size)):
        return Laid(base.pages, base.size, removed, changed)
    return overlay(overlay(await _paged_entries(values, base), removed), changed)


async def form_of(values: ValueStore, head: wire.Manifest, entries: Laid | wire.SnapshotEntries) -> Form:
    """Return the form in which to store a checkpoint, once its pages are in the store.

    Args:
        values: Where pages go.
        head: The checkpoint without entries.
        entries: Its entries.

    Raises:
        StoreError: They cannot be written.
    """
    if isinstance(entries, wire.SnapshotEntries):
        if len(wire.to_bytes(wire.dump(entries))) <= WHOLE_UP_TO:
            return _complete(head, entries)
        pages = pages_of(entries)
        listed = PageList(pages=await bounded_map(values.put_text, pages))
        listed_at = await values.put(wire.dump(listed))  # after them, so that nobody finds a list without its pages
        entries = Laid(listed_at, sum(map(len, pages)), wire.Changes(), wire.Changes())
    outline = wire.dump(GraphOutline(executor_ids=head.executor_ids, outlines=head.outlines))
    graph = None
    if len(wire.to_bytes(outline)) > _LARGEST_INLINE_OUTLINE:
        graph = await values.put(outline)
        head = wire.replace(head, executor_ids=[], outlines={})
    return PagedManifest(
        manifest=head,
        pages=entries.pages,
        size=entries.size,
        removed=_unless_empty(entries.removed),
        changed=_unless_empty(entries.changed),
        graph=graph,
    )


async def manifest_of(values: ValueStore, form: Form) -> wire.Manifest:
    """Return the complete checkpoint that is stored in a form.

    Raises:
        StoreError: Its pages cannot be read.
    """
    if isinstance(form, wire.Manifest):
        return form
    head = form.manifest
    if form.graph is not None:
        outline = await _shape(values, GraphOutline, form.graph)
        head = wire.replace(head, executor_ids=outline.executor_ids, outlines=outline.outlines)
    entries = await _paged_entries(values, form)
    for changes in (form.removed, form.changed):
        if changes is not None:
            entries = overlay(entries, changes)
    return _complete(head, entries)


async def _paged_entries(values: ValueStore, form: PagedManifest) -> wire.SnapshotEntries:
    listed = await _shape(values, PageList, form.pages)
    texts = await bounded_map(values.get_text, listed.pages)
    try:
        return snapshot_of(texts)
    except ValueError as error:
        raise CorruptObject(f"The pages in the list {form.pages} are no pages: {error}") from error


async def _shape(values: ValueStore, shape: type[ShapeT], digest: str) -> ShapeT:
    try:
        return wire.load(shape, json.loads(await values.get_text(digest)))
    except wire.WireError as error:
        raise StoreError(f"The value {digest}: {error}") from error


def _complete(head: wire.Manifest, entries: wire.SnapshotEntries) -> wire.Manifest:
    return wire.replace(
        head,
        state=entries.state,
        executors=entries.executors,
        attributes=entries.attributes,
        buffers=entries.buffers,
        requests=entries.requests,
        children=entries.children,
    )


def _unless_empty(changes: wire.Changes) -> wire.Changes | None:
    return None if changes == wire.Changes() else changes
