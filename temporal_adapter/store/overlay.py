"""Changes laid over a snapshot. Does no I/O of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from temporal_adapter import wire

SECTIONS = ("state", "executors", "attributes", "buffers", "requests")

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


def composed(removed: wire.Changes, changed: wire.Changes, changes: wire.Changes) -> tuple[wire.Changes, wire.Changes]:
    """Return what has the effect of all three, laid over a snapshot in turn: deletions first, then the rest.

    Two of them, because a key that is deleted and set again goes to the end, which one `Changes` cannot say.

    Args:
        removed: Deletions, as this function returns them.
        changed: What is set, as this function returns it.
        changes: Anything but what is stowed.
    """
    paths = dict.fromkeys([*removed.children, *changed.children, *changes.children])
    levels = {
        path: _composed_level(*(one.children.get(path, wire.Changes()) for one in (removed, changed, changes)))
        for path in paths
    }
    gone, kept = _composed_level(removed, changed, wire.replace(changes, whole=False))
    # Every path in the first, so that new levels come in the order in which they came to be.
    return (
        wire.replace(gone, children={path: level[0] for path, level in levels.items()}),
        wire.replace(kept, children={path: level[1] for path, level in levels.items() if level[1] != wire.Changes()}),
    )


def _composed_level(
    removed: wire.Changes, changed: wire.Changes, changes: wire.Changes
) -> tuple[wire.Changes, wire.Changes]:
    if changes.whole:
        removed, changed = wire.Changes(whole=True), wire.Changes()
    gone: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    for section in SECTIONS:
        gone[section], kept[section] = {**getattr(removed, section)}, {**getattr(changed, section)}
        for key, entry in getattr(changes, section).items():
            if entry is not None:
                kept[section][key] = entry
            else:
                kept[section].pop(key, None)
                gone[section][key] = None
    iteration = changed.iteration if changes.iteration is None else changes.iteration
    return wire.Changes(**gone, whole=removed.whole), wire.Changes(**kept, iteration=iteration)


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
    return as_changes(overlay(under, wire.replace(changes, stowed=None)))


def as_changes(entries: wire.SnapshotEntries) -> wire.Changes:
    """Return changes that make these entries of whatever was before; those of one level."""
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
