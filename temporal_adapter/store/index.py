"""The index of checkpoints: which there are, and in which order, without reading one.

    <namespace>/workflows/<workflow name>/<workflow id>/<checkpoint id>   `wire.IndexEntry`, sealed

An entry is written beside its checkpoint and makes no checkpoint by itself. Where the ids in an entry are not those in
its name, it is damaged.
"""

from __future__ import annotations

from temporal_adapter import wire

from . import names
from .blobs import BlobStore
from .bounded import bounded_map
from .errors import MissingObject
from .lineage import lineage_order
from .records import Records


class Index:
    """The index of a namespace."""

    def __init__(self, blobs: BlobStore, namespace: str) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._records = Records(blobs)

    async def write(self, manifest: wire.Manifest) -> None:
        """Write a checkpoint's entry. All writers of a checkpoint write the same, so a damaged one is made whole.

        Raises:
            StoreError: The store cannot be written.
        """
        entry = wire.IndexEntry(
            header=manifest.header,
            workflow_name=manifest.workflow_name,
            workflow_id=manifest.workflow_id,
            run_id=manifest.run_id,
        )
        await self._records.write(self._name(entry), entry)

    async def headers(self, workflow_name: str, workflow_id: str | None = None) -> list[wire.IndexEntry]:
        """Return the entries of a workflow, or of one workflow id, in the order of `lineage_order`.

        Raises:
            CorruptObject: One of them is damaged.
            StoreError: The store cannot be read, or a later release wrote an entry.
        """
        found = await self._blobs.list(names.index_prefix(self._namespace, workflow_name, workflow_id))
        entries = {
            entry.header.checkpoint_id: entry for entry in await bounded_map(self._entry, found) if entry is not None
        }
        ordered = lineage_order(entry.header for entry in entries.values())
        return [entries[header.checkpoint_id] for header in ordered]

    async def workflows(self) -> list[tuple[str, str]]:
        """Return the workflow names and workflow ids that have entries, sorted.

        Raises:
            CorruptObject: An entry that must be read, since an id is too long for its name, is damaged.
            StoreError: The store cannot be read.
        """
        first: dict[str, str] = {}
        for name in await self._blobs.list(names.whole_index_prefix(self._namespace)):
            first.setdefault(name.rpartition("/")[0], name)
        found = await bounded_map(self._workflow, first.values())
        return sorted(one for one in found if one is not None)

    async def objects_of(self, checkpoint_id: str) -> list[str]:
        """Return the names of a checkpoint's entries, by search through all names."""
        everything = await self._blobs.list(names.whole_index_prefix(self._namespace))
        return [name for name in everything if name.endswith(f"/{names.segment(checkpoint_id)}")]

    async def _workflow(self, name: str) -> tuple[str, str] | None:
        workflow_name, workflow_id = map(names.identifier, name.split("/")[-3:-1])
        if workflow_name is not None and workflow_id is not None:
            return workflow_name, workflow_id
        entry = await self._entry(name)
        return None if entry is None else (entry.workflow_name, entry.workflow_id)

    async def _entry(self, name: str) -> wire.IndexEntry | None:
        whose = f"Checkpoint named by {name}"
        try:
            entry = await self._records.read(wire.IndexEntry, name, whose)
        except MissingObject:  # deleted since it was listed
            return None
        if self._name(entry) != name:
            raise self._records.corrupt(whose, name, f"it is the entry of checkpoint {entry.header.checkpoint_id!r}")
        return entry

    def _name(self, entry: wire.IndexEntry) -> str:
        return names.index_object(self._namespace, entry.workflow_name, entry.workflow_id, entry.header.checkpoint_id)
