"""Checkpoints in the blob store: written once per writer, read back checked, listed by lineage.

    <namespace>/checkpoints/<checkpoint id>/<rank>.json   `wire.Manifest`, or `wire.PagedManifest`, sealed

Reading a checkpoint never needs its parent or its base: what they share is in pages, which are values (`store.forms`).
Beside each checkpoint goes its entry in the index (`store.index`), and each run has an entry (`store.runs`).

Several attempts of one activity may write the same checkpoint with different outcomes, a zombie among them. So each
writes under its own rank, and a reader takes the highest: the latest attempt's, or, above all, the one made
from recorded history. A `wire.Base` names one object exactly and is not affected.

This module decides nothing about runs, and never reads or writes the values that a manifest refers to.
"""

from __future__ import annotations

import asyncio
import hashlib

from temporal_adapter import wire
from temporal_adapter.wire.manifest import PagedManifest

from . import names
from .blobs import BlobStore
from .bounded import bounded_map
from .cache import ByteCache
from .errors import CorruptObject, MissingObject, StoreError
from .forms import Form, Forms, Laid, header_of
from .index import Index
from .manifests import bare_manifest
from .pruning import Clock, check_not_pruned, present
from .records import Records
from .runs import Runs
from .seal import seal
from .values import ValueStore

CACHE_BYTES = 32 * 1024 * 1024
"""Bytes of manifests, and again of pages, that a store keeps in memory unless told otherwise."""

_SMALL = 4096  # bytes of a manifest whose run carries its snapshot whole, and so never reads it back
_OBJECTS_TO_BYTES = 8  # roughly: of memory that entries take as objects, to that as JSON
_LOADS_AT_ONCE = 8  # checkpoints; each may read many pages


