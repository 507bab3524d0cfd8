"""An in-memory blob store for the tests' owner: complete checkpoints, written parents first, with trouble on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from temporal_adapter import wire
from temporal_adapter.store import overlay

from .reference import Moment, Sent

INLINE_LIMIT = 2000  # bytes of a value beyond which it is kept by reference


class Blobs:
    """Values and checkpoints. `fails` is asked before each checkpoint is written."""

    def __init__(self, fails: Callable[[], bool] = lambda: False) -> None:
        self._fails = fails
        self._values: dict[str, Any] = {}
        self.checkpoints: dict[str, tuple[wire.CheckpointHeader, wire.SnapshotEntries, list[wire.Message]]] = {}

    def write(self, records: Sequence[wire.CheckpointRecord]) -> wire.CommitOutcome:
        """Write records as the host does: in order, up to the first that fails."""
        base: wire.Base | None = None
        for record in records:
            if self._fails():
                return wire.CommitOutcome(error="the store is away")
            base = self._commit(record)
        return wire.CommitOutcome(base=base)

    def _commit(self, record: wire.CheckpointRecord) -> wire.Base:
        header = record.header
        parent = header.previous_checkpoint_id
        assert parent is None or parent in self.checkpoints, "a child is written before its parent"
        complete = (header, self.entries(record.snapshot), list(record.messages))
        known = self.checkpoints.setdefault(header.checkpoint_id, complete)
        assert known == complete, "a checkpoint is written again with other content"
        return wire.Base(checkpoint_id=header.checkpoint_id, object=header.checkpoint_id, digest="digest")

    def entries(self, snapshot: wire.Snapshot) -> wire.SnapshotEntries:
        base = wire.SnapshotEntries()
        if snapshot.base is not None:
            base = self.checkpoints[snapshot.base.object][1]
        return overlay(base, snapshot.changes)

    def value(self, obj: Any) -> wire.Value:
        encoded = json.dumps(obj, sort_keys=True)
        if len(encoded) <= INLINE_LIMIT:
            return wire.Value(inline=obj, size=len(encoded))
        ref = hashlib.sha256(encoded.encode()).hexdigest()
        self._values[ref] = obj
        return wire.Value(ref=ref, size=len(encoded))

    def keep(self, items: list[Any]) -> wire.Value:
        """Keep a page of a list, whatever its size."""
        encoded = json.dumps(items)
        ref = hashlib.sha256(encoded.encode()).hexdigest()
        self._values[ref] = json.loads(encoded)
        return wire.Value(ref=ref, size=len(encoded))

    def read(self, value: wire.Value) -> Any:
        return value.inline if value.ref is None else self._values[value.ref]

    def moment(self, checkpoint_id: str) -> Moment:
        """Return a checkpoint decoded, in the reference's terms."""
        header, entries, messages = self.checkpoints[checkpoint_id]
        return Moment(
            kind=header.kind,
            iteration=header.iteration,
            state={key: self.read(value) for key, value in entries.state.items()},
            memories={key: self.read(value) for key, value in {**entries.executors, **entries.attributes}.items()},
            buffers={key: [self._sent(one) for one in held] for key, held in entries.buffers.items()},
            requests={key: self.read(request.data) for key, request in entries.requests.items()},
            messages=[self._sent(message) for message in messages],
        )

    def _sent(self, message: wire.Message) -> Sent:
        return Sent(message.source_id, self.read(message.data), message.target_id)


def json_size(shape: msgspec.Struct) -> int:
    """Return the bytes a shape takes in a history payload."""
    return len(json.dumps(wire.dump(shape), separators=(",", ":")))
