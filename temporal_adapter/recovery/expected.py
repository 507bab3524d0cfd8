"""What a run's checkpoints must be, by its history alone.

Each checkpoint that the run recorded is laid over the one it builds on, as the blob store does when it writes one. A
link of a run builds on what the links before recorded. The store is asked for what no history has: the checkpoint of
another run that a run was restored from, of a link whose history is gone, or that a migration made. Nothing is written
here.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter

from temporal_adapter import wire
from temporal_adapter.continuation import Kept
from temporal_adapter.engine import (
    Commit,
    Committed,
    Deliver,
    DeliveryFinished,
    Judge,
    ResponsesJudged,
    Seeded,
    WentOn,
)
from temporal_adapter.store import (
    CheckpointStore,
    StoreError,
    ValueStore,
    as_changes,
    bare_manifest,
    overlay,
    unstowed,
    with_entries,
)

from .handed import Handed, handed_over
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
    """JSON that the run had written to the store by itself: entries of a sub-workflow, or what links are left."""

    reference: str
    entries: Any


@dataclass(frozen=True, slots=True)
class Expected:
    """What the store must have of a run.

    Attributes:
        run: What it must know of the run itself; nothing, unless it `began`.
        began: Whether an input or a checkpoint was accepted, or a link entered: else the store never heard of the run.
        closed: How the run ended; None while it is open.
        checkpoints: In order of recording, which is lineage order.
        discarded: Ids that activities were given, and that history then did without.
        in_flight: Ids that activities are writing now, of an open run; recorded ones and ones that may yet be.
        bases: Objects that history names, and an open run may read.
        handed: What the links before left in the store for this one.
        headers: Of the checkpoints that the links before recorded, those that it carries; others are `handed`.
        lineage: Checkpoints of this run and the links before, by id; the parts of it that are `Unknown` too.
        kept: JSON that these had written to the store, by reference.
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
    handed: tuple[Handed, ...]
    headers: tuple[wire.CheckpointHeader, ...]
    lineage: ChainMap[str, Checkpoint | Unknown]
    kept: ChainMap[str, Any]

    @property
    def link_before(self) -> str | None:
        """The run id of the link before; None of a run's first link."""
        return None if self.run.continued is None else self.run.continued.run_id

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
    before: Expected | None = None,
) -> Expected:
    """Return what the store must have of a run.

    Args:
        history: Of the run, open or closed.
        checkpoints: Asked for the checkpoint that the run was restored from, if it was.
        values: Asked for sub-workflows' entries that such a checkpoint's run had stowed.
        data_converter: The client's.
        run_id: Of the run, if not as the history says.
        before: What the store must have of the link before.

    Raises:
        NotReplayable: The history is not one of a run of the adapter, or of a release that this one cannot replay.
    """
    return await expected_of(await observe(history, data_converter, run_id), checkpoints, values, before)


async def expected_of(
    observed: Observed, checkpoints: CheckpointStore, values: ValueStore, before: Expected | None = None
) -> Expected:
    """Return what the store must have of a run that was observed already."""
    reading = _Reading(observed, checkpoints, values, before)
    for told in observed.told:
        await reading.take(told)
    return reading.result()


