"""The blob store as MAF's `CheckpointStorage`: what a run on Temporal wrote opens in MAF's in-process runner, and back.

    storage = BlobCheckpointStorage("s3://bucket/checkpoints", workflow=build_expense_approval)
    await build_expense_approval().run(report, checkpoint_storage=storage)

Values stay ours (content-addressed, tagged JSON); the checkpoint that comes out is MAF's own class with MAF's own keys.
No decision about a run is made here.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_framework import (
    CheckpointStorage,
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
)

from temporal_adapter import wire
from temporal_adapter.maf_checkpoint import checkpoint_of, graph_of, record_of
from temporal_adapter.payload import Reader, Writer
from temporal_adapter.store import (
    RECORDED_RANK,
    BlobStore,
    CheckpointStore,
    CorruptObject,
    MissingObject,
    StoreError,
    ValueStore,
    youngest_head,
)
from temporal_adapter.store.bounded import bounded_map
from temporal_adapter.values import Codec, DecodeError, EncodeError, graph_codec, type_name

if TYPE_CHECKING:
    from temporalio.converter import PayloadCodec

DEFAULT_NAMESPACE = "default"
"""Temporal's default namespace; checkpoints of each namespace are apart."""


class BlobCheckpointStorage:
    """MAF's `CheckpointStorage` over a blob store.

    It never rebuilds an object of a class that is neither declared by the workflow, registered, MAF's, nor a plain
    standard type. So without `workflow` it takes what MAF's `FileCheckpointStorage` takes: classes that are given as
    `types` or were registered by `agent_framework.register_checkpoint_type`.

    Args:
        store: A path, URL or `BlobStore`; the workers' `checkpoint_store`.
        workflow: The workflow whose checkpoints these are, or a function that builds it: its graph declares the
            classes that may be stored. A function is called when the first checkpoint is saved or loaded, so that the
            function that builds the workflow may itself give the storage to `WorkflowBuilder`. Give the built
            workflow if its classes are defined within that function.
        namespace: The Temporal namespace of the runs.
        workflow_id: Show only the checkpoints of this Temporal workflow id; new ones are saved under it.
        read_only: Keep what is saved in memory: a run that is resumed for a look adds nothing to the store.
        types: Further classes that may be stored.
        allow_pickle: Whether pickled values of these classes may be read and written.
        payload_codec: Encodes what is written and decodes what is read: the one of the workers' data converter.

    Raises:
        StoreError: The URL is of no known kind, or its directory cannot be created.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | BlobStore,
        *,
        workflow: Workflow | Callable[[], Workflow] | None = None,
        namespace: str = DEFAULT_NAMESPACE,
        workflow_id: str | None = None,
        read_only: bool = False,
        types: Iterable[type] = (),
        allow_pickle: bool = True,
        payload_codec: PayloadCodec | None = None,
    ) -> None:
        blobs = BlobStore.of(store, payload_codec)
        self._workflow = workflow
        self._types = tuple(types)
        self._allow_pickle = allow_pickle
        self._values = ValueStore(blobs, namespace)
        self._checkpoints = CheckpointStore(blobs, namespace)
        self._workflow_id = workflow_id
        self._scratch = InMemoryCheckpointStorage() if read_only else None

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Write a checkpoint; return its id. One of this id that was saved before, here or like this, is replaced.

        Raises:
            WorkflowCheckpointException: It cannot be encoded, the store cannot be written, or a run on Temporal has
                a checkpoint of this id.
        """
        if self._scratch is not None:
            return await self._scratch.save(checkpoint)
        with self._failing(f"Checkpoint {checkpoint.checkpoint_id} cannot be saved"):
            record = await record_of(checkpoint, Writer(self._codec, self._values))
            await self._commit(record, graph_of(checkpoint))
        return checkpoint.checkpoint_id

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Return a checkpoint.

        Raises:
            WorkflowCheckpointException: There is none with this id, or it cannot be read; names the object.
        """
        found = await self._found(checkpoint_id)
        if found is not None:
            return found
        if self._scratch is not None:
            return await self._scratch.load(checkpoint_id)
        raise WorkflowCheckpointException(f"No checkpoint found with ID {checkpoint_id}")

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return the checkpoints of a workflow, parents before children.

        Raises:
            WorkflowCheckpointException: One of them cannot be read; names it. The others can be loaded by their ids.
        """
        ids = [entry.header.checkpoint_id for entry in await self._entries(workflow_name)]
        found = await bounded_map(self._found, ids)
        listed = [checkpoint for checkpoint in found if checkpoint is not None]  # None: deleted since it was listed
        if self._scratch is not None:
            listed += await self._scratch.list_checkpoints(workflow_name=workflow_name)
        return listed

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """Return the ids of the same checkpoints, in the same order.

        Raises:
            WorkflowCheckpointException: The store cannot be read.
        """
        ids = [entry.header.checkpoint_id for entry in await self._entries(workflow_name)]
        if self._scratch is not None:
            ids += await self._scratch.list_checkpoint_ids(workflow_name=workflow_name)
        return ids

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """Return the head of the lineage; of several lineages, the one whose head is youngest.

        Raises:
            WorkflowCheckpointException: It cannot be read; names it.
        """
        entries = await self._entries(workflow_name)
        latest = None
        while entries and latest is None:
            head = youngest_head(entries)
            latest = await self._found(head.header.checkpoint_id)
            entries.remove(head)  # None was found: it is being written, or was deleted since it was listed
        saved = None if self._scratch is None else await self._scratch.get_latest(workflow_name=workflow_name)
        return saved or latest

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete a checkpoint; return whether there was one.

        Raises:
            WorkflowCheckpointException: The storage is read-only, or the store cannot be written.
        """
        if self._scratch is not None:
            raise WorkflowCheckpointException(f"Checkpoint {checkpoint_id} is not deleted: the storage is read-only.")
        with self._failing(f"Checkpoint {checkpoint_id} cannot be deleted"):
            return await self._checkpoints.delete(checkpoint_id)

    @functools.cached_property
    def _codec(self) -> Codec:
        if self._workflow is None:
            return Codec({type_name(cls): cls for cls in self._types}, allow_pickle=self._allow_pickle)
        workflow = self._workflow if isinstance(self._workflow, Workflow) else self._workflow()
        return graph_codec(workflow, self._types, self._allow_pickle)

    async def _commit(self, record: wire.CheckpointRecord, graph: wire.Graph) -> None:
        commit = functools.partial(
            self._checkpoints.commit, record, graph=graph, workflow_id=self._workflow_id or "", rank=RECORDED_RANK
        )
        try:
            await commit()
        except (CorruptObject, MissingObject):
            raise
        except StoreError:
            if not await self._is_own(record.header.checkpoint_id):
                raise
            await self._checkpoints.delete(record.header.checkpoint_id)
            await commit()

    async def _is_own(self, checkpoint_id: str) -> bool:
        """Whether a checkpoint was saved in-process, as those of this storage are: nothing on Temporal builds on it."""
        manifest = await self._checkpoints.load_by_id(checkpoint_id)
        return manifest is not None and manifest.workflow_id == (self._workflow_id or "") and not manifest.run_id

    async def _found(self, checkpoint_id: str) -> WorkflowCheckpoint | None:
        with self._failing(f"Checkpoint {checkpoint_id} cannot be loaded"):
            manifest = await self._checkpoints.load_by_id(checkpoint_id)
            return None if manifest is None else await checkpoint_of(manifest, Reader(self._codec, self._values))

    async def _entries(self, workflow_name: str) -> list[wire.IndexEntry]:
        with self._failing(f"The checkpoints of workflow {workflow_name!r} cannot be listed"):
            return await self._checkpoints.headers(workflow_name, self._workflow_id)

    @contextmanager
    def _failing(self, what: str) -> Generator[None, None, None]:
        """Turn an error into MAF's, which its runner and its users look for."""
        try:
            yield
        except (StoreError, EncodeError, DecodeError) as error:
            message = f"{what}: {error}"
            if self._workflow is None and not isinstance(error, StoreError):
                message += " Or give the storage the workflow that declares it: BlobCheckpointStorage(..., workflow=)."
            raise WorkflowCheckpointException(message) from error


if TYPE_CHECKING:
    _: type[CheckpointStorage] = BlobCheckpointStorage  # signatures are MAF's, keywords included
