"""What a run knows between supersteps, kept as changes to a checkpoint that the blob store is known to hold.

While everything is small there is no base, and the changes are everything. Once they are not, each acknowledged
checkpoint becomes the base and only what changed since travels, so that history grows with what changed.

Entries are kept by *level*: the run's own workflow has the path "", a sub-workflow the path of the executor around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from temporal_adapter import wire

INLINE_SNAPSHOT_LIMIT = 4096
"""Bytes up to which a snapshot travels whole. Beyond, it travels as a base and changes."""

_REFERENCE_SIZE = 100  # bytes that a reference, or the frame of a message or request, takes in JSON

Section = Literal["state", "executors", "attributes", "buffers", "requests"]
SECTIONS: tuple[Section, ...] = ("state", "executors", "attributes", "buffers", "requests")

Place = tuple[str, Section | Literal["iteration"], str]
"""Where an entry is: the level's path, its section, and its key there. `iteration` has the one key ""."""


class SnapshotTracker:
    """Entries changed since the base, each with the ordinal of the checkpoint that first includes it."""

    def __init__(self) -> None:
        self.base: wire.Base | None = None
        self._entries: dict[Place, tuple[Any, int]] = {}

    def put(self, place: Place, value: Any, ordinal: int) -> None:
        """Set an entry; None deletes it.

        A deletion is kept even without a base: a checkpoint that still has the entry may be acknowledged after it.
        """
        self._entries[place] = (value, ordinal)

    def acknowledge(self, base: wire.Base, ordinal: int) -> None:
        """The store holds the checkpoint with this ordinal: build on it, unless all is small enough to travel."""
        inline = self.base is None and self._size() <= INLINE_SNAPSHOT_LIMIT
        if not inline:
            self.base = base
        self._entries = {
            place: (value, changed)
            for place, (value, changed) in self._entries.items()
            if changed > ordinal or (inline and value is not None)
        }

    def snapshot(self) -> wire.Snapshot:
        """Return the snapshot, of every level."""
        entries = ((place, value) for place, (value, _) in self._entries.items())
        return wire.Snapshot(base=self.base, changes=as_changes(entries))

    def _size(self) -> int:
        return sum(len(key) + _weight(value) for (_, _, key), (value, _) in self._entries.items())


def as_changes(entries: Iterable[tuple[Place, Any]]) -> wire.Changes:
    """Return entries as a shape."""
    levels: dict[str, dict[str, Any]] = {"": {}}
    for (path, section, key), value in entries:
        level = levels.setdefault(path, {})
        if section == "iteration":
            level[section] = value
        else:
            level.setdefault(section, {})[key] = value
    outermost = levels.pop("")
    return wire.Changes(**outermost, children={path: wire.Changes(**level) for path, level in levels.items()})


def merged(under: wire.Changes, over: wire.Changes) -> wire.Changes:
    """Return changes with others laid over them."""
    children = dict(under.children)
    for path, changes in over.children.items():
        children[path] = merged(children[path], changes) if path in children else changes
    return wire.Changes(
        **{section: {**getattr(under, section), **getattr(over, section)} for section in SECTIONS},
        iteration=under.iteration if over.iteration is None else over.iteration,
        children=children,
    )


def _weight(value: Any) -> int:
    """Roughly, the bytes an entry takes in JSON."""
    if isinstance(value, wire.Value):
        own = value.size if value.ref is None else _REFERENCE_SIZE
        return own + sum(map(_weight, value.patches))
    if isinstance(value, list):
        return sum(_REFERENCE_SIZE + _weight(message.data) for message in value)  # pyright: ignore
    if isinstance(value, wire.Request):
        return _REFERENCE_SIZE + _weight(value.data)
    return 0