class CheckpointStore:
    """Writes and reads checkpoints.

    Checkpoint ids are unique within a namespace. Manifests that were committed or loaded lately are kept in memory, so
    that a worker that goes on from its own checkpoint reads it for free.

    Args:
        blobs: Where objects go.
        namespace: First segment of their names.
        cache_bytes: Memory to use for the cache of manifests, and again for that of pages; 0 turns them off.
        clock: Tells the time, with a time zone.
    """

    def __init__(
        self, blobs: BlobStore, namespace: str, *, cache_bytes: int = CACHE_BYTES, clock: Clock = present
    ) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._clock = clock
        self._cache = ByteCache(cache_bytes)
        pages = ValueStore(blobs, namespace, cache_bytes=cache_bytes, clock=clock)
        self._forms = Forms(pages, cache_bytes=cache_bytes // _OBJECTS_TO_BYTES)
        self._records = Records(blobs)
        self._index = Index(blobs, namespace)
        self._runs = Runs(blobs, namespace)

    async def commit(
        self, record: wire.CheckpointRecord, *, graph: wire.Graph, workflow_id: str, rank: str, run_id: str = ""
    ) -> wire.Base:
        """Write a checkpoint and return where it is. Committing the same record again changes nothing.

        Args:
            record: The checkpoint; its base must be in this store.
            graph: The graph of the run.
            workflow_id: Temporal's.
            rank: `attempt_rank(...)` for the outcome of the activity attempt that writes it, `RECORDED_RANK` for an
                outcome that history has recorded.
            run_id: Temporal's, of the run that writes it.

        Raises:
            MissingObject: The base is not in the store.
            CorruptObject: The base is damaged.
            StoreError: The store cannot be read or written; or it has a different checkpoint of this id and rank; or it
                is being pruned: try again.
            ValueError: `rank` is not a rank.
        """
        checkpoint_id = record.header.checkpoint_id
        name = names.manifest_object(self._namespace, checkpoint_id, rank)
        head = bare_manifest(record, graph, workflow_id, run_id)
        base_form, entries = await self._laid_over_base(record)
        form = await self._forms.form_of(head, entries)
        data = seal(wire.dump(form))
        created, _ = await asyncio.gather(self._blobs.put_new(name, data), self._index.write(head))
        if not created:
            data = await self._kept(checkpoint_id, name, data, form)
        if base_form is not None and header_of(base_form).run_id != run_id:
            # A prune may be taking what this run has of another, unless it listed this checkpoint as well.
            await check_not_pruned(self._blobs, self._namespace, self._clock())
        base = wire.Base(checkpoint_id=checkpoint_id, object=name, digest=hashlib.sha256(data).hexdigest())
        if len(data) > _SMALL or isinstance(form, PagedManifest):
            self._cache.put(_cache_key(base), data)
        return base

    async def discard(self, checkpoint_id: str, run_id: str = "") -> None:
        """Mark a checkpoint as one that never happened: an attempt that history did not accept may have written it.

        The mark holds for what a run writes of it, now or later. In another run, that Temporal's reset made of this
        one, the same checkpoint may happen all the same. Discarding it again changes nothing.

        Raises:
            StoreError: The store cannot be written.
        """
        await self._blobs.put_new(names.discarded_object(self._namespace, checkpoint_id, run_id), b"")

    async def load(self, base: wire.Base) -> wire.Manifest:
        """Return the very checkpoint that `base` names, complete.

        When its very object is gone, that of `RECORDED_RANK` stands in: history made it, so it means the same.

        Raises:
            MissingObject: Neither is in the store, or a page is not.
            CorruptObject: The object in the store is another one, or damaged, or a page is.
            StoreError: The store cannot be read, or a later release wrote the checkpoint.
        """
        return await self._complete(await self._form_of_base(base))

    async def object_size(self, base: wire.Base) -> int:
        """Return the bytes of the checkpoint's object, without those of its pages.

        Raises:
            StoreError: As `load`.
        """
        return len(await self._read(base))

    async def load_by_id(self, checkpoint_id: str) -> wire.Manifest | None:
        """Return a checkpoint, complete, as its highest-ranking writer left it.

        None when nobody wrote it, or it was discarded.

        Raises:
            MissingObject: A page of it is not in the store.
            CorruptObject: That writer's object is damaged, or a page is. A lower-ranking one never stands in for it.
            StoreError: The store cannot be read, or a later release wrote the checkpoint.
        """
        found = await self.find(checkpoint_id)
        return None if found is None else found[1]

    async def find(self, checkpoint_id: str) -> tuple[wire.Base, wire.Manifest] | None:
        """Return the same, with where it is.

        Raises:
            StoreError: As `load_by_id`.
        """
        objects = await self._blobs.list(names.manifest_prefix(self._namespace, checkpoint_id))
        if not objects:
            return None
        discarded = await self._blobs.list(names.discarded_prefix(self._namespace, checkpoint_id))
        for name in reversed(objects):
            try:
                data = await self._records.bytes_of(name, _whose(checkpoint_id))
            except MissingObject:  # deleted since it was listed
                continue
            form = self._form_in(data, name, checkpoint_id)
            if names.discarded_object(self._namespace, checkpoint_id, header_of(form).run_id) not in discarded:
                base = wire.Base(checkpoint_id=checkpoint_id, object=name, digest=hashlib.sha256(data).hexdigest())
                return base, await self._complete(form)
        return None

    async def stored_form(self, name: str, checkpoint_id: str) -> Form:
        """Return what the object of this name holds, without reading pages. For `store.references`.

        Raises:
            StoreError: As `load`.
        """
        return self._form_in(await self._records.bytes_of(name, _whose(checkpoint_id)), name, checkpoint_id)

    async def list(self, workflow_name: str, workflow_id: str | None = None) -> list[wire.Manifest]:
        """Return the checkpoints of a workflow, or of one workflow id, each parent before its children.

        `lineage_order` says how forks, and checkpoints whose parent is gone, are placed.

        Raises:
            CorruptObject: One of them is damaged.
            StoreError: The store cannot be read, or a later release wrote one of them.
        """
        found = await bounded_map(self.load_by_id, await self.list_ids(workflow_name, workflow_id), _LOADS_AT_ONCE)
        return [manifest for manifest in found if manifest is not None]

    async def list_ids(self, workflow_name: str, workflow_id: str | None = None) -> list[str]:
        """Return the ids of the same checkpoints in the same order, from the index alone.

        A checkpoint that is being written at this moment may be listed a little before it can be loaded.

        Raises:
            CorruptObject: An index entry is damaged.
            StoreError: The store cannot be read, or a later release wrote an entry.
        """
        return [entry.header.checkpoint_id for entry in await self.headers(workflow_name, workflow_id)]

    async def headers(self, workflow_name: str, workflow_id: str | None = None) -> list[wire.IndexEntry]:
        """Return the index entries of the same checkpoints in the same order.

        Raises:
            StoreError: As `list_ids`.
        """
        entries = await self._index.headers(workflow_name, workflow_id)
        marks = await self._blobs.list(names.discarded_prefix(self._namespace))
        marked = {mark.rpartition("/")[0] for mark in marks}
        return [
            entry
            for entry in entries
            if names.discarded_prefix(self._namespace, entry.header.checkpoint_id) not in marked
            or await self.find(entry.header.checkpoint_id) is not None
        ]

    async def workflows(self) -> list[tuple[str, str]]:
        """Return the workflow names and workflow ids that have checkpoints, sorted.

        Raises:
            StoreError: As `list_ids`.
        """
        return await self._index.workflows()

    async def put_run(self, entry: wire.RunEntry) -> None:
        """Write a run's entry, in place of an older one.

        Raises:
            StoreError: The store cannot be written; or the run goes on from a checkpoint, and the store is being
                pruned: look again for the checkpoint later.
        """
        await self._runs.put(entry)
        if entry.restored is not None and entry.ended is None:
            # A prune may be taking that checkpoint, unless it listed this entry as well.
            await check_not_pruned(self._blobs, self._namespace, self._clock())

    async def run(self, workflow_name: str, workflow_id: str, run_id: str) -> wire.RunEntry | None:
        """Return the entry of a run; None if there is none.

        Raises:
            CorruptObject: It is damaged, or that of another run.
            StoreError: The store cannot be read, or a later release wrote it.
        """
        return await self._runs.get(workflow_name, workflow_id, run_id)

    async def runs(self, workflow_name: str | None = None, workflow_id: str | None = None) -> list[wire.RunEntry]:
        """Return the entries of all runs, or of those of a workflow or workflow id, oldest first.

        Raises:
            CorruptObject: One is damaged, or that of another run.
            StoreError: The store cannot be read, or a later release wrote one.
        """
        return await self._runs.list(workflow_name, workflow_id)

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete a checkpoint, whoever wrote it; return whether there was one. Damaged ones can be deleted.

        Values and pages stay: other checkpoints may share them. A run whose next commit builds on the checkpoint will
        report it missing, so delete checkpoints of closed runs only.

        Raises:
            StoreError: The store cannot be read or refuses.
        """
        objects = await self._blobs.list(names.manifest_prefix(self._namespace, checkpoint_id))
        if not objects:
            return False
        self._cache.clear()
        # The index first: if this stops half way, the manifests still tell a second call what else to delete.
        await bounded_map(self._blobs.delete, await self._index_objects(checkpoint_id, objects))
        await bounded_map(self._blobs.delete, objects)
        return True

    async def _laid_over_base(self, record: wire.CheckpointRecord) -> tuple[Form | None, Laid | wire.SnapshotEntries]:
        base, changes = record.snapshot.base, record.snapshot.changes
        if base is None:
            return None, await self._forms.laid_over(None, changes)
        try:
            form = await self._form_of_base(base)
            return form, await self._forms.laid_over(form, changes)
        except StoreError as error:
            raise type(error)(
                f"Checkpoint {record.header.checkpoint_id!r} cannot be written, because the checkpoint "
                f"{base.checkpoint_id!r} it builds on cannot be read: {error}"
            ) from error

    async def _kept(self, checkpoint_id: str, name: str, data: bytes, form: Form) -> bytes:
        """Return the bytes that an earlier commit under the same name left, which must mean the same as `data`."""
        try:
            kept = await self._blobs.get(name)
            same = kept == data or await self._mean_the_same(self._form_in(kept, name, checkpoint_id), form)
        except (CorruptObject, MissingObject):
            await self._blobs.put(name, data)  # cut short by a power loss or deleted since: made whole again
            return data
        if not same:
            raise StoreError(
                f"Checkpoint {checkpoint_id!r} cannot be written: {name} in the blob store {self._blobs.url} already "
                "holds a different outcome of it. Two runs share a checkpoint id; give them different namespaces."
            )
        return kept

    async def _mean_the_same(self, one: Form, other: Form) -> bool:
        first, second = await asyncio.gather(self._complete(one), self._complete(other))
        return wire.replace(first, run_id="") == wire.replace(second, run_id="")

    async def _complete(self, form: Form) -> wire.Manifest:
        try:
            return await self._forms.manifest_of(form)
        except StoreError as error:
            raise type(error)(f"{_whose(header_of(form).header.checkpoint_id)} cannot be read: {error}") from error

    async def _form_of_base(self, base: wire.Base) -> Form:
        try:
            return self._form_in(await self._read(base), base.object, base.checkpoint_id)
        except MissingObject:
            recorded = names.manifest_object(self._namespace, base.checkpoint_id, names.RECORDED_RANK)
            if recorded == base.object or not await self._blobs.exists(recorded):
                raise
        data = await self._records.bytes_of(recorded, _whose(base.checkpoint_id))
        return self._form_in(data, recorded, base.checkpoint_id)

    async def _read(self, base: wire.Base) -> bytes:
        data = self._cache.get(_cache_key(base))
        if data is not None:
            return data
        whose = _whose(base.checkpoint_id)
        data = await self._records.bytes_of(base.object, whose)
        if hashlib.sha256(data).hexdigest() != base.digest:
            raise self._records.corrupt(whose, base.object, "its content does not have the recorded digest")
        self._cache.put(_cache_key(base), data)
        return data

    async def _index_objects(self, checkpoint_id: str, manifests: list[str]) -> list[str]:
        """Return the names of a checkpoint's index entries; by search when a damaged manifest does not tell."""
        found: set[str] = set()
        for name in manifests:
            try:
                head = header_of(self._form_in(await self._blobs.get(name), name, checkpoint_id))
            except StoreError:
                found.update(await self._index.objects_of(checkpoint_id))
            else:
                found.add(names.index_object(self._namespace, head.workflow_name, head.workflow_id, checkpoint_id))
        return sorted(found)

    def _form_in(self, data: bytes, name: str, checkpoint_id: str) -> Form:
        whose = _whose(checkpoint_id)
        fields = self._records.fields_of(data, name, whose)
        paged = isinstance(fields, dict) and "pages" in fields
        form = self._records.shape_of(PagedManifest if paged else wire.Manifest, fields, name, whose)
        found = header_of(form).header.checkpoint_id
        if found != checkpoint_id:
            raise self._records.corrupt(whose, name, f"it is checkpoint {found!r}")
        return form


def _whose(checkpoint_id: str) -> str:
    return f"Checkpoint {checkpoint_id!r}"


def _cache_key(base: wire.Base) -> str:
    return f"{base.digest} {base.object}"
