"""Adopting: start the open runs of a store again, on a server that has lost them or never had them.

Each goes on from the head of its last run's lineage, under the same workflow id, with the requests that were pending.
What is open is read from the store alone; a server that knows better is believed. Of a run that went on as new Temporal
runs, the last of these links counts, which goes on from the one before until it has a checkpoint of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from dataclasses import dataclass, replace

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter import wire
from temporal_adapter.converter import ordered_json
from temporal_adapter.store import BlobStore, CheckpointStore, CorruptObject, StoreError, last_link, links_after

from .reports import Adoption
from .runs import Stores, link_before

_AT_ONCE = 8  # workflow ids


async def adopt(
    client: Client,
    store: str | BlobStore,
    task_queue: str | None = None,
    workflow_name: str | None = None,
    dry_run: bool = False,
) -> tuple[Adoption, ...]:
    """Start the open runs of a store on the client's server; say of each workflow id what became of it.

    A run is open when its last checkpoint has messages in flight or pending requests, and it is not known to have
    failed or been cancelled; a session until it is closed. Whether a run was terminated the store does not know: look
    at a dry run first. A run whose id is open on the server already is left alone, so this can be done again.

    Args:
        client: A Temporal client of the namespace that the runs had.
        store: The workers' checkpoint store: a path, URL or `BlobStore`.
        task_queue: Where to start them; by default each on the task queue that it had.
        workflow_name: Only runs of this MAF workflow.
        dry_run: Start nothing, and say what would be.

    Returns:
        One report for each workflow id, sorted by id. A failure of one does not stop the others.

    Raises:
        StoreError: The store cannot be read at all.
    """
    checkpoints = Stores.of(store, client).checkpoints
    adopting = _Adopting(client, checkpoints, task_queue, dry_run)
    runs, failed = await _last_runs(checkpoints)
    reports = await asyncio.gather(*(adopting.adopt(run) for run in runs if workflow_name in (None, run.workflow_name)))
    known = {run.workflow_id for run in runs} | {one.workflow_id for one in failed}
    strangers = await _strangers(checkpoints, known)
    others = [one for one in [*failed, *strangers] if workflow_name in (None, one.workflow_name)]
    return tuple(sorted([*reports, *others], key=lambda one: (one.workflow_id, one.workflow_name)))


async def _last_runs(checkpoints: CheckpointStore) -> tuple[list[wire.RunEntry], list[Adoption]]:
    """Return the last run of each workflow id, whatever workflow it is of: an id names one run at a time.

    Reported are workflow ids whose runs cannot be read.
    """
    entries: list[wire.RunEntry] = []
    failed: list[Adoption] = []
    try:
        entries += await checkpoints.runs()
    except CorruptObject:
        for name, workflow_id in await checkpoints.workflows():
            try:
                entries += await checkpoints.runs(name, workflow_id)
            except StoreError as error:
                reason = f"{error} While its history is there, temporal-adapter checkpoint rebuild puts it right."
                failed.append(Adoption(name, workflow_id, "failed", reason=reason))
    unread = {one.workflow_id for one in failed}
    last: dict[str, wire.RunEntry] = {}
    for entry in sorted(entries, key=lambda entry: (entry.at, entry.run_id)):
        if entry.workflow_id not in unread:
            last[entry.workflow_id] = entry
    by_link, after = {(one.workflow_id, one.run_id): one for one in entries}, links_after(entries)
    return [by_link[last_link((one.workflow_id, one.run_id), after)] for one in last.values()], failed


async def _strangers(checkpoints: CheckpointStore, known: Container[str]) -> list[Adoption]:
    """Report the workflow ids that have checkpoints, and no run that is known of."""
    reason = (
        "the store knows checkpoints of it, and no run: they were made in-process, or by an earlier release. "
        "Start a run from one of them: temporal-adapter checkpoint replay"
    )
    return [
        Adoption(name, workflow_id, "not adoptable", reason=reason)
        for name, workflow_id in await checkpoints.workflows()
        if workflow_id not in known
    ]


@dataclass(frozen=True, slots=True)
class _Head:
    """The checkpoint that a run goes on from."""

    checkpoint_id: str
    open: bool  # messages are in flight, or requests pending


class _Adopting:
    """Adopts workflow ids, some at a time."""

    def __init__(self, client: Client, checkpoints: CheckpointStore, task_queue: str | None, dry_run: bool) -> None:
        self._client = client
        self._checkpoints = checkpoints
        self._task_queue = task_queue
        self._dry_run = dry_run
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def adopt(self, run: wire.RunEntry) -> Adoption:
        """See what became of a workflow id's last run; start it again if it is open."""
        unsettled = Adoption(run.workflow_name, run.workflow_id, "failed")
        async with self._slots:
            try:
                return await self._adopt(run, unsettled)
            except (StoreError, RPCError, wire.WireError, RuntimeError) as error:
                return replace(unsettled, reason=str(error) or type(error).__name__)

    async def _adopt(self, run: wire.RunEntry, report: Adoption) -> Adoption:
        reset = run.ended if run.ended is not None and run.ended.state == "reset" else None
        # One that went on as a link that the store does not know of has not ended.
        if run.ended is not None and run.ended.state not in ("reset", "continued"):
            reason = f"the run {run.ended.state}" if run.ended.state == "failed" else f"the run was {run.ended.state}"
            return replace(report, state="ended", checkpoint_id=run.ended.checkpoint_id, reason=reason)
        head = await self._head(run)
        if reset is not None and (head is None or head.checkpoint_id == reset.checkpoint_id):
            return await self._unless_known(run, None, report)  # a session without an input since: it begins anew
        if head is None and run.session and run.continued is not None and run.continued.checkpoint_id is None:
            return await self._unless_known(run, None, report)  # the same, in a link before
        if head is None:
            reason = "the store has no checkpoint of its last run; temporal-adapter checkpoint list shows what there is"
            return replace(report, state="not adoptable", reason=reason)
        report = replace(report, checkpoint_id=head.checkpoint_id)
        if not head.open and not run.session:
            reason = "in its last checkpoint no message is in flight and no request is pending"
            return replace(report, state="completed", reason=reason)
        return await self._unless_known(run, head.checkpoint_id, report)

    async def _unless_known(self, run: wire.RunEntry, checkpoint_id: str | None, report: Adoption) -> Adoption:
        known = await self._known_to_server(run, report)
        if known is not None:
            return known
        if self._dry_run:
            return replace(report, state="would adopt")
        return await self._start(run, checkpoint_id, report)

    async def _known_to_server(self, run: wire.RunEntry, report: Adoption) -> Adoption | None:
        """Return a report where the server has this run, or another open one of its id."""
        try:
            found = await self._client.get_workflow_handle(run.workflow_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        if found.status is WorkflowExecutionStatus.RUNNING:
            return replace(report, state="open already", run_id=found.run_id, reason="the server has an open run of it")
        if found.status is None or not (found.run_id == run.run_id or await self._went_on_as(run, found.run_id)):
            return None
        how = found.status.name.lower().replace("_", " ")
        return replace(report, state="ended", reason=f"the server has this very run, and it is {how}")

    async def _went_on_as(self, run: wire.RunEntry, run_id: str) -> bool:
        """Whether the server's run is a link of this one, which the store was not told of."""
        return await link_before(self._client, run.workflow_id, run_id) == run.run_id

    async def _start(self, run: wire.RunEntry, checkpoint_id: str | None, report: Adoption) -> Adoption:
        options = wire.StartOptions(
            encoding="tagged",
            on_failure=run.on_failure,
            stream=run.stream,
            session=run.session,
            restore=None if checkpoint_id is None else wire.Restore(verb="adopt", checkpoint_id=checkpoint_id),
        )
        try:
            handle = await self._client.start_workflow(
                run.workflow_name,
                args=[None, ordered_json(wire.dump(options))],
                id=run.workflow_id,
                task_queue=self._task_queue or run.task_queue,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            )
        except WorkflowAlreadyStartedError as error:  # by somebody else, just now
            return replace(report, state="open already", run_id=error.run_id, reason="the server has an open run of it")
        return replace(report, state="adopted", run_id=handle.first_execution_run_id)

    # --- the lineage's head ---------------------------------------------------------------------------------

    async def _head(self, run: wire.RunEntry) -> _Head | None:
        """Return the head of a run's lineage; of several lineages, as a session has after a reset, the youngest's."""
        entries = await self._checkpoints.headers(run.workflow_name, run.workflow_id)
        parents = {entry.header.previous_checkpoint_id for entry in entries}
        leaves = [entry.header for entry in entries if entry.header.checkpoint_id not in parents]
        found = [one for one in [await self._checkpoints.load_by_id(leaf.checkpoint_id) for leaf in leaves] if one]
        own = [manifest for manifest in found if manifest.run_id == run.run_id]
        if own:
            return _head_of(max(own, key=lambda one: one.header.number or 0))  # not by time: clocks differ
        before = run.restored and run.restored.checkpoint_id  # it has not made one of its own yet
        if run.continued is not None:
            before = run.continued.checkpoint_id
        found_before = None if before is None else await self._checkpoints.load_by_id(before)
        return None if found_before is None else _head_of(found_before)


def _head_of(manifest: wire.Manifest) -> _Head:
    return _Head(manifest.header.checkpoint_id, bool(manifest.messages or manifest.requests))