@dataclass(slots=True)
class _Reading:
    """What is known so far, in the course of what happened."""

    observed: Observed
    store: CheckpointStore
    values: ValueStore
    before: Expected | None
    graph: wire.Graph | None = None
    waits: bool = False
    ending: wire.Ended | None = None  # what a commit that is under way tells the store
    ended: wire.Ended | None = None
    began: bool = False
    head: str | None = None  # of the lineage
    entered_at: str | None = None  # its head when the run entered this link
    tails: wire.Tails | None = None
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
                self.began, self.graph, self.waits = True, result.graph, result.waits_for_operator
                self.ending = self.ended = None  # a session that was reset is given an input
                self.head = self.head if result.restored is None else result.restored.header.checkpoint_id
            case wire.CarriedText(tails=tails, state=state):
                self.graph, self.waits, self.head = state.graph, state.waits_for_operator, state.head
                self.tails = tails
            case wire.CarryOnInput():
                self.entered_at = told.checkpoint_id
                if told.header is not None:
                    self.promised[told.header.checkpoint_id] = None
            case WentOn(result):
                await self._went_on(result)
            case Kept(value, item):
                self.stowed[value.ref or ""] = item
            case wire.CheckpointRecord():
                await self._record(told)
            case Deliver(_, data) if data.own is not None:
                self.promised[data.own.checkpoint_id] = None
            case Judge(data) if data.header is not None:
                self.promised[data.header.checkpoint_id] = None
            case Commit(data):
                self.discarded.update(dict.fromkeys(data.discard))
                self.ending = data.ended
                if data.ended is not None and data.ended.state == "reset":
                    self.head = None
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
            began=self.began,
            closed=self.observed.closed,
            checkpoints=tuple(self.known.values()),
            unknown=tuple(self.unknown.values()),
            # Of a closed run, nothing that is not recorded by now will be, whoever may still write it.
            discarded=(*self.discarded, *(() if is_open else undecided)),
            in_flight=frozenset([*undecided, *self.waiting]) if is_open else frozenset(),
            stowed=tuple(Stowed(reference, entries) for reference, entries in self.stowed.items()),
            bases=tuple(self.bases.values()),
            handed=handed_over(self.observed.start.carried),
            headers=() if self.tails is None else tuple(self.tails.checkpoints),
            lineage=ChainMap({**self.known, **self.unknown}, *(self.before.lineage.maps if self.before else [])),
            kept=ChainMap(self.stowed, *(self.before.kept.maps if self.before else [])),
        )

    # --- checkpoints ----------------------------------------------------------------------------------------

    async def _record(self, record: wire.CheckpointRecord) -> None:
        assert self.graph is not None, "a checkpoint before a graph"
        checkpoint_id = self.head = record.header.checkpoint_id
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

    async def _went_on(self, result: wire.CarryOnResult) -> None:
        self.began = True
        if result.restored is None or result.graph is None:
            for one in [one for one in self.promised if one not in self.known]:
                del self.promised[one]  # there was nothing to migrate
            return
        self.graph, base, header = result.graph, result.restored.base, result.restored.header
        self.head = header.checkpoint_id
        try:
            manifest = await self.store.load(base)
        except StoreError as error:
            reason = f"A migration made it, so that the store alone had it; and it cannot be read: {error}"
            self.unknown[header.checkpoint_id] = Unknown(header, reason)
            return
        record = wire.CheckpointRecord(
            header=header, snapshot=wire.Snapshot(changes=_whole(manifest)), messages=manifest.messages
        )
        self.known[header.checkpoint_id] = Checkpoint(manifest, record, self.graph)

    async def _entries(self, base: wire.Base | None) -> wire.SnapshotEntries:
        if base is None:
            return wire.SnapshotEntries()
        self.bases[base.object] = base
        recorded = self.known.get(base.checkpoint_id) or self.unknown.get(base.checkpoint_id)
        if recorded is None and self.before is not None:
            recorded = self.before.lineage.get(base.checkpoint_id)
        if isinstance(recorded, Checkpoint):
            return recorded.manifest
        if recorded is not None:
            raise StoreError(recorded.reason)
        if base.checkpoint_id not in self.foreign:
            self.foreign[base.checkpoint_id] = await self._of_another_run(base)
        return self.foreign[base.checkpoint_id]

    async def _of_another_run(self, base: wire.Base) -> wire.SnapshotEntries:
        try:
            return await self.store.load(base)
        except StoreError as error:
            whose, what = "another run", "Rebuild that run first."
            if self.observed.start.continued and base.checkpoint_id not in _restored(self.observed.start.options):
                whose, what = "an earlier link of the run", "If the server has its history no more, it is lost."
            raise StoreError(
                f"The run goes on from checkpoint {base.checkpoint_id!r} of {whose}, and that cannot be read: "
                f"{error} {what}"
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
        if value.ref is not None and self.before is not None and value.ref in self.before.kept:
            return self.before.kept[value.ref]
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
            continued=self._continued(),
            ended=self._ended(),
        )

    def _continued(self) -> wire.Continued | None:
        link_before = self.observed.start.continued
        return wire.Continued(run_id=link_before, checkpoint_id=self.entered_at) if link_before else None

    def _ended(self) -> wire.Ended | None:
        if self.observed.closed != "continued as new":
            return self.ended
        return wire.Ended(state="continued", checkpoint_id=self.head, at=self.observed.closed_at or "")


def _restored(options: wire.StartOptions) -> list[str]:
    return [] if options.restore is None else [options.restore.checkpoint_id]


def _whole(entries: wire.SnapshotEntries) -> wire.Changes:
    return wire.replace(as_changes(entries), children={path: _whole(child) for path, child in entries.children.items()})


def _bases(told: Told) -> Iterator[wire.Base]:
    """Yield the checkpoints that something says are in the store, in the order they were written."""
    outcomes: list[wire.CommitOutcome | None] = []
    match told:
        case Seeded(result) | WentOn(result):
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
