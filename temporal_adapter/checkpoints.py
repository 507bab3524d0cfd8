"""The blob store as MAF's `CheckpointStorage`: what a run on Temporal wrote opens in MAF's in-process runner, and back.

    storage = BlobCheckpointStorage("/var/checkpoints", workflow=build_expense_approval())
    await build_expense_approval().run(checkpoint_id=..., checkpoint_storage=storage)

Values stay ours (content-addressed, tagged JSON); the checkpoint that comes out is MAF's own class with MAF's own keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from agent_framework import (
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
    WorkflowMessage,
)

from temporal_adapter import wire
from temporal_adapter.maf import EDGE_STATE_KEY, EXECUTOR_STATE_KEY, FAN_IN_BUFFER_KEY, MessageType
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
        self._executor_ids = list(workflow.executors)

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Write a checkpoint; return its id.

        Raises:
            WorkflowCheckpointException: It cannot be encoded, or the store cannot be written.
        """
        if self._scratch is not None:
            return await self._scratch.save(checkpoint)
        graph = wire.Graph(
            name=checkpoint.workflow_name,
            signature=checkpoint.graph_signature_hash,
            start_executor_id="",
            executors=self._executor_ids,
            max_iterations=0,
        )
        try:
            record = await self._record(checkpoint)
            await self._checkpoints.commit(record, graph=graph, workflow_id=self._workflow_id or "", rank=RECORDED_RANK)
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
                return await self._checkpoint(manifest)
            if self._scratch is not None:
                return await self._scratch.load(checkpoint_id)
        except (StoreError, DecodeError) as error:
            raise WorkflowCheckpointException(f"Checkpoint {checkpoint_id} cannot be loaded: {error}") from error
        raise WorkflowCheckpointException(f"No checkpoint found with ID {checkpoint_id}")

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return the checkpoints of a workflow, parents before children."""
        return [
            await self._checkpoint(manifest)
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
        return await self._checkpoint(max(heads, key=lambda head: datetime.fromisoformat(head.header.timestamp)))

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete a checkpoint; return whether there was one.

        Raises:
            WorkflowCheckpointException: The storage is read-only.
        """
        if self._scratch is not None:
            raise WorkflowCheckpointException(f"Checkpoint {checkpoint_id} is not deleted: the storage is read-only.")
        return await self._checkpoints.delete(checkpoint_id)

    # --- to and from MAF's class ----------------------------------------------------------------------------

    async def _checkpoint(self, manifest: wire.Manifest) -> WorkflowCheckpoint:
        messages: dict[str, list[WorkflowMessage]] = {}
        for message in manifest.messages:
            messages.setdefault(message.source_id, []).append(await self._reader.message(message))
        header = manifest.header
        return WorkflowCheckpoint(
            workflow_name=manifest.workflow_name,
            graph_signature_hash=manifest.graph_signature,
            checkpoint_id=header.checkpoint_id,
            previous_checkpoint_id=header.previous_checkpoint_id,
            timestamp=header.timestamp,
            messages=messages,
            state=await self._state(manifest),
            pending_request_info_events={
                key: await self._reader.request(request) for key, request in manifest.requests.items()
            },
            iteration_count=header.iteration,
            metadata=self._codec.decode(header.metadata),
        )

    async def _state(self, manifest: wire.Manifest) -> dict[str, Any]:
        state = {key: await self._reader.value(value) for key, value in manifest.state.items()}
        executors: dict[str, Any] = {executor_id: {} for executor_id in manifest.executor_ids}
        for executor_id, value in manifest.executors.items():
            executors[executor_id] = await self._reader.value(value)
        state[EXECUTOR_STATE_KEY] = executors
        if manifest.buffers:
            state[EDGE_STATE_KEY] = {key: await self._buffer(messages) for key, messages in manifest.buffers.items()}
        return state

    async def _buffer(self, messages: list[wire.Message]) -> dict[str, Any]:
        by_source: dict[str, list[WorkflowMessage]] = {}
        for message in messages:
            by_source.setdefault(message.source_id, []).append(await self._reader.message(message))
        return {FAN_IN_BUFFER_KEY: by_source}

    async def _record(self, checkpoint: WorkflowCheckpoint) -> wire.CheckpointRecord:
        writer = Writer(self._codec, self._values)
        state = dict(checkpoint.state)
        executors: dict[str, Any] = state.pop(EXECUTOR_STATE_KEY, {})
        buffers: dict[str, Any] = state.pop(EDGE_STATE_KEY, {})
        messages = [message for sent in checkpoint.messages.values() for message in sent]
        changes = wire.Changes(
            state=dict(await writer.values(state, "state")),
            executors=dict(await writer.values({key: one for key, one in executors.items() if one}, "executor state")),
            buffers={key: await _buffered(writer, key, buffer) for key, buffer in buffers.items()},
            requests={
                key: await writer.request(event) for key, event in checkpoint.pending_request_info_events.items()
            },
        )
        return wire.CheckpointRecord(
            header=wire.CheckpointHeader(
                checkpoint_id=checkpoint.checkpoint_id,
                previous_checkpoint_id=checkpoint.previous_checkpoint_id,
                iteration=checkpoint.iteration_count,
                timestamp=checkpoint.timestamp,
                kind=_kind(checkpoint.iteration_count, messages),
                metadata=self._codec.encode(checkpoint.metadata, "metadata"),
            ),
            snapshot=wire.Snapshot(changes=changes),
            messages=[await writer.message(message, f"message from {message.source_id!r}") for message in messages],
        )


async def _buffered(writer: Writer, key: str, buffer: dict[str, Any]) -> list[wire.Message]:
    messages = [message for buffered in buffer[FAN_IN_BUFFER_KEY].values() for message in buffered]
    return [await writer.message(message, f"fan-in buffer {key}") for message in messages]


def _kind(iteration: int, messages: list[WorkflowMessage]) -> wire.CheckpointKind:
    if messages and all(message.type is MessageType.RESPONSE for message in messages):
        return "response"
    return "entry" if iteration == 0 else "superstep"
