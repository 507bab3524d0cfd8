"""Entries of runs: what another server must know to start the open ones again.

<namespace>/runs/<workflow name>/<workflow id>/<run id>   `wire.RunEntry`, sealed
"""

from __future__ import annotations

from temporal_adapter import wire

from . import names
from .blobs import BlobStore
from .bounded import bounded_map
from .errors import MissingObject
from .records import Records


class Runs:
    """The run entries of a namespace."""

    def __init__(self, blobs: BlobStore, namespace: str) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._records = Records(blobs)

    async def put(self, entry: wire.RunEntry) -> None:
        """Write an entry, in place of an older one of the run.

        Raises:
            StoreError: The store cannot be written.
        """
        await self._records.write(self._name(entry), entry)

    async def get(self, workflow_name: str, workflow_id: str, run_id: str) -> wire.RunEntry | None:
        """Return the entry of a run; None if there is none.

        Raises:
            CorruptObject: It is damaged, or that of another run.
            StoreError: The store cannot be read, or a later release wrote it.
        """
        return await self._entry(names.run_object(self._namespace, workflow_name, workflow_id, run_id))

    async def list(self, workflow_name: str | None, workflow_id: str | None) -> list[wire.RunEntry]:
        """Return entries, the run that started first before the others.

        Raises:
            CorruptObject: One is damaged, or that of another run.
            StoreError: The store cannot be read, or a later release wrote one.
        """
        found = await self._blobs.list(names.run_prefix(self._namespace, workflow_name, workflow_id))
        entries = [entry for entry in await bounded_map(self._entry, found) if entry is not None]
        if workflow_id is not None:  # given without a workflow name, it is not in the prefix
            entries = [entry for entry in entries if entry.workflow_id == workflow_id]
        return sorted(entries, key=lambda entry: (entry.at, entry.run_id))

    async def _entry(self, name: str) -> wire.RunEntry | None:
        whose = f"The run named by {name}"
        try:
            entry = await self._records.read(wire.RunEntry, name, whose)
        except MissingObject:  # deleted since it was listed
            return None
        if self._name(entry) != name:
            raise self._records.corrupt(whose, name, f"it is the entry of run {entry.run_id!r}")
        return entry

    def _name(self, entry: wire.RunEntry) -> str:
        return names.run_object(self._namespace, entry.workflow_name, entry.workflow_id, entry.run_id)
