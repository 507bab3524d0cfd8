"""Changes laid over a snapshot. Pure functions; no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from temporal_adapter import wire

EntryT = TypeVar("EntryT")


def overlay(base: wire.SnapshotEntries, changes: wire.Changes) -> wire.SnapshotEntries:
    """Return the snapshot that results from changes to a base. Neither argument is touched.

    As in a dict, an entry that is replaced keeps its place, a new one goes to the end.
    """
    children = dict(base.children)
    for path, changed in changes.children.items():
        children[path] = overlay(children.get(path, wire.SnapshotEntries()), changed)
    return wire.SnapshotEntries(
        state=_merged(base.state, changes.state),
        executors=_merged(base.executors, changes.executors),
        attributes=_merged(base.attributes, changes.attributes),
        buffers=_merged(base.buffers, changes.buffers),
        requests=_merged(base.requests, changes.requests),
        iteration=base.iteration if changes.iteration is None else changes.iteration,
        children=children,
    )


def _merged(base: Mapping[str, EntryT], changes: Mapping[str, EntryT | None]) -> dict[str, EntryT]:
    merged = dict(base)
    for key, entry in changes.items():
        if entry is None:
            merged.pop(key, None)
        else:
            merged[key] = entry
    return merged
