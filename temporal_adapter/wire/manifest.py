"""What a checkpoint in the blob store looks like.

A checkpoint of few entries is one object, a `Manifest`. One of many is a `PagedManifest`: its entries are in pages that
it shares with other checkpoints, and it holds what changed since these were written. What readers of the store get is
always a `Manifest` with all entries; `PagedManifest`, `PageList` and `ChunkedValue` do not leave the store.

Only shapes live here. Object names, digests and the writing of these shapes are the store's.
"""

from __future__ import annotations

import msgspec

from .shapes import Changes, CheckpointHeader, Message, Request, Value


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
    """A checkpoint, complete. Small values are inside, large ones by reference."""

    header: CheckpointHeader
    workflow_name: str
    workflow_id: str  # Temporal's
    graph_signature: str  # MAF's graph_signature_hash
    executor_ids: list[str]  # every executor of the graph, with state or without
    outlines: dict[str, Outline] = {}  # of sub-workflows, by path
    messages: list[Message] = []  # in flight, in order of first send by source
    run_id: str = ""  # Temporal's, of the run that wrote it; not part of what two writers must agree on


class GraphOutline(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What all checkpoints of a run say alike of its graph."""

    executor_ids: list[str]
    outlines: dict[str, Outline] = {}


class PagedManifest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A checkpoint of many entries: those in pages, then `removed` laid over them, then `changed`.

    A release that does not know of pages refuses this shape, for it has no header where a `Manifest` has it.
    """

    manifest: Manifest  # without entries; without what the `GraphOutline` says, where there is one
    pages: str  # digest of a `PageList`
    size: int  # bytes of the entries in pages
    removed: Changes | None = None  # deletions only: keys that are set again come last, as in a dict
    changed: Changes | None = None  # without deletions
    graph: str | None = None  # digest of a `GraphOutline`


class PageList(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The entries of all levels, by pages. A page is a list of [level path, section, key, value]."""

    pages: list[str]  # digests, in order


class ChunkedValue(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A value too large for one object: the parts of its JSON text."""

    size: int  # bytes of the text
    chunks: list[str]  # digests of the parts, in order


class IndexEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The tiny object by which the checkpoints of a workflow are found and put in order."""

    header: CheckpointHeader
    workflow_name: str
    workflow_id: str
    run_id: str = ""
