"""The order of checkpoints: by lineage, never by iteration or timestamp alone. Pure functions; no I/O."""

from __future__ import annotations

from collections.abc import Iterable

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
