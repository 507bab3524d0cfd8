"""Checkpoints in the blob store: written once per writer, read back checked, listed by lineage.

Objects (`store.names` says how ids become names):

    <namespace>/checkpoints/<checkpoint id>/<rank>.json               `wire.Manifest`, sealed
    <namespace>/workflows/<workflow name>/<workflow id>/<checkpoint id>   `wire.IndexEntry`, sealed

A manifest is complete: reading a checkpoint never needs its parent or its base. The index entry is written beside it
and makes no checkpoint by itself.

Several attempts of one activity may write the same checkpoint with different outcomes, a zombie among them. So each
writes under its own rank, and a reader takes the highest: the latest attempt's, or, above all, the one made
from recorded history. A `wire.Base` names one object exactly and is not affected.

This module decides nothing about runs, and never reads or writes the values that a manifest refers to.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

from . import names
from .blobs import BlobStore
from .cache import ByteCache
from .errors import CorruptObject, MissingObject, StoreError
from .lineage import lineage_order
from .overlay import overlay
from .seal import seal, unseal

CACHE_BYTES = 32 * 1024 * 1024
"""Bytes of manifests a store keeps in memory unless told otherwise."""

_SMALL = 4096  # bytes of a manifest whose run carries its snapshot whole, and so never reads it back
_READS_AT_ONCE = 32

ShapeT = TypeVar("ShapeT", bound=msgspec.Struct)
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class CheckpointStore:
    """Writes and reads checkpoints.

    Checkpoint ids are unique within a namespace. Manifests that were committed or loaded lately are kept in memory, so
    that a worker that goes on from its own checkpoint reads it for free.

    Args:
        blobs: Where objects go.
        namespace: First segment of their names.
        cache_bytes: Memory to use for the cache; 0 turns it off.
    """

    def __init__(self, blobs: BlobStore, namespace: str, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._cache = ByteCache(cache_bytes)

    async def commit(
        self, record: wire.CheckpointRecord, *, graph: wire.Graph, workflow_id: str, rank: str
    ) -> wire.Base:
        """Write a checkpoint and return where it is. Committing the same record again changes nothing.

        Args:
            record: The checkpoint; its base must be in this store.
            graph: The graph of the run.
            workflow_id: Temporal's.
            rank: `attempt_rank(...)` for the outcome of the activity attempt that writes it, `RECORDED_RANK` for an
                outcome that history has recorded.

        Raises:
            MissingObject: The base is not in the store.
            CorruptObject: The base is damaged.
            StoreError: The store cannot be read or written; or it has a different checkpoint of this id and rank.
            ValueError: `rank` is not a rank.
        """
        checkpoint_id = record.header.checkpoint_id
        name = names.manifest_object(self._namespace, checkpoint_id, rank)
        entries = overlay(await self._base_entries(record), record.snapshot.changes)
        manifest = _manifest(record, entries, graph, workflow_id)
        data = seal(wire.dump(manifest))
        created, _ = await asyncio.gather(self._blobs.put_new(name, data), self._write_index_entry(manifest))
        if not created:
            data = await self._kept(checkpoint_id, name, data)
        base = wire.Base(checkpoint_id=checkpoint_id, object=name, digest=hashlib.sha256(data).hexdigest())
        if len(data) > _SMALL:
            self._cache.put(_cache_key(base), data)
        return base

    async def discard(self, checkpoint_id: str) -> None:
        """Mark a checkpoint as one that never happened: an attempt that history did not accept may have written it.

        The mark holds whoever writes the checkpoint later. Discarding it again changes nothing.

        Raises:
            StoreError: The store cannot be written.
        """
        await self._blobs.put_new(names.discarded_object(self._namespace, checkpoint_id), b"")

    async def load(self, base: wire.Base) -> wire.Manifest:
        """Return the very checkpoint that `base` names.

        Raises:
            MissingObject: It is not in the store.
            CorruptObject: The object in the store is another one, or damaged.
            StoreError: The store cannot be read, or a later release wrote the checkpoint.
        """
        data = await self._read(base)
        return self._manifest_in(data, base.object, base.checkpoint_id)

    async def object_size(self, base: wire.Base) -> int:
        """Return the bytes of the checkpoint's object.

        Raises:
            StoreError: As `load`.
        """
        return len(await self._read(base))

    async def load_by_id(self, checkpoint_id: str) -> wire.Manifest | None:
        """Return a checkpoint as its highest-ranking writer left it; None when nobody wrote it, or it was discarded.

        Raises:
            CorruptObject: That writer's object is damaged. A lower-ranking one never stands in for it.
            StoreError: The store cannot be read, or a later release wrote the checkpoint.
        """
        objects = await self._blobs.list(names.manifest_prefix(self._namespace, checkpoint_id))
        if not objects or await self._blobs.exists(names.discarded_object(self._namespace, checkpoint_id)):
            return None
        try:
            data = await self._blobs.get(objects[-1])
        except MissingObject:  # deleted since it was listed
            return None
        return self._manifest_in(data, objects[-1], checkpoint_id)

    async def list(self, workflow_name: str, workflow_id: str | None = None) -> list[wire.Manifest]:
        """Return the checkpoints of a workflow, or of one workflow id, each parent before its children.

        `lineage_order` says how forks, and checkpoints whose parent is gone, are placed.

        Raises:
            CorruptObject: One of them is damaged.
            StoreError: The store cannot be read, or a later release wrote one of them.
        """
        found = await _map(self.load_by_id, await self.list_ids(workflow_name, workflow_id))
        return [manifest for manifest in found if manifest is not None]

    async def list_ids(self, workflow_name: str, workflow_id: str | None = None) -> list[str]:
        """Return the ids of the same checkpoints in the same order, from the index alone.

        A checkpoint that is being written at this moment may be listed a little before it can be loaded.

        Raises:
            CorruptObject: An index entry is damaged.
            StoreError: The store cannot be read, or a later release wrote an entry.
        """
        found = await self._blobs.list(names.index_prefix(self._namespace, workflow_name, workflow_id))
        discarded = set(await self._blobs.list(names.discarded_prefix(self._namespace)))
        entries = [
            entry
            for entry in await _map(self._index_entry, found)
            if entry is not None
            and names.discarded_object(self._namespace, entry.header.checkpoint_id) not in discarded
        ]
        headers = [
            entry.header
            for entry in entries
            if entry.workflow_name == workflow_name and workflow_id in (None, entry.workflow_id)
        ]
        return [header.checkpoint_id for header in lineage_order(headers)]

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete a checkpoint, whoever wrote it; return whether there was one. Damaged ones can be deleted.

        Values stay: other checkpoints may share them. A run whose next commit builds on the checkpoint will
        report it missing, so delete checkpoints of closed runs only.

        Raises:
            StoreError: The store cannot be read or refuses.
        """
        objects = await self._blobs.list(names.manifest_prefix(self._namespace, checkpoint_id))
        if not objects:
            return False
        self._cache.clear()
        # The index first: if this stops half way, the manifests still tell a second call what else to delete.
        await _map(self._blobs.delete, await self._index_objects(checkpoint_id, objects))
        await _map(self._blobs.delete, objects)
        return True

    async def _base_entries(self, record: wire.CheckpointRecord) -> wire.SnapshotEntries:
        base = record.snapshot.base
        if base is None:
            return wire.SnapshotEntries()
        try:
            return await self.load(base)
        except StoreError as error:
            raise type(error)(
                f"Checkpoint {record.header.checkpoint_id!r} cannot be written, because the checkpoint "
                f"{base.checkpoint_id!r} it builds on cannot be read: {error}"
            ) from error

    async def _write_index_entry(self, manifest: wire.Manifest) -> None:
        entry = wire.IndexEntry(
            header=manifest.header, workflow_name=manifest.workflow_name, workflow_id=manifest.workflow_id
        )
        name = names.index_object(
            self._namespace, manifest.workflow_name, manifest.workflow_id, manifest.header.checkpoint_id
        )
        # All writers of a checkpoint write the same entry, so a damaged one is made whole by the next of them.
        await self._blobs.put(name, seal(wire.dump(entry)))

    async def _kept(self, checkpoint_id: str, name: str, data: bytes) -> bytes:
        """Return the bytes that an earlier commit under the same name left, which must mean the same as `data`."""
        manifest = self._manifest_in(data, name, checkpoint_id)
        try:
            kept = await self._blobs.get(name)
            same = self._manifest_in(kept, name, checkpoint_id) == manifest
        except (CorruptObject, MissingObject):
            await self._blobs.put(name, data)  # cut short by a power loss or deleted since: made whole again
            return data
        if not same:
            raise StoreError(
                f"Checkpoint {checkpoint_id!r} cannot be written: {name} in the blob store {self._blobs.url} already "
                "holds a different outcome of it. Two runs share a checkpoint id; give them different namespaces."
            )
        return kept

    async def _read(self, base: wire.Base) -> bytes:
        data = self._cache.get(_cache_key(base))
        if data is not None:
            return data
        try:
            data = await self._blobs.get(base.object)
        except MissingObject as error:
            raise MissingObject(f"Checkpoint {base.checkpoint_id!r} is missing: {error}") from error
        if hashlib.sha256(data).hexdigest() != base.digest:
            raise self._corrupt(repr(base.checkpoint_id), base.object, "its content does not have the recorded digest")
        self._cache.put(_cache_key(base), data)
        return data

    async def _index_entry(self, name: str) -> wire.IndexEntry | None:
        try:
            data = await self._blobs.get(name)
        except MissingObject:  # deleted since it was listed
            return None
        return self._shape_in(wire.IndexEntry, data, name, f"named by {name}")

    async def _index_objects(self, checkpoint_id: str, manifests: Iterable[str]) -> list[str]:
        """Return the names of a checkpoint's index entries; by search when a damaged manifest does not tell."""
        found: set[str] = set()
        for name in manifests:
            try:
                manifest = self._manifest_in(await self._blobs.get(name), name, checkpoint_id)
            except StoreError:
                everything = await self._blobs.list(names.whole_index_prefix(self._namespace))
                found |= {entry for entry in everything if entry.endswith(f"/{names.segment(checkpoint_id)}")}
            else:
                found.add(
                    names.index_object(self._namespace, manifest.workflow_name, manifest.workflow_id, checkpoint_id)
                )
        return sorted(found)

    def _manifest_in(self, data: bytes, name: str, checkpoint_id: str) -> wire.Manifest:
        manifest = self._shape_in(wire.Manifest, data, name, repr(checkpoint_id))
        if manifest.header.checkpoint_id != checkpoint_id:
            raise self._corrupt(repr(checkpoint_id), name, f"it is checkpoint {manifest.header.checkpoint_id!r}")
        return manifest

    def _shape_in(self, shape: type[ShapeT], data: bytes, name: str, checkpoint: str) -> ShapeT:
        try:
            return wire.load(shape, unseal(data))
        except wire.WireError as error:
            raise StoreError(
                f"Checkpoint {checkpoint}, object {name} in the blob store {self._blobs.url}: {error}"
            ) from error
        except (ValueError, RecursionError) as error:
            raise self._corrupt(checkpoint, name, str(error)) from error

    def _corrupt(self, checkpoint: str, name: str, reason: str) -> CorruptObject:
        return CorruptObject(
            f"Checkpoint {checkpoint} is damaged: object {name} in the blob store {self._blobs.url}: {reason}. "
            "Restore the object from a backup of the store, or go on from another checkpoint."
        )


