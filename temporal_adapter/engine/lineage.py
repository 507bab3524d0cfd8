"""The run's checkpoints: their chain, and which of them the blob store is known to hold.

A checkpoint is *recorded* when the engine decides it, and *mirrored* when an activity has written it. What is
recorded but not mirrored rides on the next activity, or on a commit of its own. Checkpoints are written in lineage
order by one activity at a time, so that a parent is always in the store before its child.
"""

from __future__ import annotations

from temporal_adapter import wire

from .log import Log

# Bounds of a commit's payload when the store was away for long.
_RECORDS_PER_COMMIT, _BYTES_PER_COMMIT = 8, 1024 * 1024


class Lineage:
    """Headers in order of recording, and the records that wait to be mirrored.

    Attributes:
        log: Of all checkpoints' headers; first, that of the one that the run was restored from.
        head: The id of the one that the next checkpoint follows.
    """

    def __init__(self) -> None:
        self.log: Log[wire.CheckpointHeader] = Log()
        self.head: str | None = None
        self.mirror_error: str | None = None
        self._waiting: list[tuple[int, wire.CheckpointRecord]] = []
        self._carried = 0  # how many of the waiting are with an activity now
        self.next_ordinal = 0
        """The number of the next checkpoint, from 0."""

    @property
    def headers(self) -> list[wire.CheckpointHeader]:
        """The headers that are not in pages of the blob store."""
        return self.log.items

    @property
    def unmirrored(self) -> int:
        """How many recorded checkpoints the store is not known to hold."""
        return len(self._waiting)

    def append(self, header: wire.CheckpointHeader) -> int:
        """Record a checkpoint's place in the chain; return its ordinal."""
        self.log.append(header)
        self.head = header.checkpoint_id
        self.next_ordinal += 1
        return self.next_ordinal - 1

    def restore(self, header: wire.CheckpointHeader) -> None:
        """Go on from a checkpoint that was recorded before, here or in another run."""
        if all(one.checkpoint_id != header.checkpoint_id for one in self.headers):
            self.log.append(header)
        self.head = header.checkpoint_id

    def begin_anew(self) -> None:
        """The next checkpoint has no parent."""
        self.head = None

    def wait(self, ordinal: int, record: wire.CheckpointRecord) -> None:
        """Keep a record until an activity has written it."""
        self._waiting.append((ordinal, record))

    def carry(self) -> list[wire.CheckpointRecord]:
        """Hand the waiting records, oldest first, to one activity. Empty while another carries some."""
        if self._carried:
            return []
        records: list[wire.CheckpointRecord] = []
        size = 0
        for _, record in self._waiting[:_RECORDS_PER_COMMIT]:
            size += len(wire.to_bytes(wire.dump(record)))
            if records and size > _BYTES_PER_COMMIT:
                break
            records.append(record)
        self._carried = len(records)
        return records

    def settle(self, outcome: wire.CommitOutcome | None) -> int | None:
        """Take what became of the carried records; return the ordinal of the last one if they were written."""
        carried, self._carried = self._carried, 0
        if carried == 0:
            return None
        if outcome is None or outcome.base is None:
            self.mirror_error = None if outcome is None else outcome.error
            return None
        self.mirror_error = None
        ordinal, _ = self._waiting[carried - 1]
        del self._waiting[:carried]
        return ordinal
