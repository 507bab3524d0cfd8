"""Reading what a run answers in pages: by its queries, and what earlier Temporal runs of it left in the blob store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from temporal_adapter import wire

from .reading import EventReader

ShapeT = TypeVar("ShapeT")

Query = Callable[[str, int], Awaitable[Any]]
"""Asks a query of the run, by its name, from an offset on."""


async def all_items(query: Query, name: str, shape: type[ShapeT], reader: EventReader) -> list[ShapeT]:
    """Return what a query answers in pages, from its first item to its last."""
    items: list[ShapeT] = []
    while page := await query(name, len(items)):
        archived = page[0].get("archived")
        if archived is not None:
            pointer = wire.load(wire.ArchivedPage, archived)
            page = (await reader.archived(pointer))[len(items) - pointer.first :]
        items += [wire.load(shape, item) for item in page]
    return items


async def events_from(query: Query, offset: int, reader: EventReader) -> tuple[list[wire.Event], bool]:
    """Return some events from an offset on, none at the end, and whether none will follow."""
    log = wire.load(wire.EventLog, await query("events", offset))
    events, skip = log.events, log.skip
    if log.archived is not None:
        events = [wire.load(wire.Event, one) for one in await reader.archived(log.archived)]
        skip = offset - log.archived.first
    return [one for event in events for one in await reader.each(event)][skip:], log.ended
