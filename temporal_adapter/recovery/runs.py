"""A workflow id's runs on the server, and what the store must have of each. Reads the server; writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter.store import BlobStore, CheckpointStore, ValueStore

from .expected import Expected, expected


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


async def expected_run(client: Client, workflow_id: str, run_id: str, stores: Stores) -> Expected:
    """Return what the store must have of a run. It is asked for the checkpoint that the run was restored from, if any.

    Raises:
        RunNotOnServer: The server does not have it.
        NotReplayable: Its history is not one of a run of the adapter, or of a release that this one cannot replay.
    """
    try:
        history = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
    except RPCError as error:
        raise _not_there(workflow_id, error) from error
    return await expected(
        history,
        checkpoints=stores.checkpoints,
        values=stores.values,
        data_converter=client.data_converter,
        run_id=run_id,
    )


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
