"""The order of checkpoints: by lineage, never by iteration or timestamp alone. Pure functions; no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from temporal_adapter import wire


def lineage_order(headers: Iterable[wire.CheckpointHeader]) -> list[wire.CheckpointHeader]:
    """Return checkpoints with each parent before its children, whatever the order they come in.

    A lineage stays together: depth first. Only where the lineage leaves the order open, among the children of a fork
    and among checkpoints without a parent in the list, is it by timestamp, then id. Checkpoints whose
    `previous_checkpoint_id` goes round in a circle, which only damage can cause, come last. Of several headers of one
    id the last one counts.
    """
    by_id = {header.checkpoint_id: header for header in headers}
    ordered = sorted(by_id.values(), key=lambda header: (header.timestamp, header.checkpoint_id))
    children: dict[str | None, list[wire.CheckpointHeader]] = {}
    for header in ordered:
        parent = header.previous_checkpoint_id if header.previous_checkpoint_id in by_id else None
        children.setdefault(parent, []).append(header)
    result: dict[str, wire.CheckpointHeader] = {}
    for start in [*children.get(None, []), *ordered]:
        pending = [start]
        while pending:
            header = pending.pop()
            if header.checkpoint_id not in result:
                result[header.checkpoint_id] = header
                pending += reversed(children.get(header.checkpoint_id, []))
    return list(result.values())


def heads_of(entries: Iterable[wire.IndexEntry]) -> list[wire.IndexEntry]:
    """Return the checkpoints that none of the others has as parent, in the order they come in."""
    entries = list(entries)
    parents = {entry.header.previous_checkpoint_id for entry in entries}
    return [entry for entry in entries if entry.header.checkpoint_id not in parents]


def youngest_head(entries: Sequence[wire.IndexEntry]) -> wire.IndexEntry:
    """Return the head of the lineage; of several, that of the youngest run, and in one run the last to be recorded.

    Where lineages go round in a circle, which only damage can cause, none is a head, and all are looked at.
    """
    last: dict[tuple[str, str], wire.IndexEntry] = {}
    for entry in sorted(heads_of(entries) or entries, key=lambda one: (one.header.number or 0, _time(one))):
        last[entry.workflow_id, entry.run_id] = entry
    return max(last.values(), key=_time)


def _time(entry: wire.IndexEntry) -> datetime:
    return datetime.fromisoformat(entry.header.timestamp)
