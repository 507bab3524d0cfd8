"""Carrying an engine over to another Temporal run in the tests, through the JSON text that passes between the two.

After each time, whatever the old engine knew the new one must know: `forgotten` compares the two attribute by
attribute, so that a new attribute which is not carried over is found by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from random import Random
from types import FunctionType, MethodType
from typing import Any

import msgspec

from temporal_adapter import wire
from temporal_adapter.engine import Engine
from temporal_adapter.engine.log import Log

from .blobs import Blobs

_SHAPES: Mapping[str, Any] = {
    "events": wire.Event,
    "outputs": wire.Value | None,
    "checkpoints": wire.CheckpointHeader,
    "responses": wire.Responded,
}


# --- lists and their pages ----------------------------------------------------------------------------------


def archive(engine: Engine, name: str, blobs: Blobs, dice: Random) -> None:
    """Bring some of the first items of a list to the blob store, in pages of any size."""
    log = engine.logs[name]
    left = dice.randint(0, len(log.items))
    pages: list[wire.ArchivedPage] = []
    first = 0
    while first < left:
        next = dice.randint(first + 1, left)
        page = blobs.keep([msgspec.to_builtins(item) for item in log.items[first:next]])
        pages.append(wire.ArchivedPage(first=log.offset_of(first), next=log.offset_of(next), page=page))
        first = next
    engine.archive(name, pages)


def all_of(engine: Engine, name: str, blobs: Blobs) -> list[Any]:
    """Return a list whole: its pages, which must join without a gap, and what follows."""
    log: Log[Any] = engine.logs[name]
    items: list[Any] = []
    offset = 0
    for page in log.pages:
        assert page.first == offset, "a gap between pages"
        offset = page.next
        items += msgspec.convert(blobs.read(page.page), list[_SHAPES[name]])
    assert log.first == offset
    assert log.length == sum(map(log._count, [*items, *log.items]))  # pyright: ignore[reportPrivateUsage]
    return [*items, *log.items]


def read_events(engine: Engine, blobs: Blobs, offset: int = 0) -> list[wire.Event]:
    """Return the events from an offset on, as a client reads them: page by page, each event once."""
    read: list[wire.Event] = []
    while offset < engine.journal.length:
        page = engine.journal.page(offset, ended=False)
        events, skip = page.events, page.skip
        if page.archived is not None:
            assert events == []
            assert page.archived.first <= offset < page.archived.next
            events = msgspec.convert(blobs.read(page.archived.page), list[wire.Event])
            skip = offset - page.archived.first
        assert len(events) > skip, "a page without an event"
        read += events[skip:]
        offset += len(events) - skip
    return read


class Lists:
    """The lists of a run, over all its Temporal runs."""

    engine: Engine
    blobs: Blobs

    @property
    def headers(self) -> list[wire.CheckpointHeader]:
        """The lineage."""
        return all_of(self.engine, "checkpoints", self.blobs)

    @property
    def events(self) -> list[wire.Event]:
        """The events."""
        return all_of(self.engine, "events", self.blobs)

    @property
    def trail(self) -> list[wire.Responded]:
        """The audit trail."""
        return all_of(self.engine, "responses", self.blobs)

    @property
    def outputs(self) -> list[Any]:
        """The outputs."""
        return [None if one is None else self.blobs.read(one) for one in all_of(self.engine, "outputs", self.blobs)]


# --- from one engine to another -----------------------------------------------------------------------------


def carried_over(engine: Engine) -> str:
    """Return what a run that may leave takes along, as text."""
    assert engine.may_leave
    carried = wire.Carried(clock="", archived=engine.archived(), tails=engine.tails(), state=engine.carried())
    return wire.to_bytes(wire.dump(carried)).decode("ascii")


def take_up(engine: Engine, text: str) -> None:
    """Have a new engine be what another carried over."""
    carried = wire.load(wire.Carried, json.loads(text))
    assert carried.state is not None
    assert carried.tails is not None
    engine.go_on(carried.state, carried.tails, carried.archived)


_NOT_OF_THE_RUN = {
    "engine.entered": "told by WentOn",
    "engine.continues": "told by WentOn",
    "engine.moves": "told by WentOn",
    "engine._options": "what is left of them is compared by options_to_carry",
    "engine._restoring": "read only while a checkpoint is being seeded, and set by what seeds it",
    "engine._rest_phase": "read only while an input is being seeded, and set by that",
    "engine._anyway": "read only while a superstep is held; compared there",
    "engine._inner": "of the superstep under way",
    "engine._recorder._snapshot": "compared by what it holds",
    "engine._recorder._first": "of checkpoints that the store lacks; it lacks none",
    "engine._recorder.observe": "the owner's",
    "engine._deadlines._due": "compared by what is due",
    "engine._deadlines._count": "orders what is due",
    "engine._deadlines._reminders": "compared for the requests that wait",
    "engine._dispatch._count": "deliveries are counted in one Temporal run",
    "engine._dispatch._stranded": "of deliveries under way",
    "engine._dispatch.aside": "what is in it was taken out when the superstep ended",
    "._before": "of the superstep under way",
}


def forgotten(old: Engine, new: Engine) -> list[str]:
    """Return what a new engine does not know, or knows otherwise, of what the old one knew."""
    found = list(_differences(old, new, "engine", set()))
    compared: dict[str, tuple[Any, Any]] = {
        "options": (old.options_to_carry(), new.options_to_carry()),
        "snapshot": (old._recorder.snapshot(), new._recorder.snapshot()),
        "due": (_due(old), _due(new)),
        "aside": (old._dispatch.aside.paths(), []),
        "status": (old.status(), wire.replace(new.status(), restored=old.status().restored)),
        "restored": (wire.without_gifts(old.status().restored), new.status().restored),
        "progress": (old.progress(), new.progress()),
        "pending": (old.pending_requests(), new.pending_requests()),
        "anyway": (old.held and old._anyway, new.held and new._anyway),
    }
    return [*found, *(name for name, (one, other) in compared.items() if one != other)]


def _due(engine: Engine) -> Any:
    due, reminders = engine._deadlines.carried(engine._root.requests)
    return due, reminders, [key for key in engine._root.requests if engine.reminders(key) != reminders.get(key, 0)]


def _differences(one: Any, other: Any, path: str, seen: set[int]) -> Iterator[str]:
    if path in _NOT_OF_THE_RUN or any(path.endswith(end) for end in _NOT_OF_THE_RUN if end.startswith(".")):
        return
    if isinstance(one, (FunctionType, MethodType)) or id(one) in seen:
        return
    if type(one) is not type(other):
        yield f"{path}: {one!r} != {other!r}"
        return
    names = _attributes(one)
    if isinstance(one, Mapping):
        if list(one) != list(other):
            yield f"{path}: {list(one)} != {list(other)}"
            return
        for key in one:
            yield from _differences(one[key], other[key], f"{path}[{key!r}]", seen)
    elif isinstance(one, (list, tuple)):
        if len(one) != len(other):
            yield f"{path}: {one!r} != {other!r}"
            return
        for place, (mine, its) in enumerate(zip(one, other, strict=True)):
            yield from _differences(mine, its, f"{path}[{place}]", seen)
    elif names:
        seen.add(id(one))
        for name in names:
            yield from _differences(getattr(one, name), getattr(other, name), f"{path}.{name}", seen)
    elif one != other:
        yield f"{path}: {one!r} != {other!r}"


def _attributes(one: Any) -> list[str]:
    """Return the attributes of an object of the engine's own; a wire shape is a value."""
    if not type(one).__module__.startswith("temporal_adapter.engine"):
        return []
    return [*getattr(one, "__dict__", {}), *getattr(type(one), "__slots__", ())]
