"""`checkpoint graph`: how checkpoints descend from each other, across the runs that went on from one another."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode
from temporal_adapter.store import CorruptObject, heads_of

from .group import group
from .list import header_json, kind_text
from .opened import Opened, opened


@command(group, "graph")
async def graph_of_checkpoints(
    options: StoreOptions,
    workflow: Annotated[
        str, typer.Argument(metavar="WORKFLOW", help="A workflow id, or a workflow's name for all its runs.")
    ],
) -> ExitCode:
    """Draw the lineage of a run's checkpoints as a tree, with its forks.

    Runs that went on from one of these checkpoints (replays, forks) hang below it, and above are the checkpoints that
    the run itself went on from, whatever their workflow id. Each line is a checkpoint; one level is one line of
    descent.
    """
    store = opened(options)
    lineage = _Lineage.of(await _related(store, workflow))
    found = await store.each(lambda checkpoint_id: _pending(store, checkpoint_id), lineage.entries)
    pending = dict(zip(lineage.entries, found, strict=True))
    if options.as_json:
        rows = [_json(lineage, entry, pending) for entry in lineage.entries.values()]
        output.print_json({"checkpoint_store": store.blobs.url, "namespace": store.namespace, "checkpoints": rows})
    else:
        for root in lineage.roots:
            output.console().print(_Drawing(lineage, pending).tree(root))
    return ExitCode.OK


@dataclass(frozen=True)
class _Lineage:
    """Checkpoints, parents before children, and who descends from whom."""

    entries: Mapping[str, wire.IndexEntry]
    children: Mapping[str, builtins.list[wire.IndexEntry]]
    roots: builtins.list[wire.IndexEntry]  # without a parent, or with one that is not in the store
    heads: set[str]

    @classmethod
    def of(cls, entries: Sequence[wire.IndexEntry]) -> _Lineage:
        by_id: dict[str, wire.IndexEntry] = {}
        children: dict[str, list[wire.IndexEntry]] = {}
        roots: list[wire.IndexEntry] = []
        for entry in entries:
            # A parent that comes later is one of a circle, which only damage can cause: it is cut open here.
            parent = entry.header.previous_checkpoint_id
            (roots if parent is None or parent not in by_id else children.setdefault(parent, [])).append(entry)
            by_id[entry.header.checkpoint_id] = entry
        return cls(by_id, children, roots, {one.header.checkpoint_id for one in heads_of(entries)})

    def line(self, start: wire.IndexEntry) -> builtins.list[wire.IndexEntry]:
        """Return a checkpoint and its descendants in one line; at a fork, the same run's child goes on with it."""
        line = [start]
        while following := self.children.get(line[-1].header.checkpoint_id):
            own = [one for one in following if one.workflow_id == start.workflow_id]
            if not own:
                break
            line.append(own[0])
        return line


async def _related(store: Opened, workflow: str) -> builtins.list[wire.IndexEntry]:
    """Return the checkpoints of a workflow id or name, and all that are of one lineage with them."""
    workflows = await store.workflows()
    names = [name for name, workflow_id in workflows if workflow_id == workflow]
    if not names:
        if all(name != workflow for name, _ in workflows):
            raise store.unknown(workflow)
        return await store.entries([workflow])
    entries = await store.entries(list(dict.fromkeys(names)))
    tops: dict[str, str] = {}  # the first checkpoint of each one's lineage
    for entry in entries:
        tops[entry.header.checkpoint_id] = tops.get(
            entry.header.previous_checkpoint_id or "", entry.header.checkpoint_id
        )
    wanted = {tops[entry.header.checkpoint_id] for entry in entries if entry.workflow_id == workflow}
    return [entry for entry in entries if tops[entry.header.checkpoint_id] in wanted]


@dataclass(frozen=True)
class _Pending:
    request_ids: Sequence[str]
    executor_ids: Sequence[str]
    damaged: bool = False


async def _pending(store: Opened, checkpoint_id: str) -> _Pending:
    try:
        manifest = await store.checkpoints.load_by_id(checkpoint_id)
    except CorruptObject:
        manifest = None
    if manifest is None:
        return _Pending([], [], damaged=True)
    requests = manifest.requests
    return _Pending(list(requests), sorted({one.source_executor_id for one in requests.values()}))


class _Drawing:
    def __init__(self, lineage: _Lineage, pending: Mapping[str, _Pending]) -> None:
        self._lineage = lineage
        self._pending = pending

    def tree(self, root: wire.IndexEntry) -> Tree:
        tree = Tree(self._title(root))
        self._grow(tree, root)
        return tree

    def _title(self, start: wire.IndexEntry) -> Text:
        title = Text.assemble(output.name(start.workflow_id, "bold"), " ", output.name(f"({start.workflow_name})"))
        parent = start.header.previous_checkpoint_id
        if parent is not None and parent not in self._lineage.entries:
            title.append_text(output.name(f" after {parent}, which is not in the store", "red"))
        return title

    def _grow(self, tree: Tree, start: wire.IndexEntry) -> None:
        line = self._lineage.line(start)
        on_line = {entry.header.checkpoint_id for entry in line}
        for entry in line:
            node = tree.add(self._label(entry))
            for child in self._lineage.children.get(entry.header.checkpoint_id, []):
                if child.header.checkpoint_id not in on_line:
                    self._grow(node.add(self._branch(child, entry)), child)

    def _branch(self, child: wire.IndexEntry, parent: wire.IndexEntry) -> Text:
        how = "branch" if child.workflow_id == parent.workflow_id else "goes on as"
        return Text.assemble(f"{how} ", self._title(child))

    def _label(self, entry: wire.IndexEntry) -> Text:
        header, pending = entry.header, self._pending[entry.header.checkpoint_id]
        label = Text.assemble(
            output.name(header.checkpoint_id), f"  {kind_text(header)}  {output.moment(header.timestamp)}"
        )
        if pending.request_ids:
            asked_by = ", ".join(pending.executor_ids)
            label.append_text(output.name(f"  {len(pending.request_ids)} pending ({asked_by})", "yellow"))
        if pending.damaged:
            label.append("  damaged", "red")
        if header.checkpoint_id in self._lineage.heads:
            label.append("  head", "bold green")
        return label


def _json(lineage: _Lineage, entry: wire.IndexEntry, pending: Mapping[str, _Pending]) -> dict[str, object]:
    checkpoint_id, parent = entry.header.checkpoint_id, entry.header.previous_checkpoint_id
    return {
        **header_json(entry),
        "parent_in_store": parent is None or parent in lineage.entries,
        "pending_requests": list(pending[checkpoint_id].request_ids),
        "damaged": pending[checkpoint_id].damaged,
        "head": checkpoint_id in lineage.heads,
    }
