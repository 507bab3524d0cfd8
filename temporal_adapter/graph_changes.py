"""What differs between the graph a run was started with and the graph a worker has, in words.

Pure, since workflow code says it: no I/O, no clock, no MAF. What is to be done about a difference is not decided here.
The words are bounded, whatever the graphs are. They say nothing of what a graph does not tell: one that an earlier
release recorded knows neither the classes of its executors nor which edges make a group, and the first ones no edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

MAX_LENGTH = 1500
"""Characters of a difference in words."""

MAX_DETAILS = 16 * 1024
"""Bytes of JSON that a worker tells of its graph, at most: each try of a run that waits adds them to its history."""

_SHOWN = 5  # of a kind, such as executors that were added
_LONGEST_NAME = 120  # characters


def difference(run: wire.Graph, worker: wire.Graph) -> str:
    """Return what a worker's graph has otherwise than a run's, at every level of nesting.

    Args:
        run: The graph that the run was started with.
        worker: The graph that the worker has.

    Returns:
        One or several sentences, of at most `MAX_LENGTH` characters; empty if the two have one signature.
    """
    if run.signature == worker.signature:
        return ""
    found = list(_differences(run, worker, ()))
    told = " ".join(found) or "What these are made of is the same, as far as it is recorded."
    silent = _not_compared(run, worker)
    if silent:
        told = f"{told} Not compared: {silent}."
    return told if len(told) <= MAX_LENGTH else f"{told[: MAX_LENGTH - 4]} ..."


def details(graph: wire.Graph) -> list[Any]:
    """Return what an activity that meets another graph than its run's attaches to its error: its own, if not too large.

    A large one is told without its edges; a very large one not at all.
    """
    for told in (_outline(graph, edges=True), _outline(graph, edges=False)):
        dumped = wire.dump(told)
        if len(wire.to_bytes(dumped)) <= MAX_DETAILS:
            return [dumped]
    return []


def told(run: wire.Graph, attached: Sequence[Any]) -> str:
    """Return the difference that the details of such an error tell; without any, that there is one.

    Args:
        run: The graph that the run was started with.
        attached: The error's details, as they came: those of a later release may be others.
    """
    try:
        worker = wire.load(wire.Graph, attached[0]) if attached else None
    except wire.WireError:
        worker = None
    if worker is None:
        return "The worker does not tell what differs."
    return difference(run, worker)


def graph_of(manifest: wire.Manifest) -> wire.Graph:
    """Return what a checkpoint tells of its graph: executors and signatures, at every level of nesting."""
    return _level_of(manifest, manifest.workflow_name, manifest.graph_signature, manifest.executor_ids, ())


def _level_of(
    manifest: wire.Manifest, name: str, signature: str, executor_ids: list[str], path: tuple[str, ...]
) -> wire.Graph:
    children = {one: manifest.outlines.get(path_text((*path, one))) for one in executor_ids}
    return wire.Graph(
        name=name,
        signature=signature,
        start_executor_id="",
        executors=executor_ids,
        max_iterations=0,
        children={
            one: _level_of(manifest, child.workflow_name, child.graph_signature, child.executor_ids, (*path, one))
            for one, child in children.items()
            if child is not None
        },
    )


def _outline(graph: wire.Graph, *, edges: bool) -> wire.Graph:
    children = {key: _outline(child, edges=edges) for key, child in graph.children.items()}
    outline = wire.replace(graph, fan_ins={}, catching=[], children=children)
    return outline if edges else wire.replace(outline, edges=[], groups=[])


# --- comparing ----------------------------------------------------------------------------------------------


def _differences(run: wire.Graph, worker: wire.Graph, path: tuple[str, ...]) -> Iterable[str]:
    """Yield sentences, outermost level first."""
    place = f"In sub-workflow {path_text(path)!r}: " if path else ""
    here = [*_of_executors(run, worker), *_of_edges(run, worker)]
    if here:
        yield f"{place}{'; '.join(here)}."
    for key, child in run.children.items():
        other = worker.children.get(key)
        if other is not None and other.signature != child.signature:
            yield from _differences(child, other, (*path, key))


def _of_executors(run: wire.Graph, worker: wire.Graph) -> Iterable[str]:
    removed = [one for one in run.executors if one not in worker.executors]
    added = [one for one in worker.executors if one not in run.executors]
    if removed:
        yield f"executors removed: {_listed(map(_name, removed))}"
    if added:
        yield f"executors added: {_listed(map(_name, added))}"
    before, after = _class_of(run), _class_of(worker)
    changed = [one for one in run.executors if one in before and one in after and before[one] != after[one]]
    if changed:
        of_each = (f"{_name(one)} ({_cut(before[one])}, now {_cut(after[one])})" for one in changed)
        yield f"executors of another class: {_listed(of_each)}"
    wrapping = [
        f"{_name(one)} (which {'wraps none now' if one in run.children else 'wrapped none'})"
        for one in run.executors
        if one in worker.executors and (one in run.children) != (one in worker.children)
    ]
    if wrapping:
        yield f"executors with a sub-workflow on one side only: {_listed(wrapping)}"
    if run.start_executor_id and worker.start_executor_id and run.start_executor_id != worker.start_executor_id:
        yield f"it starts with {_name(worker.start_executor_id)}, not {_name(run.start_executor_id)}"


def _class_of(graph: wire.Graph) -> dict[str, str]:
    return {executor_id: name for name, executor_ids in graph.classes.items() for executor_id in executor_ids}


@dataclass(frozen=True)
class _Edge:
    """What MAF's signature has of an edge, with the edges that one group makes of it."""

    kind: str
    condition: str | None
    selection: str | None = None
    together: frozenset[tuple[str, str]] = frozenset()


