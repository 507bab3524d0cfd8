"""What the links of a run hand on through the blob store: pages of its lists, and parts of what it carries. Pure.

Histories tell what was written there; the links that follow refer to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from temporal_adapter import wire


@dataclass(frozen=True, slots=True)
class Handed:
    """A value that a link was left by the ones before.

    Attributes:
        place: What it is of the run, such as `events 0 to 57` or `part 2 of 3 of what is carried over`.
        value: Where it is.
        headers: Whether it is a page of the checkpoints' headers.
    """

    place: str
    value: wire.Value
    headers: bool = False


def handed_over(carried: wire.Carried | None) -> tuple[Handed, ...]:
    """Return what a link was left; nothing of a run's first link."""
    if carried is None:
        return ()
    pages = [
        Handed(f"{name} {page.first} to {page.next - 1}", page.page, headers=name == "checkpoints")
        for name in wire.Archived.__struct_fields__
        for page in getattr(carried.archived, name)
    ]
    count = len(carried.parts)
    parts = [Handed(f"part {n} of {count} of what is carried over", one) for n, one in enumerate(carried.parts, 1)]
    return (*pages, *parts)