def _manifest(
    record: wire.CheckpointRecord, entries: wire.SnapshotEntries, graph: wire.Graph, workflow_id: str
) -> wire.Manifest:
    return wire.Manifest(
        header=record.header,
        workflow_name=graph.name,
        workflow_id=workflow_id,
        graph_signature=graph.signature,
        executor_ids=graph.executors,
        messages=record.messages,
        state=entries.state,
        executors=entries.executors,
        attributes=entries.attributes,
        buffers=entries.buffers,
        requests=entries.requests,
        children=entries.children,
        outlines=dict(_outlines(graph)),
    )


def _outlines(graph: wire.Graph, path: tuple[str, ...] = ()) -> Iterator[tuple[str, wire.Outline]]:
    for executor_id, child in graph.children.items():
        below = (*path, executor_id)
        outline = wire.Outline(workflow_name=child.name, graph_signature=child.signature, executor_ids=child.executors)
        yield path_text(below), outline
        yield from _outlines(child, below)


def _cache_key(base: wire.Base) -> str:
    return f"{base.digest} {base.object}"


async def _map(function: Callable[[ItemT], Awaitable[ResultT]], items: Iterable[ItemT]) -> list[ResultT]:
    """Return the results in the order of the items, with a bounded number of calls at once."""
    waiting = list(items)
    results: list[ResultT] = []
    for start in range(0, len(waiting), _READS_AT_ONCE):
        results += await asyncio.gather(*map(function, waiting[start : start + _READS_AT_ONCE]))
    return results
