"""Where nodes and arrows of one level go: Graphviz's `dot`, which comes with the wheel of pygraphviz.

Only numbers go in and come out: no name of a user's reaches Graphviz. A layout is kept, since a page that follows a
run draws the same graph again and again.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

_POINTS = 72  # in an inch, Graphviz's unit of sizes

_MOST_NODES = 300
_MOST_LOOPS = 200  # edges beyond those of a tree; these are what makes `dot` slow: a second or two at this bound
_FEW_LOOPS = 30

Point = tuple[float, float]


class NotDrawn(Exception):
    """A graph cannot be drawn as SVG; says why, and what to do instead."""


@dataclass(frozen=True)
class Box:
    """A node's size, in points."""

    width: float
    height: float


@dataclass(frozen=True)
class Line:
    """An arrow to place: between boxes, by their places, with the size of its label."""

    source: int
    target: int
    label: Box | None = None
    both: bool = False


@dataclass(frozen=True)
class Curve:
    """An arrow that was placed.

    Attributes:
        points: A start, and three points (two control points and an end) for each piece of a Bezier curve.
        head: Where the tip points to.
        tail: Where the tip at its start points to, if it has one.
        label: The middle of the label, if it has one.
    """

    points: tuple[Point, ...]
    head: Point
    tail: Point | None
    label: Point | None


@dataclass(frozen=True)
class Layout:
    """Places, in points from the upper left corner.

    Attributes:
        width: Of all.
        height: Of all.
        centres: Of the boxes, in their order.
        curves: In the order of the lines.
    """

    width: float
    height: float
    centres: tuple[Point, ...]
    curves: tuple[Curve, ...]


@functools.lru_cache(maxsize=64)
def layout(boxes: tuple[Box, ...], lines: tuple[Line, ...]) -> Layout:
    """Return where to draw boxes and the arrows between them.

    Raises:
        NotDrawn: There are too many, or pygraphviz is not installed.
    """
    loops = len(lines) - len(boxes)
    if len(boxes) > _MOST_NODES or loops > _MOST_LOOPS:
        raise NotDrawn(
            f"A graph with {len(boxes)} nodes and {len(lines)} arrows on one level is too large for a drawing that "
            "anybody could read; it can be had as Mermaid, or as JSON."
        )
    graph = _graph(boxes, lines, tangled=loops > _FEW_LOOPS)
    graph.layout("dot")
    _, _, width, height = map(float, graph.graph_attr["bb"].split(","))
    centres = [_point(graph.get_node(place).attr["pos"], height) for place in range(len(boxes))]
    curves = [_curve(graph.get_edge(one.source, one.target, str(key)), height) for key, one in enumerate(lines)]
    return Layout(width, height, tuple(centres), tuple(curves))


def _graph(boxes: tuple[Box, ...], lines: tuple[Line, ...], *, tangled: bool) -> Any:
    try:
        import pygraphviz  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise NotDrawn(
            'Drawing SVG needs Graphviz, which comes with: pip install "agent-framework-temporal[inbox]". '
            "Mermaid needs nothing."
        ) from error
    graph: Any = pygraphviz.AGraph(directed=True, strict=False)
    graph.graph_attr.update(rankdir="TB", nodesep="0.35", ranksep="0.45")
    if tangled:
        graph.graph_attr.update(nslimit="1", nslimit1="1", mclimit="0.2", splines="polyline")
    graph.node_attr.update(shape="box", label="", fixedsize="true")
    for place, box in enumerate(boxes):
        graph.add_node(place, width=f"{box.width / _POINTS:.4f}", height=f"{box.height / _POINTS:.4f}")
    for key, line in enumerate(lines):
        more = {} if line.label is None else {"label": _room(line.label)}
        graph.add_edge(line.source, line.target, key=str(key), dir="both" if line.both else "forward", **more)
    return graph


def _room(box: Box) -> str:
    """Return a label that is nothing but its size."""
    size = f'WIDTH="{box.width:.0f}" HEIGHT="{box.height:.0f}"'
    return f'<<TABLE BORDER="0" FIXEDSIZE="TRUE" {size}><TR><TD></TD></TR></TABLE>>'


def _curve(edge: Any, height: float) -> Curve:
    head: Point | None = None
    tail: Point | None = None
    points: list[Point] = []
    for part in edge.attr["pos"].replace("\\\n", "").split():
        if part.startswith("e,"):
            head = _point(part[2:], height)
        elif part.startswith("s,"):
            tail = _point(part[2:], height)
        else:
            points.append(_point(part, height))
    label = edge.attr["lp"]
    return Curve(tuple(points), head or points[-1], tail, _point(label, height) if label else None)


def _point(text: str, height: float) -> Point:
    """Return a point of Graphviz's, which counts from the lower left corner, counted from the upper left."""
    x, y = map(float, text.split(","))
    return round(x, 1), round(height - y, 1)
