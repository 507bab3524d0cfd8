"""`checkpoint list`: what the store has, by workflow id; or the checkpoints of one, in the order of their lineage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode, tell
from temporal_adapter.store import CorruptObject, heads_of, youngest_head
from temporal_adapter.wire.names import MIGRATED_FROM

from .group import group
from .opened import Opened, opened


@command(group, "list")
async def list_checkpoints(
    options: StoreOptions,
    workflow_id: Annotated[
        str | None, typer.Argument(metavar="WORKFLOW_ID", help="List the checkpoints of this workflow id.")
    ] = None,
    workflow_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only of the workflow of this name.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the N youngest.")] = None,
) -> ExitCode:
    """List all workflow ids that have checkpoints, or the checkpoints of one.

    Workflow ids come youngest first; checkpoints by lineage, each parent before its children.
    """
    store = opened(options)
    found = [
        (name, id_)
        for name, id_ in await store.workflows()
        if workflow_name in (None, name) and workflow_id in (None, id_)
    ]
    if workflow_id is not None and not found:
        raise store.unknown(workflow_id)
    entries = await store.entries(list(dict.fromkeys(name for name, _ in found)))
    if workflow_id is None:
        return await _overview(store, options, entries, limit)
    mine = [entry for entry in entries if entry.workflow_id == workflow_id]
    return await _checkpoints(store, options, workflow_id, mine, limit)


async def _overview(
    store: Opened, options: StoreOptions, entries: Sequence[wire.IndexEntry], limit: int | None
) -> ExitCode:
    by_run: dict[tuple[str, str], list[wire.IndexEntry]] = {}
    for entry in entries:
        by_run.setdefault((entry.workflow_name, entry.workflow_id), []).append(entry)
    runs = sorted(by_run.values(), key=lambda run: max(map(_time, run)), reverse=True)[:limit]
    rows = list(zip(runs, await _rows(store, map(youngest_head, runs)), strict=True))
    if options.as_json:
        output.print_json({**_where(store), "workflows": [_run_json(run, latest) for run, latest in rows]})
    elif not rows:
        tell(f"There are no checkpoints in {store.place}.")
    else:
        table = output.table("WORKFLOW ID", "WORKFLOW", "CHECKPOINTS", "LATEST", "AT", "PENDING", "QUEUED")
        for run, latest in rows:
            table.add_row(
                output.name(run[0].workflow_id, "bold"),
                output.name(run[0].workflow_name),
                str(len(run)),
                kind_text(latest.entry.header),
                output.moment(latest.entry.header.timestamp),
                *latest.counts,
            )
        output.console().print(table)
    return _told(latest for _, latest in rows)


async def _checkpoints(
    store: Opened, options: StoreOptions, workflow_id: str, entries: Sequence[wire.IndexEntry], limit: int | None
) -> ExitCode:
    by_age = sorted(entries, key=_time)  # of equal age, the later in the lineage last
    youngest = {entry.header.checkpoint_id for entry in (by_age if limit is None else by_age[-limit:])}
    rows = await _rows(store, (entry for entry in entries if entry.header.checkpoint_id in youngest))
    heads = [entry.header.checkpoint_id for entry in heads_of(entries)]
    if options.as_json:
        checkpoints = [{**_row_json(row), "head": row.entry.header.checkpoint_id in heads} for row in rows]
        output.print_json({**_where(store), "workflow_id": workflow_id, "checkpoints": checkpoints})
    else:
        table = output.table("CHECKPOINT", "KIND", "AT", "PENDING", "QUEUED", "", whole=2)
        for row in rows:
            header = row.entry.header
            head = "head" if header.checkpoint_id in heads else ""
            at = output.moment(header.timestamp)
            table.add_row(output.name(header.checkpoint_id, "bold"), kind_text(header), at, *row.counts, head)
        output.console().print(table)
    return _told(rows)


@dataclass(frozen=True)
class _Row:
    entry: wire.IndexEntry
    manifest: wire.Manifest | None
    damage: str | None = None

    @property
    def counts(self) -> tuple[str, str]:
        if self.manifest is None:
            return "?", "?"
        return str(len(self.manifest.requests)), str(len(self.manifest.messages))


async def _rows(store: Opened, entries: Iterable[wire.IndexEntry]) -> list[_Row]:
    async def row(entry: wire.IndexEntry) -> _Row:
        checkpoint_id = entry.header.checkpoint_id
        try:
            manifest = await store.checkpoints.load_by_id(checkpoint_id)
        except CorruptObject as error:
            return _Row(entry, None, str(error))
        return _Row(entry, manifest, None if manifest else f"Checkpoint {checkpoint_id!r} is in the index alone.")

    return await store.each(row, entries)


def _told(rows: Iterable[_Row]) -> ExitCode:
    damages = [row.damage for row in rows if row.damage is not None]
    for damage in damages:
        tell(f"Warning: {damage}")
    return ExitCode.FINDING if damages else ExitCode.OK


def kind_text(header: wire.CheckpointHeader) -> str:
    """Return the kind of a checkpoint in words: `entry`, `superstep 3`, `response`, `fork`, `superstep 3, migrated`."""
    kind = f"superstep {header.iteration}" if header.kind == "superstep" else header.kind
    return f"{kind}, migrated" if MIGRATED_FROM in header.metadata else kind


def header_json(entry: wire.IndexEntry) -> dict[str, Any]:
    """Return what the index says of a checkpoint."""
    header = entry.header
    return {
        "checkpoint_id": header.checkpoint_id,
        "previous_checkpoint_id": header.previous_checkpoint_id,
        "workflow_name": entry.workflow_name,
        "workflow_id": entry.workflow_id,
        "kind": header.kind,
        "iteration": header.iteration,
        "timestamp": header.timestamp,
        "migrated": MIGRATED_FROM in header.metadata,
    }


def _row_json(row: _Row) -> dict[str, Any]:
    manifest = row.manifest
    return {
        **header_json(row.entry),
        "pending_requests": None if manifest is None else list(manifest.requests),
        "in_flight": None if manifest is None else len(manifest.messages),
        "damage": row.damage,
    }


def _run_json(run: Sequence[wire.IndexEntry], latest: _Row) -> dict[str, Any]:
    return {
        "workflow_name": run[0].workflow_name,
        "workflow_id": run[0].workflow_id,
        "checkpoints": len(run),
        "heads": sorted(entry.header.checkpoint_id for entry in heads_of(run)),
        "latest": _row_json(latest),
    }


def _where(store: Opened) -> dict[str, str]:
    return {"checkpoint_store": store.blobs.url, "namespace": store.namespace}


def _time(entry: wire.IndexEntry) -> str:
    return entry.header.timestamp
