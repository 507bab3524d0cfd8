"""Writes of one superstep to shared state, merged in delivery order.

Executors of a superstep see the state as it was before, so two of them may have read one key and written it, neither
seeing the other's write. That is a conflict, and always told. What the later one added to a list or dict is kept beside
what the earlier one wrote; any other write replaces it. A write whose executor had not read the key replaces what was
written before it, as in MAF's own runner, and is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from temporal_adapter import wire

from .superstep import Superstep


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two executors read a key and wrote it. Both writes are `kept`, or only the later."""

    key: str
    earlier: str
    later: str
    kept: bool

    def __str__(self) -> str:
        outcome = "what each added is kept" if self.kept else f"that of {self.later!r} counts"
        return (
            f"Executors {self.earlier!r} and {self.later!r} both changed the state {self.key!r} in one superstep, "
            f"neither seeing the other's change: {outcome}."
        )


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
                if patch is not None:
                    value = _patched(written[key], result.values[patch])
                if patch is not None or value != written[key] or _is_number(value):
                    conflicts.append(Conflict(key, others[-1], executor, kept=patch is not None))
            written[key] = value
            writers.setdefault(key, []).append(executor)
    return written, conflicts


def _is_number(value: wire.Value | None) -> bool:
    """Whether a value may be a counter: two that count to the same number have lost a count."""
    return value is not None and isinstance(value.inline, (int, float)) and not isinstance(value.inline, bool)


def _patched(value: wire.Value | None, patch: wire.Value) -> wire.Value:
    before = wire.Value(inline=None, size=4) if value is None else value
    return wire.replace(before, patches=[*before.patches, patch])
