"""Writing checkpoints to the blob store from an activity. Trouble is an outcome here, never an exception."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from temporalio import activity

from temporal_adapter import wire
from temporal_adapter.graph_changes import graph_of
from temporal_adapter.store import RECORDED_RANK, StoreError, attempt_rank, overlay, unstowed

from .context import Host, Stores

logger = logging.getLogger(__name__)


def own_rank() -> str:
    """Return the rank of what this attempt makes: a later attempt's outranks it, recorded history's all of them."""
    info = activity.info()
    return attempt_rank(info.started_time, info.attempt)


async def graph_of_run(host: Host, data: wire.CommitInput) -> wire.Graph:
    """Return what checkpoints say of the run's graph.

    A commit runs no executor and reads no value, so it does without a worker that has the run's graph as long as a
    checkpoint tells what that was: a run whose workers have changed is mirrored to its last superstep all the same.

    Raises:
        ApplicationError: The worker has another graph, and the checkpoints to write build on none.
        StoreError: The store cannot be read.
    """
    if data.described is not None:
        return data.described
    async with host.pool.borrow() as graph:
        own = graph.description()
        if own.signature == data.graph:
            return own
        if not data.records:
            return wire.replace(own, name=host.name, signature=data.graph)  # nothing else of it is asked for
        base = next((one.snapshot.base for one in data.records if one.snapshot.base is not None), None)
        if base is None:
            raise host.other_graph(graph, data.graph, waits=True)
    return graph_of(await host.stores().checkpoints.load(base))


async def write(
    stores: Stores, graph: wire.Graph, records: Sequence[wire.CheckpointRecord], rank: str = RECORDED_RANK
) -> wire.CommitOutcome:
    """Write checkpoints, parents first; stop at the first that cannot be written."""
    info = activity.info()
    workflow_id = info.workflow_id or ""
    base: wire.Base | None = None
    for record in records:
        try:
            changes = await unstowed(record.snapshot.changes, stores.values.resolve)
            record = wire.replace(record, snapshot=wire.replace(record.snapshot, changes=changes))
            if record.run is not None:
                await stores.checkpoints.put_run(record.run)
            base = await stores.checkpoints.commit(
                record, graph=graph, workflow_id=workflow_id, rank=rank, run_id=info.workflow_run_id or ""
            )
        except StoreError as error:
            logger.warning("Checkpoint %s is not yet in the blob store: %s", record.header.checkpoint_id, error)
            return wire.CommitOutcome(error=str(error))
    return wire.CommitOutcome(base=base)


async def end(stores: Stores, graph: wire.Graph, ended: wire.Ended) -> None:
    """Note in the run's entry how the run ended.

    Raises:
        StoreError: The store cannot be read or written.
    """
    info = activity.info()
    entry = await stores.checkpoints.run(graph.name, info.workflow_id or "", info.workflow_run_id or "")
    if entry is None:  # of a run that an earlier release started
        entry = wire.RunEntry(
            workflow_name=graph.name,
            workflow_id=info.workflow_id or "",
            run_id=info.workflow_run_id or "",
            task_queue=info.task_queue,
            at=ended.at,
        )
    await stores.checkpoints.put_run(wire.replace(entry, ended=ended))


async def stow(stores: Stores, stow: wire.Stow) -> wire.Value:
    """Write the entries of a sub-workflow to the blob store by themselves; return where they are.

    Raises:
        StoreError: The store cannot be read or written.
    """
    entries = wire.dump(await entries_of(stores, stow.snapshot, stow.path))
    return wire.Value(ref=await stores.values.put(entries), size=len(wire.to_bytes(entries)))


async def entries_of(stores: Stores, snapshot: wire.Snapshot, path: str) -> wire.SnapshotEntries:
    """Return what a workflow of a run knows; the snapshot's changes are that workflow's already.

    Raises:
        StoreError: The store cannot be read.
    """
    changes = await unstowed(snapshot.changes, stores.values.resolve)
    base = wire.SnapshotEntries()
    if snapshot.base is not None and not changes.whole:
        base = await stores.checkpoints.load(snapshot.base)
        if path:
            base = base.children.get(path, wire.SnapshotEntries())
    return overlay(base, changes)
