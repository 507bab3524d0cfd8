"""A run's checkpoints in the store, held against what history says they must be. Reads the store; writes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from temporal_adapter import wire
from temporal_adapter.store import CorruptObject, MissingObject, StoreError

from .expected import Checkpoint, Expected
from .places import parts_of, readable, same, values_in
from .reports import Difference, LostValue
from .runs import Stores

_NOWHERE = object()

GONE = "The server has the history of the link that recorded it no more, and the store does not have it."
"""Why a checkpoint that a run tells of cannot be rebuilt."""


async def differences(stores: Stores, checkpoint: Checkpoint) -> list[Difference]:
    """Return where a checkpoint in the store is not what history says. Values that are gone are not looked at here."""
    run_id = checkpoint.manifest.run_id
    try:
        stored = await stores.checkpoints.load_by_id(checkpoint.id)
    except StoreError as error:
        return [Difference(run_id, "damaged", checkpoint.id, detail=str(error))]
    if stored is None:
        return [Difference(run_id, "missing", checkpoint.id, detail="history recorded it, and it is not in the store")]
    return [one async for one in _parts(stores, checkpoint, stored)]


async def run_differences(stores: Stores, wanted: wire.RunEntry, *, is_open: bool) -> list[Difference]:
    """Return where what the store knows of a run is not what history says. By when it says so is of no account."""
    try:
        known = await stores.checkpoints.runs(wanted.workflow_name, wanted.workflow_id)
    except StoreError as error:
        return [Difference(wanted.run_id, "damaged", place="run", detail=str(error))]
    stored = next((one for one in known if one.run_id == wanted.run_id), None)
    if stored is None:
        return [Difference(wanted.run_id, "missing", place="run", detail="the store does not know of the run")]
    if wanted.ended is not None and wanted.ended.state == "continued" and stored.ended is None:
        entered = any(one.continued is not None and one.continued.run_id == wanted.run_id for one in known)
        stored = stored if entered else wire.replace(stored, ended=wanted.ended)  # the next link is to say it
    if wanted.ended is None and stored.ended is not None and stored.ended.state == "reset":
        stored = wire.replace(stored, ended=None)  # it was given an input since: the mark names an older checkpoint
    if is_open and wanted.ended is None:  # history will say it a moment later
        stored = wire.replace(stored, ended=None)
    recorded, there = _timeless(wanted), _timeless(stored)
    return [
        Difference(wanted.run_id, "differs", place=f"run.{name}", recorded=recorded[name], stored=there[name])
        for name in recorded
        if recorded[name] != there[name] and not (wanted.session and name == "restored")  # by each input anew
    ]


def _timeless(entry: wire.RunEntry) -> dict[str, Any]:
    ended = entry.ended and wire.replace(entry.ended, at="")
    shown = wire.replace(entry, at="", ended=ended)
    return {name: msgspec.to_builtins(getattr(shown, name)) for name in shown.__struct_fields__}


async def _parts(stores: Stores, checkpoint: Checkpoint, stored: wire.Manifest) -> AsyncIterator[Difference]:
    recorded, there = parts_of(checkpoint.manifest), parts_of(stored)
    for place in [*recorded, *(place for place in there if place not in recorded)]:
        one, other = recorded.get(place, _NOWHERE), there.get(place, _NOWHERE)
        detail = ""
        try:
            if one is not _NOWHERE and other is not _NOWHERE and await same(one, other, stores.values):
                continue
        except StoreError as error:
            detail = str(error)
        yield Difference(
            checkpoint.manifest.run_id,
            "differs",
            checkpoint.id,
            place,
            recorded=await _shown(one, stores),
            stored=await _shown(other, stores),
            detail=detail,
        )


async def _shown(part: Any, stores: Stores) -> Any:
    return None if part is _NOWHERE else await readable(part, stores.values)


async def headers_of_gone(stores: Stores, run: Expected) -> list[wire.CheckpointHeader]:
    """Return the headers of the checkpoints that a link was told of by the ones before, and that the store lacks.

    Asked where the history of the link before is gone, so that only this one tells of them.
    """
    headers = list(run.headers)
    for page in run.handed:
        if page.headers:
            try:
                headers += [wire.load(wire.CheckpointHeader, one) for one in await stores.values.resolve(page.value)]
            except StoreError:
                continue  # it is told of itself
    missing: list[wire.CheckpointHeader] = []
    for header in headers:
        try:
            found = await stores.checkpoints.load_by_id(header.checkpoint_id)
        except StoreError:
            found = None
        if found is None:
            missing.append(header)
    return missing


class ValueCheck:
    """Looks each value of a store up once, in however many checkpoints it is."""

    def __init__(self, stores: Stores) -> None:
        self._values = stores.values
        self._troubles: dict[str, StoreError | None] = {}

    async def lost(self, checkpoint: Checkpoint) -> list[tuple[LostValue, StoreError]]:
        """Return the values of a checkpoint that cannot be read, and why: gone, or damaged."""
        found: list[tuple[LostValue, StoreError]] = []
        for place, part in parts_of(checkpoint.manifest).items():
            for at, value in values_in(place, part):
                if value.ref is not None and (trouble := await self._trouble(value.ref)) is not None:
                    found.append((LostValue(checkpoint.id, at, value.ref, value.size), trouble))
        return found

    async def lost_of_handed(self, run: Expected) -> list[tuple[LostValue, StoreError]]:
        """Return what a link was left by the ones before and that cannot be read. Each value is told of once."""
        found: list[tuple[LostValue, StoreError]] = []
        for one in run.handed:
            reference = one.value.ref
            if reference is None or reference in self._troubles:
                continue
            trouble = await self._trouble(reference)
            if trouble is not None:
                found.append((LostValue("", one.place, reference, one.value.size, run.run.run_id), trouble))
        return found

    async def _trouble(self, reference: str) -> StoreError | None:
        if reference not in self._troubles:
            try:
                await self._values.get(reference)
            except (MissingObject, CorruptObject) as error:
                self._troubles[reference] = error
            else:
                self._troubles[reference] = None
        return self._troubles[reference]
