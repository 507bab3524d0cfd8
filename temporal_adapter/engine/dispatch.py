"""Deliveries under way: what each is given, which of them writes checkpoints, and to which superstep its outcome goes.

Decides nothing about what an outcome means; the engine does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

from .aside import Aside
from .decisions import Deliver
from .journal import weight
from .level import Level
from .recorder import Recorder
from .snapshot import merged
from .snapshot import weight as weight_of_changes
from .superstep import Superstep

SUPERSTEP_INLINE_BUDGET = 512 * 1024
DELIVERY_INLINE_BUDGET = 128 * 1024
"""Bytes of values that the results of one superstep, and of one delivery, may hold inline: a fan-in of them all must
fit one payload (Temporal's limit is 2 MiB), twice, since a checkpoint of them may ride along."""

SUPERSTEP_SNAPSHOTS_LIMIT = 256 * 1024
"""Bytes that the snapshots for a superstep of the run's own workflow may take in all: they are scheduled in one
workflow task, and Temporal takes 4 MB at once."""

Position = tuple[Level, int]
"""A delivery: its level, and its place in the superstep under way there."""


class Dispatch:
    """The deliveries of a run that activities have now, or that failed and wait for an operator.

    Attributes:
        aside: What sub-workflows changed in the superstep under way; it counts once that is over.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.aside = Aside()
        self._recorder = recorder
        self._under_way: dict[int, Position] = {}
        self._failed: dict[str, tuple[Position, wire.Failure]] = {}  # by the executor's path; in order
        self._count = 0
        self._carrier: int | None = None  # the delivery that writes records
        self._stranded: set[int] = set()

    def deliver(self, level: Level, position: int, *, root: Level) -> Deliver:
        """Return the decision to run a delivery of the superstep under way."""
        superstep = level.under_way
        delivery = superstep.deliveries[position]
        index, self._count = self._count, self._count + 1
        self._under_way[index] = level, position
        records = self._recorder.carry()
        if records:
            self._carrier = index
        own = self._own_of(level, superstep, records) if level is root else None
        snapshot = self._snapshot_for(level, superstep, delivery.executor_id, whole=own is not None)
        return Deliver(
            index,
            wire.DeliveryInput(
                graph=root.graph.signature,
                executor_id=delivery.executor_id,
                path=list(level.path),
                key=superstep.key_of(position),
                source_ids=delivery.source_ids,
                messages=delivery.messages,
                cancelled=delivery.cancelled,
                fan_in=delivery.fan_in,
                iteration=level.iteration + 1,
                inline_budget=_inline_budget(level, superstep),
                beside_others=any(one.executor_id != delivery.executor_id for one in superstep.deliveries),
                nested=_nested(level, superstep, position),
                snapshot=None if records and records[-1].snapshot == snapshot else snapshot,
                records=records,
                own=own,
            ),
        )

    def ended(self, index: int) -> Position | None:
        """Return where the outcome of a delivery belongs; None when it was abandoned."""
        return self._under_way.pop(index, None)

    def settle(self, index: int, outcome: wire.CommitOutcome | None) -> None:
        """Take what became of the checkpoints that a delivery wrote for the run; None if that is not known."""
        if index == self._carrier:
            self._carrier = None
            self._recorder.settle(outcome)

    def strand(self, index: int) -> bool:
        """A delivery waits for workers that have the run's graph; return whether all of those under way do."""
        if index in self._under_way:
            self._stranded.add(index)
        return bool(self._under_way) and all(one in self._stranded for one in self._under_way)

    def abandon(self) -> None:
        """No outcome of a delivery under way counts any more."""
        self._under_way.clear()
        self._stranded.clear()
        self._failed.clear()
        self.aside = Aside()
        if self._carrier is not None:  # whether it wrote its records is not known; writing them again is harmless
            self.settle(self._carrier, None)

    def abandon_level(self, level: Level) -> None:
        """The same of the deliveries of one sub-workflow, and of those in it."""
        inside = list(level.with_children())
        for index, (at, _) in list(self._under_way.items()):
            if any(at is one for one in inside):
                del self._under_way[index]
                self.settle(index, None)
        self._failed = {
            path: kept for path, kept in self._failed.items() if not any(kept[0][0] is one for one in inside)
        }

    # --- deliveries that wait for an operator ---------------------------------------------------------------

    def keep_failed(self, position: Position, failure: wire.Failure) -> str:
        """Keep a failed delivery for a retry; return the path of its executor, as an operator names it."""
        level, place = position
        executor = path_text((*level.path, level.under_way.deliveries[place].executor_id))
        self._failed[executor] = position, failure
        return executor

    def take_failed(self, executors: Sequence[str]) -> list[Position]:
        """Return the failed deliveries of these executors, to be made again."""
        return [self._failed.pop(executor)[0] for executor in executors]

    def failed(self) -> Iterator[wire.FailedExecutor]:
        """Yield the executors that wait for an operator."""
        for executor, (_, failure) in self._failed.items():
            yield wire.FailedExecutor(executor=executor, error_type=failure.error_type, message=failure.message)

    def at_work(self, level: Level) -> tuple[set[str], set[str]]:
        """Return the executors of a level that have a delivery under way, and those that wait for an operator."""

        def at(positions: Iterable[Position]) -> set[str]:
            return {one.under_way.deliveries[place].executor_id for one, place in positions if one is level}

        return at(self._under_way.values()), at(position for position, _ in self._failed.values())

    @property
    def stuck(self) -> bool:
        """Whether nothing goes on until an operator acts."""
        return bool(self._failed) and not self._under_way

    # --- what a delivery is given ---------------------------------------------------------------------------

    def _own_of(
        self, level: Level, superstep: Superstep, records: list[wire.CheckpointRecord]
    ) -> wire.CheckpointHeader | None:
        """Return the checkpoint that a delivery makes by its outcome: where it is the only one, and owes no other."""
        if len(superstep.deliveries) > 1 or len(records) != self._recorder.lineage.unmirrored:
            return None
        if level.messages:  # in flight already, while a request is cancelled: the delivery is not told of them
            return None
        return self._recorder.promise("superstep", level.iteration + 1)

    def _snapshot_for(self, level: Level, superstep: Superstep, executor_id: str, *, whole: bool) -> wire.Snapshot:
        """Return what an executor is to see: its own workflow; or all, where a checkpoint is to be made of it."""
        changes = merged(self.changes_of(level.path), superstep.own_changes(executor_id))
        if whole and level.children:
            kept = self._recorder.snapshot().changes.children
            paths = [*kept, *(path for path in self.aside.paths() if path not in kept)]
            children = {path: self.aside.over(kept.get(path, wire.Changes()), path) for path in paths}
            changes = wire.replace(changes, children=children)
        return wire.Snapshot(base=self._recorder.base, changes=changes)

    def changes_of(self, path: Sequence[str]) -> wire.Changes:
        """Return what a level has that no checkpoint in the blob store is known to hold."""
        text = path_text(path)
        return self.aside.over(self._recorder.level(text), text)

    def may_begin(self, level: Level, superstep: Superstep) -> bool:
        """Whether the deliveries of a superstep may carry what they are to see; else a commit must come first."""
        changes, times = self.changes_of(level.path), len(superstep.deliveries)
        if level.path:
            return self.aside.carry(path_text(level.path), changes, times)
        size = weight_of_changes(changes) * times
        return size <= SUPERSTEP_SNAPSHOTS_LIMIT or not self._recorder.lineage.unmirrored


def _nested(level: Level, superstep: Superstep, position: int) -> wire.Nested | None:
    """Return what a delivery is told of the sub-workflow that its executor wraps, if it wraps one."""
    child = level.children.get(superstep.deliveries[position].executor_id)
    if child is None:
        return None
    return superstep.nested.setdefault(position, wire.Nested(requests=list(child.requests.values())))


def _inline_budget(level: Level, superstep: Superstep) -> int:
    """Return what a delivery's result may hold inline: all that a sub-workflow shows goes into one payload."""
    shown = sum(map(weight, level.shown))
    if level.caller is not None:  # the runs that its caller has called for before travel along
        earlier = level.caller.level.under_way.nested[level.caller.position].runs
        shown += sum(weight(event) for run in earlier for event in run.events)
    return max(0, min(DELIVERY_INLINE_BUDGET, (SUPERSTEP_INLINE_BUDGET - shown) // len(superstep.deliveries)))
