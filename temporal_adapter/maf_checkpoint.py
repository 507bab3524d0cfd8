"""MAF's `WorkflowCheckpoint` from what the blob store holds, and back.

The store keeps a run and its sub-workflows side by side, by path; MAF keeps the checkpoint of a sub-workflow within the
state of the executor that wraps it. Neither reading nor writing of the store is here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agent_framework import WorkflowCheckpoint, WorkflowMessage

from temporal_adapter import wire
from temporal_adapter.maf import (
    EDGE_STATE_KEY,
    EXECUTOR_STATE_KEY,
    FAN_IN_BUFFER_KEY,
    SUB_WORKFLOW_CHECKPOINT_KEY,
    MessageType,
)
from temporal_adapter.payload import Reader, Writer
from temporal_adapter.wire.names import path_text

Path = tuple[str, ...]

_CHILD_IDS = uuid.UUID("6ee71c75-4b0a-4f0f-9c0c-0d5a1a1f5c0e")  # namespace of the ids of sub-workflows' checkpoints


async def checkpoint_of(manifest: wire.Manifest, reader: Reader) -> WorkflowCheckpoint:
    """Return MAF's checkpoint.

    Raises:
        StoreError: A value cannot be read.
        DecodeError: A value cannot be rebuilt.
    """
    header = manifest.header
    return WorkflowCheckpoint(
        workflow_name=manifest.workflow_name,
        graph_signature_hash=manifest.graph_signature,
        checkpoint_id=header.checkpoint_id,
        previous_checkpoint_id=header.previous_checkpoint_id,
        timestamp=header.timestamp,
        messages=await _by_source(manifest.messages, reader),
        state=await _state(manifest, (), manifest.executor_ids, manifest, reader),
        pending_request_info_events={key: await reader.request(request) for key, request in manifest.requests.items()},
        iteration_count=header.iteration,
        metadata=reader.decoded(header.metadata),
    )


async def _child(path: Path, manifest: wire.Manifest, reader: Reader) -> WorkflowCheckpoint:
    entries = manifest.children.get(path_text(path), wire.SnapshotEntries())
    outline = manifest.outlines[path_text(path)]
    return WorkflowCheckpoint(
        workflow_name=outline.workflow_name,
        graph_signature_hash=outline.graph_signature,
        # MAF makes a new id each time it saves one, and never looks it up.
        checkpoint_id=str(uuid.uuid5(_CHILD_IDS, f"{manifest.header.checkpoint_id}/{path_text(path)}")),
        timestamp=manifest.header.timestamp,
        state=await _state(entries, path, outline.executor_ids, manifest, reader),
        pending_request_info_events={key: await reader.request(request) for key, request in entries.requests.items()},
        iteration_count=entries.iteration,
    )


async def _state(
    entries: wire.SnapshotEntries, path: Path, executor_ids: Sequence[str], manifest: wire.Manifest, reader: Reader
) -> dict[str, Any]:
    executors: dict[str, Any] = {}
    # The place that MAF gives it: it saves a sub-workflow before that ran, and a run not before its kwargs are set.
    state: dict[str, Any] = {EXECUTOR_STATE_KEY: executors} if path and executor_ids else {}
    state.update({key: await reader.value(value) for key, value in entries.state.items()})
    for executor_id in executor_ids:
        value = entries.executors.get(executor_id)
        executors[executor_id] = {} if value is None else await reader.value(value)
        if path_text((*path, executor_id)) in manifest.outlines:
            child = await _child((*path, executor_id), manifest, reader)
            executors[executor_id] = {SUB_WORKFLOW_CHECKPOINT_KEY: child, **executors[executor_id]}
    if executor_ids:  # a checkpoint that was made by hand may have none
        state[EXECUTOR_STATE_KEY] = executors
    if entries.buffers:
        state[EDGE_STATE_KEY] = {
            key: {FAN_IN_BUFFER_KEY: await _by_source(messages, reader)} for key, messages in entries.buffers.items()
        }
    return state


async def _by_source(messages: Sequence[wire.Message], reader: Reader) -> dict[str, list[WorkflowMessage]]:
    by_source: dict[str, list[WorkflowMessage]] = {}
    for message in messages:
        by_source.setdefault(message.source_id, []).append(await reader.message(message))
    return by_source


async def record_of(checkpoint: WorkflowCheckpoint, writer: Writer) -> wire.CheckpointRecord:
    """Return the record of a checkpoint that MAF made.

    Raises:
        EncodeError: Something in it cannot be stored; names it.
    """
    messages = [message for sent in checkpoint.messages.values() for message in sent]
    changes = await _changes(checkpoint, writer)
    children = {
        path_text(path): wire.replace(await _changes(child, writer), iteration=child.iteration_count)
        for path, child in _children(checkpoint)
    }
    return wire.CheckpointRecord(
        header=wire.CheckpointHeader(
            checkpoint_id=checkpoint.checkpoint_id,
            previous_checkpoint_id=checkpoint.previous_checkpoint_id,
            iteration=checkpoint.iteration_count,
            timestamp=checkpoint.timestamp,
            kind=_kind(checkpoint.iteration_count, messages),
            metadata=writer.encoded(checkpoint.metadata, "metadata"),
        ),
        snapshot=wire.Snapshot(changes=wire.replace(changes, children=children)),
        messages=[await writer.message(message, f"message from {message.source_id!r}") for message in messages],
    )


def graph_of(checkpoint: WorkflowCheckpoint) -> wire.Graph:
    """Return what a checkpoint that MAF made says of its graph: names, signatures and executors."""
    return wire.Graph(
        name=checkpoint.workflow_name,
        signature=checkpoint.graph_signature_hash,
        start_executor_id="",
        executors=list(_executor_states(checkpoint)),
        max_iterations=0,
        children={executor_id: graph_of(child) for executor_id, child in _own_children(checkpoint).items()},
    )


def _executor_states(checkpoint: WorkflowCheckpoint) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", checkpoint.state.get(EXECUTOR_STATE_KEY, {}))


def _own_children(checkpoint: WorkflowCheckpoint) -> dict[str, WorkflowCheckpoint]:
    found: dict[str, WorkflowCheckpoint] = {}
    for executor_id, state in _executor_states(checkpoint).items():
        child = state.get(SUB_WORKFLOW_CHECKPOINT_KEY) if isinstance(state, dict) else None  # pyright: ignore
        if isinstance(child, WorkflowCheckpoint):
            found[executor_id] = child
    return found


def _children(checkpoint: WorkflowCheckpoint, path: Path = ()) -> list[tuple[Path, WorkflowCheckpoint]]:
    """Return the checkpoints of the sub-workflows at every depth, by path."""
    found: list[tuple[Path, WorkflowCheckpoint]] = []
    for executor_id, child in _own_children(checkpoint).items():
        below = (*path, executor_id)
        found += [(below, child), *_children(child, below)]
    return found


async def _changes(checkpoint: WorkflowCheckpoint, writer: Writer) -> wire.Changes:
    state = dict(checkpoint.state)
    state.pop(EXECUTOR_STATE_KEY, None)
    buffers: dict[str, Any] = state.pop(EDGE_STATE_KEY, {})
    children = _own_children(checkpoint)
    own = {key: _without_child(one) if key in children else one for key, one in _executor_states(checkpoint).items()}
    executors = {key: one for key, one in own.items() if one}
    requests = checkpoint.pending_request_info_events
    return wire.Changes(
        state={**await writer.values(state, "state")},
        executors={**await writer.values(executors, "executor state")},
        buffers={key: await _buffered(writer, key, buffer) for key, buffer in buffers.items()},
        requests={key: await writer.request(event) for key, event in requests.items()},
    )


def _without_child(state: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key != SUB_WORKFLOW_CHECKPOINT_KEY}


async def _buffered(writer: Writer, key: str, buffer: dict[str, Any]) -> list[wire.Message]:
    messages = [message for buffered in buffer[FAN_IN_BUFFER_KEY].values() for message in buffered]
    return [await writer.message(message, f"fan-in buffer {key}") for message in messages]


def _kind(iteration: int, messages: list[WorkflowMessage]) -> wire.CheckpointKind:
    if messages and all(message.type is MessageType.RESPONSE for message in messages):
        return "response"
    return "entry" if iteration == 0 else "superstep"
