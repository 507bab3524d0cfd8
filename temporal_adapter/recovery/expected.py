"""What a run's checkpoints must be, by its history alone.

Each checkpoint that the run recorded is laid over the one it builds on, as the blob store does when it writes one. The
store is asked for one thing only: the checkpoint of another run that a run was restored from. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter

from temporal_adapter import wire
from temporal_adapter.engine import Commit, Committed, Deliver, DeliveryFinished, Judge, ResponsesJudged, Seeded
from temporal_adapter.store import (
    CheckpointStore,
    StoreError,
    ValueStore,
    bare_manifest,
    overlay,
    unstowed,
    with_entries,
)

from .observing import Observed, Told, observe


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that history recorded.

    Attributes:
        manifest: The whole of it.
        record: As the run recorded it: what changed since its base. Nothing in it is stowed.
        graph: Of the run.
    """

    manifest: wire.Manifest
    record: wire.CheckpointRecord
    graph: wire.Graph

    @property
    def id(self) -> str:
        """Its id."""
        return self.manifest.header.checkpoint_id


@dataclass(frozen=True, slots=True)
class Unknown:
    """A checkpoint that history has, on one that neither history nor the store has: what it holds is not known."""

    header: wire.CheckpointHeader
    reason: str


@dataclass(frozen=True, slots=True)
class Stowed:
    """The entries of a sub-workflow, which the run had written to the store by themselves."""

    reference: str
    entries: Any  # tagged JSON


@dataclass(frozen=True, slots=True)
class Expected:
    """What the store must have of a run.

    Attributes:
        run: What it must know of the run itself; nothing, unless it `began`.
        began: Whether an input or a checkpoint was accepted: else the store never heard of the run.
        closed: How the run ended; None while it is open.
        checkpoints: In order of recording, which is lineage order.
        discarded: Ids that activities were given, and that history then did without.
        in_flight: Ids that activities are writing now, of an open run; recorded ones and ones that may yet be.
        bases: Objects that history names, and an open run may read.
    """

    run: wire.RunEntry
    began: bool
    closed: str | None
    checkpoints: tuple[Checkpoint, ...]
    unknown: tuple[Unknown, ...]
    discarded: tuple[str, ...]
    in_flight: frozenset[str]
    stowed: tuple[Stowed, ...]
    bases: tuple[wire.Base, ...]

    @property
    def ids(self) -> list[str]:
        """The ids of all checkpoints that history recorded."""
        return [one.id for one in self.checkpoints] + [one.header.checkpoint_id for one in self.unknown]


async def expected(
    history: WorkflowHistory,
    *,
    checkpoints: CheckpointStore,
    values: ValueStore,
    data_converter: DataConverter = DataConverter.default,
    run_id: str | None = None,
) -> Expected:
    """Return what the store must have of a run.

    Args:
        history: Of the run, open or closed.
        checkpoints: Asked for the checkpoint that the run was restored from, if it was.
        values: Asked for sub-workflows' entries that such a checkpoint's run had stowed.
        data_converter: The client's.
        run_id: Of the run, if not as the history says.

    Raises:
        NotReplayable: The history is not one of a run of the adapter, or of a release that this one cannot replay.
    """
    return await expected_of(await observe(history, data_converter, run_id), checkpoints, values)


async def expected_of(observed: Observed, checkpoints: CheckpointStore, values: ValueStore) -> Expected:
    """Return what the store must have of a run that was observed already."""
    reading = _Reading(observed, checkpoints, values)
    for told in observed.told:
        await reading.take(told)
    return reading.result()


