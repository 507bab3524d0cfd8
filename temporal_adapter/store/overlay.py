"""Changes laid over a snapshot. Does no I/O of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from temporal_adapter import wire

EntryT = TypeVar("EntryT")


def overlay(base: wire.SnapshotEntries, changes: wire.Changes) -> wire.SnapshotEntries:
    """Return the snapshot that results from changes to a base. Neither argument is touched.

    As in a dict, an entry that is replaced keeps its place, a new one goes to the end. Nothing may be stowed in the
    changes: `unstowed` comes first.
    """
    children = dict(base.children)
    for path, changed in changes.children.items():
        under = None if changed.whole else children.get(path)
        children[path] = overlay(under or wire.SnapshotEntries(), changed)
    return wire.SnapshotEntries(
        state=_merged(base.state, changes.state),
        executors=_merged(base.executors, changes.executors),
        attributes=_merged(base.attributes, changes.attributes),
        buffers=_merged(base.buffers, changes.buffers),
        requests=_merged(base.requests, changes.requests),
        iteration=base.iteration if changes.iteration is None else changes.iteration,
        children=children,
    )


async def unstowed(changes: wire.Changes, resolve: Callable[[wire.Value], Awaitable[Any]]) -> wire.Changes:
    """Return changes with the entries that they refer to as stowed in them.

    Raises:
        StoreError: These cannot be read.
    """
    children = {path: await unstowed(changed, resolve) for path, changed in changes.children.items()}
    changes = wire.replace(changes, children=children)
    if changes.stowed is None:
        return changes
    under = wire.load(wire.SnapshotEntries, await resolve(changes.stowed))
    entries = overlay(under, wire.replace(changes, stowed=None))
    return wire.Changes(
        state={**entries.state},
        executors={**entries.executors},
        attributes={**entries.attributes},
        buffers={**entries.buffers},
        requests={**entries.requests},
        iteration=entries.iteration,
        whole=True,
    )


def _merged(base: Mapping[str, EntryT], changes: Mapping[str, EntryT | None]) -> dict[str, EntryT]:
    merged = dict(base)
    for key, entry in changes.items():
        if entry is None:
            merged.pop(key, None)
        else:
            merged[key] = entry
    return merged
