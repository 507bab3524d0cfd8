"""What a drawing shows, in whichever form: nodes, arrows and words. How they look belongs to the forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from temporal_adapter import wire

_FAN_IN = "FanInEdgeGroup"
_SWITCH = "SwitchCaseEdgeGroup"
_UNNAMED = ("<lambda>", "<missing_callable>", "<missing_condition>")


@dataclass(frozen=True)
class Arrow:
    """An arrow between nodes, by their places in `Parts`.

    Attributes:
        source: Place of the node it leaves.
        target: Place of the node it points at.
        label: What it says, if anything.
        conditional: Whether a message may also not go this way.
        both: Whether it points both ways.
    """

    source: int
    target: int
    label: str = ""
    conditional: bool = False
    both: bool = False


@dataclass(frozen=True)
class Parts:
    """One level of a graph. Nodes are numbered: executors first, in their order, then the points where fan-ins join.

    Attributes:
        executors: The executors.
        joins: How many fan-ins there are.
        start: Place of the start executor; None if it is not among them.
        arrows: The arrows.
    """

    executors: list[wire.ExecutorProgress]
    joins: int
    start: int | None
    arrows: list[Arrow]

    @classmethod
    def of(cls, progress: wire.GraphProgress) -> Parts:
        """Return what is to be shown of one level. MAF's inner edges, which lead from no executor, are left out."""
        places = {one.executor_id: place for place, one in enumerate(progress.executors)}
        edges = [edge for edge in progress.edges if edge.source in places and edge.target in places]
        arrows: list[Arrow] = []
        joins: dict[str, int] = {}
        for edge in edges:
            target = places[edge.target]
            if edge.kind == _FAN_IN:
                if edge.target not in joins:
                    joins[edge.target] = len(places) + len(joins)
                    arrows.append(Arrow(joins[edge.target], target))
                target = joins[edge.target]
            arrows.append(Arrow(places[edge.source], target, _label(edge), _is_conditional(edge)))
        return cls(progress.executors, len(joins), places.get(progress.start_executor_id), _joined(arrows))


def unstarted(graph: wire.Graph) -> wire.GraphProgress:
    """Return a graph as a run of it that has not begun."""
    executors = [
        wire.ExecutorProgress(
            executor_id=one,
            state="idle",
            workflow=unstarted(graph.children[one]) if one in graph.children else None,
        )
        for one in graph.executors
    ]
    return wire.GraphProgress(
        name=graph.name,
        start_executor_id=graph.start_executor_id,
        iteration=0,
        executors=executors,
        edges=graph.edges,
    )


def words(executor: wire.ExecutorProgress) -> str:
    """Return where an executor stands, in words; nothing of one that has not been at work."""
    if executor.state == "waiting":
        count = executor.pending_requests
        return f"waits for {count} responses" if count > 1 else "waits for a response"
    if executor.state in ("running", "failed"):
        return executor.state
    if not executor.deliveries:
        return ""
    return "done" if executor.deliveries == 1 else f"done {executor.deliveries} times"


def _is_conditional(edge: wire.GraphEdge) -> bool:
    return edge.condition is not None or edge.kind == _SWITCH


def _label(edge: wire.GraphEdge) -> str:
    if edge.condition in _UNNAMED:
        return "conditional"
    return edge.condition or ("case" if edge.kind == _SWITCH else "")


def _joined(arrows: Iterable[Arrow]) -> list[Arrow]:
    """Return arrows without repetitions; of a pair that only differs in direction, one that points both ways."""
    found: dict[tuple[int, int, str, bool], Arrow] = {}
    for one in arrows:
        back = (one.target, one.source, one.label, one.conditional)
        if one.source != one.target and back in found:
            first = found[back]
            found[back] = Arrow(first.source, first.target, first.label, first.conditional, both=True)
        else:
            found.setdefault((one.source, one.target, one.label, one.conditional), one)
    return list(found.values())
