"""The blob store as MAF's `CheckpointStorage`: what a run on Temporal wrote opens in MAF's in-process runner, and back.

    storage = BlobCheckpointStorage("/var/checkpoints", workflow=build_expense_approval())
    await build_expense_approval().run(checkpoint_id=..., checkpoint_storage=storage)

Values stay ours (content-addressed, tagged JSON); the checkpoint that comes out is MAF's own class with MAF's own keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from agent_framework import InMemoryCheckpointStorage, Workflow, WorkflowCheckpoint, WorkflowCheckpointException

from temporal_adapter.maf_checkpoint import checkpoint_of, graph_of, record_of
from temporal_adapter.payload import Reader, Writer
from temporal_adapter.store import RECORDED_RANK, BlobStore, CheckpointStore, StoreError, ValueStore
from temporal_adapter.values import DecodeError, EncodeError, graph_codec

DEFAULT_NAMESPACE = "default"
"""Temporal's default namespace; checkpoints of each namespace are apart."""


class BlobCheckpointStorage:
    """MAF's `CheckpointStorage` over a blob store.

    Args:
        store: A path, URL or `BlobStore`; the workers' `checkpoint_store`.
        workflow: The workflow whose checkpoints these are: its graph declares the types that may be stored.
        namespace: The Temporal namespace of the runs.
        workflow_id: Show only the checkpoints of this Temporal workflow id; new ones are saved under it.
        read_only: Keep what is saved in memory: a run that is resumed for a look adds nothing to the store.
        types: Further classes that may be stored.
        allow_pickle: Whether pickled values of declared types may be read and written.
    """

    def __init__(
        self,
        store: str | BlobStore,
        *,
        workflow: Workflow,
        namespace: str = DEFAULT_NAMESPACE,
        workflow_id: str | None = None,
        read_only: bool = False,
        types: Iterable[type] = (),
        allow_pickle: bool = True,
    ) -> None:
        blobs = BlobStore.of(store)
        self._codec = graph_codec(workflow, types, allow_pickle)
        self._values = ValueStore(blobs, namespace)
        self._checkpoints = CheckpointStore(blobs, namespace)
        self._reader = Reader(self._codec, self._values)
        self._workflow_id = workflow_id
        self._scratch = InMemoryCheckpointStorage() if read_only else None

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Write a checkpoint; return its id.

        Raises:
            WorkflowCheckpointException: It cannot be encoded, or the store cannot be written.
        """
        if self._scratch is not None:
            return await self._scratch.save(checkpoint)
        try:
            record = await record_of(checkpoint, Writer(self._codec, self._values))
            workflow_id = self._workflow_id or ""
            await self._checkpoints.commit(
                record, graph=graph_of(checkpoint), workflow_id=workflow_id, rank=RECORDED_RANK
            )
        except (StoreError, EncodeError) as error:
            raise WorkflowCheckpointException(
                f"Checkpoint {checkpoint.checkpoint_id} cannot be saved: {error}"
            ) from error
        return checkpoint.checkpoint_id

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Return a checkpoint.

        Raises:
            WorkflowCheckpointException: There is none with this id, or it cannot be read; names the object.
        """
        try:
            manifest = await self._checkpoints.load_by_id(checkpoint_id)
            if manifest is not None:
                return await checkpoint_of(manifest, self._reader)
            if self._scratch is not None:
                return await self._scratch.load(checkpoint_id)
        except (StoreError, DecodeError) as error:
            raise WorkflowCheckpointException(f"Checkpoint {checkpoint_id} cannot be loaded: {error}") from error
        raise WorkflowCheckpointException(f"No checkpoint found with ID {checkpoint_id}")

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return the checkpoints of a workflow, parents before children."""
        return [
            await checkpoint_of(manifest, self._reader)
            for manifest in await self._checkpoints.list(workflow_name, self._workflow_id)
        ]

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """Return the ids of the same checkpoints, in the same order."""
        return await self._checkpoints.list_ids(workflow_name, self._workflow_id)

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """Return the head of the lineage; of several lineages, the one whose head is youngest."""
        manifests = await self._checkpoints.list(workflow_name, self._workflow_id)
        parents = {manifest.header.previous_checkpoint_id for manifest in manifests}
        heads = [manifest for manifest in manifests if manifest.header.checkpoint_id not in parents]
        if not heads:
            return None
        youngest = max(heads, key=lambda head: datetime.fromisoformat(head.header.timestamp))
        return await checkpoint_of(youngest, self._reader)

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete a checkpoint; return whether there was one.

        Raises:
            WorkflowCheckpointException: The storage is read-only.
        """
        if self._scratch is not None:
            raise WorkflowCheckpointException(f"Checkpoint {checkpoint_id} is not deleted: the storage is read-only.")
        return await self._checkpoints.delete(checkpoint_id)
