"""What a run knows between supersteps, kept as changes to a checkpoint that the blob store is known to hold.

While everything is small there is no base, and the changes are everything. Once they are not, each acknowledged
checkpoint becomes the base and only what changed since travels, so that history grows with what changed.
"""

from __future__ import annotations

from typing import Any, Literal

from temporal_adapter import wire

INLINE_SNAPSHOT_LIMIT = 4096
"""Bytes up to which a snapshot travels whole. Beyond, it travels as a base and changes."""

_REFERENCE_SIZE = 100  # bytes that a reference, or the frame of a message or request, takes in JSON

Section = Literal["state", "executors", "attributes", "buffers", "requests"]
_SECTIONS: tuple[Section, ...] = ("state", "executors", "attributes", "buffers", "requests")


class SnapshotTracker:
    """Entries changed since the base, each with the ordinal of the checkpoint that first includes it."""

    def __init__(self) -> None:
        self.base: wire.Base | None = None
        self._entries: dict[Section, dict[str, tuple[Any, int]]] = {section: {} for section in _SECTIONS}

    def put(self, section: Section, key: str, value: Any, ordinal: int) -> None:
        """Set an entry; None deletes it.

        A deletion is kept even without a base: a checkpoint that still has the entry may be acknowledged after it.
        """
        self._entries[section][key] = (value, ordinal)

    def acknowledge(self, base: wire.Base, ordinal: int) -> None:
        """The store holds the checkpoint with this ordinal: build on it, unless all is small enough to travel."""
        inline = self.base is None and self._size() <= INLINE_SNAPSHOT_LIMIT
        if not inline:
            self.base = base
        for section, entries in self._entries.items():
            self._entries[section] = {
                key: (value, changed)
                for key, (value, changed) in entries.items()
                if changed > ordinal or (inline and value is not None)
            }

    def snapshot(self, own: wire.Changes | None = None) -> wire.Snapshot:
        """Return the snapshot, with an executor's own changes of this superstep on top."""
        changes: dict[str, dict[str, Any]] = {}
        for section, entries in self._entries.items():
            merged = {key: value for key, (value, _) in entries.items()}
            if own is not None:
                merged.update(getattr(own, section))
            changes[section] = merged
        return wire.Snapshot(base=self.base, changes=wire.Changes(**changes))

    def _size(self) -> int:
        return sum(
            len(key) + _weight(value) for entries in self._entries.values() for key, (value, _) in entries.items()
        )


def _weight(value: Any) -> int:
    """Roughly, the bytes an entry takes in JSON."""
    if isinstance(value, wire.Value):
        return value.size if value.ref is None else _REFERENCE_SIZE
    if isinstance(value, list):
        return sum(_REFERENCE_SIZE + _weight(message.data) for message in value)  # pyright: ignore
    if isinstance(value, wire.Request):
        return _REFERENCE_SIZE + _weight(value.data)
    return 0