@dataclass(slots=True)
class _Reading:
    """What is known so far, in the course of what happened."""

    observed: Observed
    store: CheckpointStore
    values: ValueStore
    graph: wire.Graph | None = None
    waits: bool = False
    ending: wire.Ended | None = None  # what a commit that is under way tells the store
    ended: wire.Ended | None = None
    known: dict[str, Checkpoint] = field(default_factory=dict[str, Checkpoint])
    unknown: dict[str, Unknown] = field(default_factory=dict[str, Unknown])
    foreign: dict[str, wire.SnapshotEntries] = field(default_factory=dict[str, wire.SnapshotEntries])
    promised: dict[str, None] = field(default_factory=dict[str, None])
    waiting: dict[str, None] = field(default_factory=dict[str, None])  # recorded, and not known to be in the store
    written: set[str] = field(default_factory=set[str])
    discarded: dict[str, None] = field(default_factory=dict[str, None])
    stowing: Sequence[Any] = ()
    stowed: dict[str, Any] = field(default_factory=dict[str, Any])
    bases: dict[str, wire.Base] = field(default_factory=dict[str, wire.Base])

    async def take(self, told: Told) -> None:
        for base in _bases(told):
            self._written(base)
        match told:
            case Seeded(result):
                self.graph, self.waits = result.graph, result.waits_for_operator
                self.ending = self.ended = None  # a session that was reset is given an input
            case wire.CheckpointRecord():
                await self._record(told)
            case Deliver(_, data) if data.own is not None:
                self.promised[data.own.checkpoint_id] = None
            case Judge(data) if data.header is not None:
                self.promised[data.header.checkpoint_id] = None
            case Commit(data):
                self.discarded.update(dict.fromkeys(data.discard))
                self.ending = data.ended
                self.stowing = [await self._entries_to_stow(one) for one in data.stow]
            case Committed(_, stowed):
                self.ended = self.ending or self.ended
                pairs = zip(stowed, self.stowing, strict=False)
                self.stowed.update({value.ref: entries for value, entries in pairs if value.ref and entries})
            case _:
                pass

    def result(self) -> Expected:
        is_open = self.observed.closed is None
        recorded = {*self.known, *self.unknown}
        undecided = [one for one in self.promised if one not in recorded and one not in self.discarded]
        return Expected(
            run=self._run(),
            began=self.graph is not None,
            closed=self.observed.closed,
            checkpoints=tuple(self.known.values()),
            unknown=tuple(self.unknown.values()),
            # Of a closed run, nothing that is not recorded by now will be, whoever may still write it.
            discarded=(*self.discarded, *(() if is_open else undecided)),
            in_flight=frozenset([*undecided, *self.waiting]) if is_open else frozenset(),
            stowed=tuple(Stowed(reference, entries) for reference, entries in self.stowed.items()),
            bases=tuple(self.bases.values()),
        )

    # --- checkpoints ----------------------------------------------------------------------------------------

    async def _record(self, record: wire.CheckpointRecord) -> None:
        assert self.graph is not None, "a checkpoint before a graph"
        checkpoint_id = record.header.checkpoint_id
        self.waiting[checkpoint_id] = None
        if checkpoint_id in self.written:  # by the activity whose outcome it is
            self.waiting.clear()
        try:
            changes = await unstowed(record.snapshot.changes, self._resolve)
            under = await self._entries(record.snapshot.base)
        except StoreError as error:
            self.unknown[checkpoint_id] = Unknown(record.header, str(error))
            return
        record = wire.replace(record, snapshot=wire.replace(record.snapshot, changes=changes))
        bare = bare_manifest(record, self.graph, self.observed.workflow_id, self.observed.start.run_id)
        manifest = with_entries(bare, overlay(under, changes))
        self.known[checkpoint_id] = Checkpoint(manifest, record, self.graph)

    async def _entries(self, base: wire.Base | None) -> wire.SnapshotEntries:
        if base is None:
            return wire.SnapshotEntries()
        self.bases[base.object] = base
        if base.checkpoint_id in self.known:
            return self.known[base.checkpoint_id].manifest
        if base.checkpoint_id in self.unknown:
            raise StoreError(self.unknown[base.checkpoint_id].reason)
        if base.checkpoint_id not in self.foreign:
            self.foreign[base.checkpoint_id] = await self._of_another_run(base)
        return self.foreign[base.checkpoint_id]

    async def _of_another_run(self, base: wire.Base) -> wire.SnapshotEntries:
        try:
            return await self.store.load(base)
        except StoreError as error:
            raise StoreError(
                f"The run was restored from checkpoint {base.checkpoint_id!r} of another run, and that cannot be read: "
                f"{error} Rebuild that run first."
            ) from error

    async def _entries_to_stow(self, stow: wire.Stow) -> Any:
        """Return what an activity stows, as it does; None if it is not known."""
        try:
            changes = await unstowed(stow.snapshot.changes, self._resolve)
            under = wire.SnapshotEntries()
            if stow.snapshot.base is not None and not changes.whole:
                whole = await self._entries(stow.snapshot.base)
                under = whole.children.get(stow.path, under) if stow.path else whole
        except StoreError:
            return None
        return wire.dump(overlay(under, changes))

    async def _resolve(self, value: wire.Value) -> Any:
        if value.ref is not None and value.ref in self.stowed:
            return self.stowed[value.ref]
        return await self.values.resolve(value)

    def _written(self, base: wire.Base) -> None:
        """A checkpoint is in the store, and so are all that were recorded before it."""
        self.bases[base.object] = base
        self.written.add(base.checkpoint_id)
        recorded = list(self.waiting)
        if base.checkpoint_id in self.waiting:
            for one in recorded[: recorded.index(base.checkpoint_id) + 1]:
                del self.waiting[one]

    # --- the run --------------------------------------------------------------------------------------------

    def _run(self) -> wire.RunEntry:
        start = self.observed.start
        restored = start.options.restore
        return wire.RunEntry(
            workflow_name=start.workflow_name,
            workflow_id=self.observed.workflow_id,
            run_id=start.run_id,
            task_queue=start.task_queue,
            at=start.at,
            on_failure="wait" if self.waits else "fail",
            stream=start.options.stream,
            session=start.options.session,
            restored=wire.without_gifts(restored),
            ended=self.ended,
        )


def _bases(told: Told) -> Iterator[wire.Base]:
    """Yield the checkpoints that something says are in the store, in the order they were written."""
    outcomes: list[wire.CommitOutcome | None] = []
    match told:
        case Seeded(result):
            outcomes = [result.commit]
        case DeliveryFinished(_, result):
            outcomes = [result.records, result.own]
        case ResponsesJudged(result):
            outcomes = [result.commit]
        case Committed(outcome, _):
            outcomes = [outcome]
        case _:
            pass
    yield from (one.base for one in outcomes if one is not None and one.base is not None)
