"""A workflow id's runs on the server, and what the store must have of each. Reads the server; writes nothing.

A run that went on as new Temporal runs is a chain of links. Each is read after the one before, on which it builds, as
far as the server still has them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter.store import BlobStore, CheckpointStore, ValueStore

from .expected import Expected, expected
from .observing import continued_from


class RunNotOnServer(Exception):
    """The server has no history of the run: Temporal keeps closed runs for a time only."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The two sides of a blob store, for one namespace. Without caches: what is read is what is there."""

    checkpoints: CheckpointStore
    values: ValueStore
    blobs: BlobStore
    namespace: str

    @classmethod
    def of(cls, store: str | BlobStore, client: Client) -> Stores:
        """Return the stores behind a path or URL, for a client's namespace and with its payload codec."""
        blobs = BlobStore.of(store, client.data_converter.payload_codec)
        return cls(
            CheckpointStore(blobs, client.namespace, cache_bytes=0),
            ValueStore(blobs, client.namespace, cache_bytes=0),
            blobs,
            client.namespace,
        )


class Links:
    """Reads the runs of a workflow id, each once, after the links before it.

    Args:
        client: Of the server.
        workflow_id: Temporal's.
        stores: Asked for the checkpoints that runs were restored from, and those of links whose history is gone.

    Attributes:
        gone: The run ids of links whose history the server has no more.
    """

    def __init__(self, client: Client, workflow_id: str, stores: Stores) -> None:
        self._client = client
        self._workflow_id = workflow_id
        self._stores = stores
        self._read: dict[str, Expected] = {}
        self._before: dict[str, str] = {}
        self.gone: dict[str, None] = {}

    async def walk(self, run_ids: Iterable[str]) -> AsyncIterator[Expected]:
        """Yield what the store must have of runs, and of the links before each, the oldest first.

        Raises:
            RunNotOnServer: The server does not have one of these.
            NotReplayable: A history is not one of a run of the adapter, or of a release that this one cannot replay.
        """
        for run_id in run_ids:
            for one in await self._unread(run_id):
                yield await self.read(one)

    async def read(self, run_id: str) -> Expected:
        """Return what the store must have of a run by its history now; the link before was read already.

        Raises:
            RunNotOnServer: The server does not have it.
            NotReplayable: As `walk`.
        """
        handle = self._client.get_workflow_handle(self._workflow_id, run_id=run_id)
        try:
            history = await handle.fetch_history()
        except RPCError as error:
            raise _not_there(self._workflow_id, error) from error
        self._read[run_id] = await expected(
            history,
            checkpoints=self._stores.checkpoints,
            values=self._stores.values,
            data_converter=self._client.data_converter,
            run_id=run_id,
            before=self._read.get(continued_from(history)),
        )
        return self._read[run_id]

    async def _unread(self, run_id: str) -> list[str]:
        """Return this run and the links before it that were not read yet, the oldest first."""
        way: list[str] = []
        at = run_id
        while at and at not in self._read and at not in self.gone:
            try:
                before = await self._link_before(at)
            except RunNotOnServer:
                if at == run_id:
                    raise
                self.gone[at] = None
                break
            way.insert(0, at)
            at = before
        return way

    async def _link_before(self, run_id: str) -> str:
        try:
            return await link_before(self._client, self._workflow_id, run_id)
        except RPCError as error:
            raise _not_there(self._workflow_id, error) from error


async def link_before(client: Client, workflow_id: str, run_id: str) -> str:
    """Return the run id of the link before a run, as its history's first event has it; empty for the first link.

    Raises:
        temporalio.service.RPCError: The server does not have the run, or refuses.
    """
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    async for event in handle.fetch_history_events(page_size=1):
        return event.workflow_execution_started_event_attributes.continued_execution_run_id
    return ""


async def run_ids(client: Client, workflow_id: str) -> Sequence[str]:
    """Return the ids of the runs of a workflow id that the server has, oldest first.

    Raises:
        RunNotOnServer: There is none.
    """
    try:
        latest = await client.get_workflow_handle(workflow_id).describe()
    except RPCError as error:
        raise _not_there(workflow_id, error) from error
    started = {latest.run_id: latest.start_time}  # which the visibility store may not have yet
    quoted = workflow_id.replace("\\", "\\\\").replace("'", "''")
    async for one in client.list_workflows(f"WorkflowId = '{quoted}'"):
        started[one.run_id] = one.start_time
    return sorted(started, key=lambda run_id: (started[run_id], run_id))


def _not_there(workflow_id: str, error: RPCError) -> Exception:
    if error.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
        return error
    return RunNotOnServer(
        f"The Temporal server has no run {workflow_id!r} in this namespace ({error.message}). It keeps closed runs for "
        "its retention time only; what the checkpoint store has of them is all there is."
    )
