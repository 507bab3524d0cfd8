"""Verifying: compare a run's checkpoints in the store with what its history says they must be. Writes nothing."""

from __future__ import annotations

import asyncio

from temporalio.client import Client

from temporal_adapter import wire
from temporal_adapter.store import BlobStore, MissingObject, StoreError

from .comparing import GONE, ValueCheck, differences, headers_of_gone, run_differences
from .expected import Checkpoint, Expected
from .reports import Difference, LostValue, Verified
from .runs import Links, Stores, run_ids

# How often, and how long apart, an open run's history is read again for a checkpoint that it may be about to record.
_LOOKS, _LOOK_SECONDS = 6, 0.5

_READS_AT_ONCE = 8  # checkpoints


async def verify(client: Client, workflow_id: str, store: str | BlobStore, run_id: str | None = None) -> Verified:
    """Say exactly what differs between the store and the histories of a workflow id's runs.

    Args:
        client: A Temporal client of the runs' namespace, with the data converter that their clients have.
        workflow_id: Temporal's.
        store: The workers' checkpoint store: a path, URL or `BlobStore`.
        run_id: This run only, or this link of one; by default all that the server has.

    Raises:
        RunNotOnServer: The server has no such run.
        NotReplayable: A history is not one of a run of the adapter, or of a release that this one cannot replay.
        StoreError: The store cannot be read at all.
    """
    stores = Stores.of(store, client)
    ids = await run_ids(client, workflow_id) if run_id is None else [run_id]
    links = Links(client, workflow_id, stores)
    runs = [await _settled(links, one, stores) async for one in links.walk(ids) if run_id in (None, one.run.run_id)]
    found: list[Difference] = []
    check = ValueCheck(stores)
    for run in runs:
        found += await _run(stores, run, check)
        if run.link_before in links.gone:
            found += [
                Difference(run.run.run_id, "unknown", one.checkpoint_id, detail=GONE)
                for one in await headers_of_gone(stores, run)
            ]
    known = {checkpoint_id for run in runs for checkpoint_id in (*run.ids, *run.in_flight)}
    found += await _unrecorded(stores, runs, known)
    return Verified(
        workflow_id=workflow_id,
        run_ids=tuple(run.run.run_id for run in runs),
        checkpoints=sum(len(run.ids) for run in runs),
        differences=tuple(found),
        in_flight=tuple(sorted({one for run in runs for one in run.in_flight})),
        gone=tuple(links.gone),
    )


async def _settled(links: Links, run: Expected, stores: Stores) -> Expected:
    """Return what history says, of an open run once it says all that it is about to.

    An activity writes a checkpoint a moment before history has that; a local one even before it is known to run.
    """
    for _ in range(_LOOKS):
        if run.closed is not None or not await _unrecorded(stores, [run], {*run.ids, *run.in_flight}):
            break
        await asyncio.sleep(_LOOK_SECONDS)
        run = await links.read(run.run.run_id)
    return run


async def _run(stores: Stores, run: Expected, check: ValueCheck) -> list[Difference]:
    found = await run_differences(stores, run.run, is_open=run.closed is None) if run.began else []
    found += [Difference(run.run.run_id, "unknown", one.header.checkpoint_id, detail=one.reason) for one in run.unknown]
    for checkpoint, of_it in await _compared(stores, run):
        if checkpoint.id in run.in_flight and [one.kind for one in of_it] == ["missing"]:
            continue  # recorded, and about to be written
        found += of_it
        found += [_lost(run, value, trouble) for value, trouble in await check.lost(checkpoint)]
    found += [_lost(run, value, trouble) for value, trouble in await check.lost_of_handed(run)]
    return [*found, *await _index(stores, run, {one.checkpoint_id for one in found})]


def _lost(run: Expected, value: LostValue, trouble: StoreError) -> Difference:
    kind = "value lost" if isinstance(trouble, MissingObject) else "value damaged"
    recorded = {"ref": value.reference, "size": value.size}
    return Difference(run.run.run_id, kind, value.checkpoint_id, value.place, recorded=recorded, detail=str(trouble))


async def _compared(stores: Stores, run: Expected) -> list[tuple[Checkpoint, list[Difference]]]:
    found: list[tuple[Checkpoint, list[Difference]]] = []
    for start in range(0, len(run.checkpoints), _READS_AT_ONCE):
        some = run.checkpoints[start : start + _READS_AT_ONCE]
        found += zip(some, await asyncio.gather(*(differences(stores, one) for one in some)), strict=True)
    return found


async def _index(stores: Stores, run: Expected, told: set[str]) -> list[Difference]:
    """Return where the index, by which checkpoints are found and put in order, is not as history says."""
    run_id = run.run.run_id
    try:
        entries = await stores.checkpoints.headers(run.run.workflow_name, run.run.workflow_id)
    except StoreError as error:
        return [Difference(run_id, "damaged", place="index", detail=str(error))]
    listed = {entry.header.checkpoint_id: entry.header for entry in entries}
    found: list[Difference] = []
    for checkpoint in run.checkpoints:
        header, there = checkpoint.manifest.header, listed.get(checkpoint.id)
        if there is None:
            if checkpoint.id not in {*told, *run.in_flight}:
                found.append(Difference(run_id, "missing", checkpoint.id, "index", detail="it is not in the index"))
            continue
        found += [
            Difference(run_id, "differs", checkpoint.id, f"index.{name}", getattr(header, name), getattr(there, name))
            for name in header.__struct_fields__
            if getattr(header, name) != getattr(there, name)
        ]
    return found


async def _unrecorded(stores: Stores, runs: list[Expected], known: set[str]) -> list[Difference]:
    """Return the checkpoints that the index has of these runs, and that no history does."""
    by_run = {run.run.run_id: run.run for run in runs}
    found: list[Difference] = []
    for workflow_name, workflow_id in {(run.workflow_name, run.workflow_id) for run in by_run.values()}:
        try:
            entries = await stores.checkpoints.headers(workflow_name, workflow_id)
        except StoreError:
            continue  # told of already, with the index
        for entry in entries:
            if entry.header.checkpoint_id not in known:
                found += await _stranger(stores, entry.header, by_run)
    return found


async def _stranger(
    stores: Stores, header: wire.CheckpointHeader, by_run: dict[str, wire.RunEntry]
) -> list[Difference]:
    try:
        manifest = await stores.checkpoints.load_by_id(header.checkpoint_id)
    except StoreError as error:
        detail = f"and whether a run of this workflow id wrote it cannot be told: {error}"
        return [Difference("", "damaged", header.checkpoint_id, detail=detail)]
    if manifest is None or manifest.run_id not in by_run:
        return []
    detail = f"the store has it ({header.kind}, after superstep {header.iteration}), and the run's history does not"
    return [Difference(manifest.run_id, "unrecorded", header.checkpoint_id, detail=detail)]
