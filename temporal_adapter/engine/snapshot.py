"""What a run knows between supersteps, kept as changes to a checkpoint that the blob store is known to hold.

While everything is small there is no base, and the changes are everything. Once they are not, each acknowledged
checkpoint becomes the base and only what changed since travels, so that history grows with what changed.

Entries are kept by *level*: the run's own workflow has the path "", a sub-workflow the path of the executor around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from temporal_adapter import wire

INLINE_SNAPSHOT_LIMIT = 4096
"""Bytes up to which a snapshot travels whole. Beyond, it travels as a base and changes."""

_REFERENCE_SIZE = 100  # bytes that a reference, or the frame of a message or request, takes in JSON

Section = Literal["state", "executors", "attributes", "buffers", "requests"]
SECTIONS: tuple[Section, ...] = ("state", "executors", "attributes", "buffers", "requests")

Place = tuple[str, Section | Literal["iteration", "stowed"], str]
"""Where an entry is: the level's path, its section, and its key there.

`iteration` and `stowed` have the one key "". `stowed` refers to all entries that a sub-workflow had when they were
written to the blob store by themselves: it takes the place of what it holds.
"""


class Entries:
    """Entries by place, each with the number it was put with."""

    def __init__(self) -> None:
        self._levels: dict[str, dict[Place, tuple[Any, int]]] = {}

    def put(self, place: Place, value: Any, number: int) -> None:
        """Set an entry. What is stowed takes the place of all its level has."""
        level = self._levels.setdefault(place[0], {})
        if place[1] == "stowed":
            level.clear()
        level[place] = (value, number)

    def keep(self, wanted: Iterable[tuple[Place, Any, int]]) -> None:
        """Forget all but these."""
        self._levels = {}
        for place, value, number in wanted:
            self._levels.setdefault(place[0], {})[place] = (value, number)

    def paths(self) -> list[str]:
        """Return the paths of the levels that have entries."""
        return list(self._levels)

    def all(self) -> Iterator[tuple[Place, Any, int]]:
        """Yield place, value and number of every entry, level by level."""
        for path in self._levels:
            yield from self.of(path)

    def of(self, path: str) -> Iterator[tuple[Place, Any, int]]:
        """Yield the entries of a level."""
        for place, (value, number) in self._levels.get(path, {}).items():
            yield place, value, number

    def level(self, path: str) -> wire.Changes:
        """Return the entries of one level as a shape."""
        fields: dict[str, Any] = {}
        for (_, section, key), value, _ in self.of(path):
            if section in SECTIONS:
                fields.setdefault(section, {})[key] = value
            else:
                fields[section] = value
        return wire.Changes(**fields)


class SnapshotTracker:
    """Entries changed since the base, each with the ordinal of the checkpoint that first includes it."""

    def __init__(self) -> None:
        self.base: wire.Base | None = None
        self._entries = Entries()

    def put(self, place: Place, value: Any, ordinal: int) -> None:
        """Set an entry; None deletes it.

        A deletion is kept even without a base: a checkpoint that still has the entry may be acknowledged after it.
        """
        self._entries.put(place, value, ordinal)

    def acknowledge(self, base: wire.Base, ordinal: int) -> None:
        """The store holds the checkpoint with this ordinal: build on it, unless all is small enough to travel."""
        inline = self.base is None and self._size() <= INLINE_SNAPSHOT_LIMIT
        if not inline:
            self.base = base
        self._entries.keep(
            [
                (place, value, changed)
                for place, value, changed in self._entries.all()
                if changed > ordinal or (inline and value is not None)
            ]
        )

    def load(self, snapshot: wire.Snapshot, ordinal: int) -> None:
        """Go on from a snapshot, as if all of its entries were put now."""
        self.base = snapshot.base
        for path, changes in {"": snapshot.changes, **snapshot.changes.children}.items():
            if changes.stowed is not None:  # first, since it takes the place of what its level has
                self.put((path, "stowed", ""), changes.stowed, ordinal)
            if changes.iteration is not None:
                self.put((path, "iteration", ""), changes.iteration, ordinal)
            for section in SECTIONS:
                for key, value in getattr(changes, section).items():
                    self.put((path, section, key), value, ordinal)

    def level(self, path: str) -> wire.Changes:
        """Return what changed of one level."""
        return self._entries.level(path)

    def snapshot(self) -> wire.Snapshot:
        """Return the snapshot, of every level."""
        children = {path: self.level(path) for path in self._entries.paths() if path}
        return wire.Snapshot(base=self.base, changes=wire.replace(self.level(""), children=children))

    def _size(self) -> int:
        return sum(len(key) + _weight(value) for (_, _, key), value, _ in self._entries.all())


def merged(under: wire.Changes, over: wire.Changes) -> wire.Changes:
    """Return changes of one level with others laid over them."""
    if over.stowed is not None:
        return over
    return wire.replace(
        under,
        **{section: {**getattr(under, section), **getattr(over, section)} for section in SECTIONS},
        iteration=under.iteration if over.iteration is None else over.iteration,
    )


def weight(changes: wire.Changes) -> int:
    """Return roughly how many bytes the changes of a level take in JSON."""
    entries = [entry for section in SECTIONS for entry in getattr(changes, section).items()]
    return sum(len(key) + _weight(value) for key, value in entries)


def _weight(value: Any) -> int:
    if isinstance(value, wire.Value):
        own = value.size if value.ref is None else _REFERENCE_SIZE
        return own + sum(map(_weight, value.patches))
    if isinstance(value, list):
        return sum(_REFERENCE_SIZE + _weight(message.data) for message in value)  # pyright: ignore
    if isinstance(value, wire.Request):
        return _REFERENCE_SIZE + _weight(value.data)
    return 0
