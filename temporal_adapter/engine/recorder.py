"""Recording checkpoints: what each holds, where it stands in the lineage, and when the blob store has it.

Knows nothing of supersteps or responses; the engine tells it what changed and when a checkpoint is due.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from temporal_adapter import wire

from .journal import Journal
from .lineage import Lineage
from .snapshot import Place, SnapshotTracker


@dataclass(frozen=True, slots=True)
class Stamp:
    """A new id and the present time (ISO 8601, UTC), from the owner's deterministic sources."""

    id: str
    timestamp: str


class Recorder:
    """The lineage, the snapshot that the next checkpoint will hold, and the records that wait for the store."""

    def __init__(self, mint: Callable[[], Stamp], journal: Journal) -> None:
        self.mint = mint
        self.lineage = Lineage()
        self.troubled = False  # the store could not be written, and is tried by commits of their own until it can
        self.observe: Callable[[wire.CheckpointRecord], None] | None = None  # told of each record, by whom ever written
        self._journal = journal
        self._snapshot = SnapshotTracker()
        self._promised: wire.CheckpointHeader | None = None
        self._first = 0  # ordinal of the first checkpoint that the snapshot may build on

    def begin_anew(self) -> None:
        """What comes next has no parent, and nothing that was known before."""
        self.lineage.begin_anew()
        self._snapshot, self._first = SnapshotTracker(), self.lineage.next_ordinal

    def restore(self, base: wire.Base, header: wire.CheckpointHeader) -> None:
        """Go on from a checkpoint in the blob store."""
        self.begin_anew()
        self.lineage.restore(header)
        self._snapshot.base = base

    def go_on(self, state: wire.CarriedState) -> None:
        """Go on where another Temporal run of the same run was."""
        self.lineage.head, self.lineage.next_ordinal = state.head, state.number
        self._snapshot.load(state.snapshot, state.number)

    def put(self, place: Place, value: Any) -> None:
        """Set an entry of the snapshot, first seen in the next checkpoint; None deletes it."""
        self._snapshot.put(place, value, self.lineage.next_ordinal)

    def snapshot(self) -> wire.Snapshot:
        """Return the snapshot that the next checkpoint would have."""
        return self._snapshot.snapshot()

    def level(self, path: str) -> wire.Changes:
        """Return that snapshot's part of one level."""
        return self._snapshot.level(path)

    @property
    def base(self) -> wire.Base | None:
        """The checkpoint that the snapshot builds on."""
        return self._snapshot.base

    def promise(
        self,
        kind: wire.CheckpointKind,
        iteration: int,
        stamp: Stamp | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> wire.CheckpointHeader:
        """Return the header of the next checkpoint, for an activity that is to write it of its own outcome."""
        if self._promised is None:
            self._promised = wire.replace(self._header(kind, iteration, stamp), metadata=metadata or {})
        return self._promised

    def promise_after(
        self, parent: str, kind: wire.CheckpointKind, metadata: dict[str, Any] | None = None
    ) -> wire.CheckpointHeader:
        """Return the header of the next checkpoint, which follows another than the head, at the same iteration."""
        header = wire.replace(self._header(kind, 0, None), previous_checkpoint_id=parent, metadata=metadata or {})
        self._promised = header
        return header

    def take(self, kind: wire.CheckpointKind, iteration: int, stamp: Stamp | None = None) -> wire.CheckpointHeader:
        """Return the header that was promised, or else a new one."""
        header = self._promised or self._header(kind, iteration, stamp)
        self._promised = None
        return header

    def withdraw(self) -> str | None:
        """The promised checkpoint, if any, will not be; return its id."""
        withdrawn, self._promised = self._promised, None
        return None if withdrawn is None else withdrawn.checkpoint_id

    def _header(self, kind: wire.CheckpointKind, iteration: int, stamp: Stamp | None) -> wire.CheckpointHeader:
        stamp = stamp or self.mint()
        return wire.CheckpointHeader(
            checkpoint_id=stamp.id,
            previous_checkpoint_id=self.lineage.head,
            iteration=iteration,
            timestamp=stamp.timestamp,
            kind=kind,
            number=self.lineage.next_ordinal,
        )

    def record(
        self,
        header: wire.CheckpointHeader,
        messages: list[wire.RoutedMessage],
        committed: wire.CommitOutcome | None = None,
        run: wire.RunEntry | None = None,
    ) -> None:
        """Append a checkpoint to the lineage; keep its record unless an activity has just written it.

        `run` is what else the store is to be told with it.
        """
        if self.observe is not None:
            in_flight = [routed.message for routed in messages]
            self.observe(wire.CheckpointRecord(header=header, snapshot=self.snapshot(), messages=in_flight))
        ordinal = self.lineage.append(header)
        if committed is not None and committed.base is not None:
            self._snapshot.acknowledge(committed.base, ordinal)
            return
        in_flight = [routed.message for routed in messages]
        record = wire.CheckpointRecord(header=header, snapshot=self.snapshot(), messages=in_flight, run=run)
        self.lineage.wait(ordinal, record)
        if committed is not None:
            self._trouble(committed)

    def carry(self) -> list[wire.CheckpointRecord]:
        """Hand records to a delivery: none while another activity carries some, or the store is in trouble."""
        return [] if self.troubled else self.lineage.carry()

    def settle(self, outcome: wire.CommitOutcome | None) -> None:
        """The activity that carried records has ended; None if what became of them is not known."""
        ordinal = self.lineage.settle(outcome)
        if ordinal is not None and outcome is not None and outcome.base is not None:
            self.troubled = False
            if ordinal >= self._first:
                self._snapshot.acknowledge(outcome.base, ordinal)
        elif outcome is not None and outcome.error is not None:  # without one, it only had to discard
            self._trouble(outcome)

    def _trouble(self, outcome: wire.CommitOutcome) -> None:
        self.troubled = True
        self.lineage.mirror_error = outcome.error
        self._journal.warn(f"A checkpoint is recorded in history but not yet in the blob store: {outcome.error}")
