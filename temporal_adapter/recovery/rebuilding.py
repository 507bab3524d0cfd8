"""Rebuilding: write a run's checkpoints again, by its history. What is right is left alone.

Written are checkpoints with their places in the index, entries that sub-workflows had stowed, what the links of a run
left for the next ones, marks of checkpoints that never happened, and what the store knows of the run. What was too
large for history was in the store alone: it is named.
"""

from __future__ import annotations

from temporalio.client import Client

from temporal_adapter import wire
from temporal_adapter.store import RECORDED_RANK, BlobStore, StoreError

from .comparing import GONE, ValueCheck, differences, headers_of_gone, run_differences
from .expected import Checkpoint, Expected
from .reports import NotRebuilt, Rebuilt, RebuiltRun
from .runs import Links, Stores, run_ids


async def rebuild(client: Client, workflow_id: str, store: str | BlobStore, run_id: str | None = None) -> Rebuilt:
    """Reconstruct the checkpoints of a workflow id's runs from their histories. Doing it again changes nothing.

    The runs may be open, and workers may be running: an open run goes on from what is rebuilt.

    Args:
        client: A Temporal client of the runs' namespace, with the data converter that their clients have.
        workflow_id: Temporal's.
        store: The workers' checkpoint store: a path, URL or `BlobStore`.
        run_id: This run only, or this link of one; by default all that the server has, oldest first.

    Raises:
        RunNotOnServer: The server has no such run.
        NotReplayable: A history is not one of a run of the adapter, or of a release that this one cannot replay.
        StoreError: The store cannot be read or written.
    """
    stores = Stores.of(store, client)
    wanted = await run_ids(client, workflow_id) if run_id is None else [run_id]
    links, handed = Links(client, workflow_id, stores), ValueCheck(stores)
    # One after another: a run may build on a checkpoint of the one before, which must be there by then.
    runs: list[Expected] = []
    reports: list[RebuiltRun] = []
    async for one in links.walk(wanted):
        if run_id in (None, one.run.run_id):
            runs.append(one)
            reports.append(await _rebuild(stores, one, handed, gone=one.link_before in links.gone))
    await _discard(stores, runs)
    return Rebuilt(workflow_id, tuple(reports), gone=tuple(links.gone))


async def _discard(stores: Stores, runs: list[Expected]) -> None:
    """Mark what the runs did without. Another run, that Temporal's reset made of one, may have recorded it."""
    for run in runs:
        for checkpoint_id in run.discarded:
            await stores.checkpoints.discard(checkpoint_id, run.run.run_id)


async def _rebuild(stores: Stores, wanted: Expected, handed: ValueCheck, *, gone: bool) -> RebuiltRun:
    values = [await stores.values.put(one.entries) for one in wanted.stowed]
    if wanted.began and await run_differences(stores, wanted.run, is_open=wanted.closed is None):
        await stores.checkpoints.put_run(wanted.run)
    rebuilding, check = _Rebuilding(stores, wanted), ValueCheck(stores)
    for checkpoint in wanted.checkpoints:
        await rebuilding.take(checkpoint)
    unknown = [NotRebuilt(one.header.checkpoint_id, one.reason) for one in wanted.unknown]
    if gone:
        unknown += [NotRebuilt(one.checkpoint_id, GONE) for one in await headers_of_gone(stores, wanted)]
    lost = [value for one in wanted.checkpoints for value, _ in await check.lost(one)]
    return RebuiltRun(
        workflow_name=wanted.run.workflow_name,
        run_id=wanted.run.run_id,
        written=tuple(rebuilding.written),
        kept=tuple(rebuilding.kept),
        failed=(*rebuilding.failed, *unknown),
        lost=(*lost, *(value for value, _ in await handed.lost_of_handed(wanted))),
        values=tuple(values),
        in_flight=tuple(sorted(wanted.in_flight)),
    )


class _Rebuilding:
    """Writes what is not right, parents first."""

    def __init__(self, stores: Stores, wanted: Expected) -> None:
        self._store = stores.checkpoints
        self._stores = stores
        self._run = wanted.run
        self._named: dict[str, list[wire.Base]] = {}  # by history, and so read by an open run
        for base in wanted.bases:
            self._named.setdefault(base.checkpoint_id, []).append(base)
        self._listed: dict[str, wire.CheckpointHeader] | None = None
        self.written: list[str] = []
        self.kept: list[str] = []
        self.failed: list[NotRebuilt] = []

    async def take(self, checkpoint: Checkpoint) -> None:
        """See that a checkpoint is in the store, and in its index."""
        try:
            sound = await self._is_sound(checkpoint)
            if sound and (await self._index()).get(checkpoint.id) == checkpoint.manifest.header:
                self.kept.append(checkpoint.id)
                return
            if not sound:  # what is wrong goes first: whoever names a wrong object is then given the right one
                await self._store.delete(checkpoint.id)
            self._named[checkpoint.id] = [await self._write(checkpoint)]
            remaining = await differences(self._stores, checkpoint)
        except StoreError as error:
            self.failed.append(NotRebuilt(checkpoint.id, str(error)))
            return
        if remaining:
            self.failed.append(NotRebuilt(checkpoint.id, "; ".join(map(str, remaining))))
        else:
            self.written.append(checkpoint.id)

    async def _is_sound(self, checkpoint: Checkpoint) -> bool:
        if await differences(self._stores, checkpoint):
            return False
        for base in self._named.get(checkpoint.id, []):  # another writer's object may hide the one that history names
            try:
                await self._store.load(base)
            except StoreError:
                return False
        return True

    async def _index(self) -> dict[str, wire.CheckpointHeader]:
        """Return the index of the run's workflow id as it was; nothing where it is damaged, so that all is written."""
        if self._listed is None:
            try:
                entries = await self._store.headers(self._run.workflow_name, self._run.workflow_id)
            except StoreError:
                entries = []
            self._listed = {entry.header.checkpoint_id: entry.header for entry in entries}
        return self._listed

    async def _write(self, checkpoint: Checkpoint) -> wire.Base:
        record = checkpoint.record
        base = record.snapshot.base
        if base is not None:
            under = self._named.get(base.checkpoint_id, [base])[-1]
            record = wire.replace(record, snapshot=wire.replace(record.snapshot, base=under))
        return await self._store.commit(
            record,
            graph=checkpoint.graph,
            workflow_id=self._run.workflow_id,
            rank=RECORDED_RANK,
            run_id=self._run.run_id,
        )