def _of_edges(run: wire.Graph, worker: wire.Graph) -> Iterable[str]:
    if _lacks_edges(run) or _lacks_edges(worker):
        return
    grouped = bool(run.groups and worker.groups)
    before, after = _edges(run, grouped=grouped), _edges(worker, grouped=grouped)
    removed = [_arrow(ends) for ends in before if ends not in after]
    added = [_arrow(ends) for ends in after if ends not in before]
    if removed:
        yield f"edges removed: {_listed(removed)}"
    if added:
        yield f"edges added: {_listed(added)}"
    changed = [ends for ends in before if _changed(before, after, ends)]
    if changed:
        of_each = (f"{_arrow(ends)} ({_change(before[ends], after[ends])})" for ends in changed)
        yield f"edges changed: {_listed(of_each)}"


def _edges(graph: wire.Graph, *, grouped: bool) -> dict[tuple[str, str], _Edge]:
    """Return the edges by their ends: MAF allows no two with the same."""
    if not grouped:
        return {(edge.source, edge.target): _Edge(edge.kind, edge.condition) for edge in graph.edges}
    found: dict[tuple[str, str], _Edge] = {}
    waiting = list(graph.edges)
    for group in graph.groups:
        edges, waiting = waiting[: group.size], waiting[group.size :]
        together = frozenset((edge.source, edge.target) for edge in edges)
        for edge in edges:
            found[edge.source, edge.target] = _Edge(edge.kind, edge.condition, group.selection, together)
    return found


def _changed(before: dict[tuple[str, str], _Edge], after: dict[tuple[str, str], _Edge], ends: tuple[str, str]) -> bool:
    if ends not in after or before[ends] == after[ends]:
        return False
    one, other = before[ends], after[ends]
    if (one.kind, one.condition, one.selection) != (other.kind, other.condition, other.selection):
        return True
    # Others of the group that were added or removed are told already.
    return any(edge in before and edge in after for edge in one.together ^ other.together)


def _change(before: _Edge, after: _Edge) -> str:
    parts: list[str] = []
    if before.kind != after.kind:
        parts.append(f"{_cut(before.kind)}, now {_cut(after.kind)}")
    for what, one, other in [
        ("condition", before.condition, after.condition),
        ("selection", before.selection, after.selection),
    ]:
        if one != other:
            parts.append(f"{what} {_or_none(one)}, now {_or_none(other)}")
    return "; ".join(parts) or "grouped with other edges now"


def _lacks_edges(graph: wire.Graph) -> bool:
    """Whether a graph does not tell its edges. That of one executor may have none; but one with classes would tell."""
    return not graph.edges and (not graph.classes or len(graph.executors) > 1)


def _not_compared(run: wire.Graph, worker: wire.Graph) -> str:
    parts: list[str] = []
    if _any_level(_lacks_edges, run) or _any_level(_lacks_edges, worker):
        parts.append("edges")
    elif _any_level(_lacks_groups, run) or _any_level(_lacks_groups, worker):
        parts.append("how edges are grouped")
    if not run.classes or not worker.classes:
        parts.append("executors' classes")
    return " and ".join(parts)


def _lacks_groups(graph: wire.Graph) -> bool:
    return bool(graph.edges) and not graph.groups


def _any_level(holds: Any, graph: wire.Graph) -> bool:
    return bool(holds(graph)) or any(_any_level(holds, child) for child in graph.children.values())


# --- words --------------------------------------------------------------------------------------------------


def _arrow(ends: tuple[str, str]) -> str:
    return f"{_name(ends[0])} -> {_name(ends[1])}"


def _name(executor_id: str) -> str:
    return repr(_cut(executor_id))


def _or_none(name: str | None) -> str:
    return "none" if name is None else _name(name)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."


def _listed(parts: Iterable[str]) -> str:
    every = list(parts)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return f"{', '.join(every[:_SHOWN])}{more}"
