"""Making the complete manifest of a checkpoint: from its record and graph, and the entries it has. Does no I/O."""

from __future__ import annotations

from collections.abc import Iterator

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text


def bare_manifest(record: wire.CheckpointRecord, graph: wire.Graph, workflow_id: str, run_id: str) -> wire.Manifest:
    """Return a checkpoint's manifest without entries."""
    return wire.Manifest(
        header=record.header,
        workflow_name=graph.name,
        workflow_id=workflow_id,
        graph_signature=graph.signature,
        executor_ids=graph.executors,
        messages=record.messages,
        outlines=dict(_outlines(graph)),
        run_id=run_id,
    )


def with_entries(bare: wire.Manifest, entries: wire.SnapshotEntries) -> wire.Manifest:
    """Return a manifest with these entries in place of its own."""
    return wire.replace(
        bare,
        state=entries.state,
        executors=entries.executors,
        attributes=entries.attributes,
        buffers=entries.buffers,
        requests=entries.requests,
        children=entries.children,
    )


def _outlines(graph: wire.Graph, path: tuple[str, ...] = ()) -> Iterator[tuple[str, wire.Outline]]:
    for executor_id, child in graph.children.items():
        below = (*path, executor_id)
        outline = wire.Outline(workflow_name=child.name, graph_signature=child.signature, executor_ids=child.executors)
        yield path_text(below), outline
        yield from _outlines(child, below)
