"""What a checkpoint in the blob store looks like: complete, so that reading one never needs another.

Only shapes live here. Object names, digests and the writing of these shapes are the store's.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .shapes import CheckpointHeader, Message, Request, Restore, Value


class SnapshotEntries(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A snapshot in full: the maps of `Changes`, without deletions and without a base."""

    state: dict[str, Value] = {}  # shared state
    executors: dict[str, Value] = {}  # what on_checkpoint_save returned
    attributes: dict[str, Value] = {}  # changed attributes of executors without hooks: one dict each
    buffers: dict[str, list[Message]] = {}  # fan-in buffers, in order of arrival
    requests: dict[str, Request] = {}  # pending requests
    iteration: int = 0  # of a sub-workflow
    children: dict[str, SnapshotEntries] = {}  # of sub-workflows, by path; not nested


class Outline(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a checkpoint says of a sub-workflow's graph."""

    workflow_name: str
    graph_signature: str
    executor_ids: list[str]


class Manifest(SnapshotEntries, frozen=True, omit_defaults=True, kw_only=True):
    """A checkpoint as the blob store holds it. Small values are inside, large ones by reference."""

    header: CheckpointHeader
    workflow_name: str
    workflow_id: str  # Temporal's
    graph_signature: str  # MAF's graph_signature_hash
    executor_ids: list[str]  # every executor of the graph, with state or without
    outlines: dict[str, Outline] = {}  # of sub-workflows, by path
    messages: list[Message] = []  # in flight, in order of first send by source
    run_id: str = ""  # Temporal's, of the run that wrote it; not part of what two writers must agree on


class Ended(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How a run ended, where its last checkpoint does not tell."""

    state: Literal["failed", "cancelled", "closed"]
    checkpoint_id: str | None  # head of its lineage
    at: str


class RunEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A run as the blob store knows it: enough to start it again on another server."""

    workflow_name: str
    workflow_id: str  # Temporal's
    run_id: str
    task_queue: str
    at: str  # when it started
    on_failure: Literal["fail", "wait"] = "fail"
    stream: bool = False
    session: bool = False
    restored: Restore | None = None  # how it came from a checkpoint; without what a fork was given
    ended: Ended | None = None  # absent: open, completed, terminated or timed out


class IndexEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The tiny object by which the checkpoints of a workflow are found and put in order."""

    header: CheckpointHeader
    workflow_name: str
    workflow_id: str
