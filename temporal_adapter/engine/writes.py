"""Writes of one superstep to shared state, merged in delivery order.

Executors of a superstep see the state as it was before, so two of them may have read one key and written it. What such
a write added to a list or dict is kept beside what the other wrote; any other write replaces what was written before
it, and if its executor had read the key first, that is a conflict, which is told and not hidden.
"""

from __future__ import annotations

from dataclasses import dataclass

from temporal_adapter import wire

from .superstep import Superstep


@dataclass(frozen=True, slots=True)
class Conflict:
    """A write that was lost: `winner` read the key and wrote it without having seen the write of `loser`."""

    key: str
    loser: str
    winner: str


def merge_writes(superstep: Superstep) -> tuple[dict[str, wire.Value | None], list[Conflict]]:
    """Return what the deliveries of a superstep wrote to shared state, and the conflicts."""
    written: dict[str, wire.Value | None] = {}
    writers: dict[str, list[str]] = {}
    conflicts: list[Conflict] = []
    for delivery, result in superstep.outcomes():
        executor = delivery.executor_id
        for key, place in result.state.items():
            value = None if place is None else result.values[place]
            others = [one for one in writers.get(key, []) if one != executor]
            if others and key in result.patches:
                patch = result.patches[key]
                if patch is None and value != written[key]:
                    conflicts.append(Conflict(key, others[-1], executor))
                elif patch is not None:
                    value = _patched(written[key], result.values[patch])
            written[key] = value
            writers.setdefault(key, []).append(executor)
    return written, conflicts


def _patched(value: wire.Value | None, patch: wire.Value) -> wire.Value:
    before = wire.Value(inline=None, size=4) if value is None else value
    return wire.replace(before, patches=[*before.patches, patch])
