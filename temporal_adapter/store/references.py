"""What checkpoints refer to: the objects that must stay as long as they do. Reads only; a prune decides and deletes.

    manifest ─┬─ list of pages ── page ── value ── part
              ├─ outline of the graph
              └─ value ── part

Values that only Temporal's history refers to (outputs, payloads of events, what a sub-workflow stowed) are not
found here: no checkpoint knows of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from temporal_adapter import wire
from temporal_adapter.wire.manifest import PagedManifest

from .bounded import bounded_map
from .chunks import LARGEST
from .errors import CorruptObject, MissingObject
from .forms import Form, Forms, header_of
from .names import chunk_object, value_object
from .pages import snapshot_of
from .values import ValueStore

_FORMS_AT_ONCE = 8

Refs = dict[str, int]
"""Digests of values, each with the bytes of its JSON text."""


class References:
    """Collects the names of the objects that checkpoints of a namespace refer to. Looks at what they share once.

    Args:
        values: The values of the namespace.
        namespace: The namespace.
    """

    def __init__(self, values: ValueStore, namespace: str) -> None:
        self._values = values
        self._namespace = namespace
        self._forms = Forms(values, cache_bytes=0)
        self._seen: set[str] = set()
        self.objects: set[str] = set()
        """The names so far."""

    async def add(self, forms: Iterable[Form]) -> None:
        """Add what these checkpoints refer to.

        What is missing or damaged is added by name, and not what only it could tell of.

        Raises:
            StoreError: The store cannot be read.
        """
        await bounded_map(self._add_form, forms, _FORMS_AT_ONCE)

    async def add_values(self, refs: Refs) -> None:
        """Add values, and the parts they are stored in. What is missing or damaged is added as in `add`.

        Raises:
            StoreError: The store cannot be read.
        """
        await bounded_map(self._add_value, refs.items())

    async def _add_form(self, form: Form) -> None:
        head = header_of(form)
        await self.add_values({**refs_in(head), **refs_of(head.messages)})
        if not isinstance(form, PagedManifest):
            return
        for changes in (form.removed, form.changed):
            if changes is not None:
                await self.add_values(refs_in(changes))
        if form.graph is not None:
            await self._add_text(form.graph)
        if form.pages not in self._seen:
            await self._add_text(form.pages)
            try:
                pages = await self._forms.pages_of(form)
            except (CorruptObject, MissingObject):
                return
            await bounded_map(self._add_page, pages)

    async def _add_page(self, digest: str) -> None:
        if digest in self._seen:
            return
        text = await self._add_text(digest)
        if text is not None:
            await self.add_values(refs_in(snapshot_of([text])))

    async def _add_value(self, ref: tuple[str, int]) -> None:
        digest, size = ref
        if digest not in self._seen:
            await self._add_object(digest, in_parts=size > LARGEST)

    async def _add_text(self, digest: str) -> bytes | None:
        try:
            text = await self._values.get_text(digest)
        except (CorruptObject, MissingObject):
            text = None
        await self._add_object(digest, in_parts=text is not None and len(text) > LARGEST)
        return text

    async def _add_object(self, digest: str, *, in_parts: bool) -> None:
        self._seen.add(digest)
        self.objects.add(value_object(self._namespace, digest))
        if in_parts:
            try:
                parts = await self._values.chunks_of(digest)
            except (CorruptObject, MissingObject):
                return
            self.objects.update(chunk_object(self._namespace, part) for part in parts)


def refs_in(entries: wire.SnapshotEntries | wire.Changes) -> Refs:
    """Return the values that entries, or changes of them, refer to, at all levels."""
    refs: Refs = {}
    for section in (entries.state, entries.executors, entries.attributes):
        refs.update(pair for value in section.values() if value is not None for pair in _pairs(value))
    for messages in entries.buffers.values():
        refs.update(refs_of(messages or []))
    refs.update(pair for request in entries.requests.values() if request is not None for pair in _pairs(request.data))
    for child in entries.children.values():
        refs.update(refs_in(child))
    return refs


def refs_of(messages: Iterable[wire.Message]) -> Refs:
    """Return the values that messages refer to."""
    refs: Refs = {}
    for message in messages:
        refs.update(_pairs(message.data))
        if message.request is not None:
            refs.update(_pairs(message.request.data))
    return refs


def _pairs(value: wire.Value) -> Iterator[tuple[str, int]]:
    if value.ref is not None:
        yield value.ref, value.size
    for patch in value.patches:
        yield from _pairs(patch)
