"""What a namespace of the blob store has: checkpoints, marks, index entries, runs. Reads only, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from temporal_adapter import wire
from temporal_adapter.store import BlobStore, CorruptObject, MissingObject
from temporal_adapter.store.blobs import Entry
from temporal_adapter.store.bounded import bounded_map
from temporal_adapter.store.forms import Form, header_of
from temporal_adapter.store.names import (
    chunk_object,
    discarded_object,
    discarded_prefix,
    run_prefix,
    segment,
    value_object,
    whole_index_prefix,
)
from temporal_adapter.store.records import Records
from temporal_adapter.wire.manifest import PagedManifest

_ANY = "0" * 64


@dataclass(frozen=True, slots=True)
class Written:
    """What one writer left of a checkpoint."""

    entry: Entry
    header: wire.CheckpointHeader
    workflow_name: str
    workflow_id: str
    run_id: str
    in_flight: bool
    discarded: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """What there is.

    Attributes:
        checkpoints: What their writers left, the highest rank last, by checkpoint id.
        runs: Entries of runs, each with its object.
        index: Index entries.
        marks: Marks of checkpoints that never happened.
        unreadable: What is wrong with damaged objects, by their names.
        damaged: Entries of damaged checkpoints' objects.
    """

    checkpoints: Mapping[str, Sequence[Written]]
    runs: Sequence[tuple[Entry, wire.RunEntry]]
    index: Sequence[Entry]
    marks: Sequence[Entry]
    unreadable: Mapping[str, str] = field(default_factory=dict[str, str])
    damaged: Sequence[Entry] = ()


class Surveyor:
    """Looks at one namespace."""

    def __init__(self, blobs: BlobStore, namespace: str) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._records = Records(blobs)
        self._unreadable: dict[str, str] = {}

    async def contents(self) -> tuple[Sequence[Entry], Sequence[Entry]]:
        """Return all objects that are named by their content: values (and pages), and parts of values.

        Raises:
            StoreError: The store cannot be listed.
        """
        folders = [name(self._namespace, _ANY).rsplit("/", 2)[0] for name in (value_object, chunk_object)]
        return await self._blobs.entries(folders[0]), await self._blobs.entries(folders[1])

    async def survey(self) -> Survey:
        """Return all else.

        Raises:
            StoreError: The store cannot be read, or a later release wrote to it.
        """
        runs = await self._runs()
        marks = await self._blobs.entries(discarded_prefix(self._namespace))
        objects = await self._blobs.entries(f"{segment(self._namespace)}/checkpoints")
        marked = {mark.name for mark in marks}
        found = await bounded_map(lambda entry: self._written(entry, marked), objects)
        checkpoints: dict[str, list[Written]] = {}
        for one in found:
            if one is not None:
                checkpoints.setdefault(one.header.checkpoint_id, []).append(one)
        return Survey(
            checkpoints=checkpoints,
            runs=runs,
            index=await self._blobs.entries(whole_index_prefix(self._namespace)),
            marks=marks,
            unreadable=dict(sorted(self._unreadable.items())),
            damaged=[entry for entry in objects if entry.name in self._unreadable],
        )

    async def forms(self, written: Iterable[Written]) -> list[Form]:
        """Return what the objects hold; without those that are gone by now.

        Raises:
            StoreError: One cannot be read.
        """
        found = await bounded_map(lambda one: self._form(one.entry.name), written)
        return [form for form in found if form is not None]

    async def _written(self, entry: Entry, marked: set[str]) -> Written | None:
        form = await self._form(entry.name)
        if form is None:
            return None
        head = header_of(form)
        return Written(
            entry=entry,
            header=head.header,
            workflow_name=head.workflow_name,
            workflow_id=head.workflow_id,
            run_id=head.run_id,
            in_flight=bool(head.messages or head.requests),
            discarded=discarded_object(self._namespace, head.header.checkpoint_id, head.run_id) in marked,
        )

    async def _form(self, name: str) -> Form | None:
        whose = f"The checkpoint in {name}"
        try:
            data = await self._records.bytes_of(name, whose)
            fields = self._records.fields_of(data, name, whose)
            paged = isinstance(fields, dict) and "pages" in fields
            form = self._records.shape_of(PagedManifest if paged else wire.Manifest, fields, name, whose)
            checkpoint_id = header_of(form).header.checkpoint_id
            if segment(checkpoint_id) != name.split("/")[-2]:
                raise self._records.corrupt(whose, name, f"it is checkpoint {checkpoint_id!r}")
        except MissingObject:  # deleted since it was listed
            return None
        except CorruptObject as error:
            self._unreadable[name] = str(error)
            return None
        return form

    async def _runs(self) -> list[tuple[Entry, wire.RunEntry]]:
        async def read(entry: Entry) -> tuple[Entry, wire.RunEntry] | None:
            try:
                return entry, await self._records.read(wire.RunEntry, entry.name, f"The run named by {entry.name}")
            except MissingObject:
                return None
            except CorruptObject as error:
                self._unreadable[entry.name] = str(error)
                return None

        found = await bounded_map(read, await self._blobs.entries(run_prefix(self._namespace)))
        return sorted((one for one in found if one is not None), key=lambda one: (one[1].at, one[1].run_id))
