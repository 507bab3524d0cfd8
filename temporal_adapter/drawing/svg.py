"""A graph as SVG: one document without scripts, styles, links or fonts, for a page as well as for a file.

Looks are presentation attributes, since a page whose policy forbids inline styles is to show the same drawing.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from temporal_adapter import wire

from .layout import Box, Curve, Line, Point, layout
from .parts import Arrow, Parts, words

_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
_NAME, _WORDS = 13, 11  # font sizes
_CHAR, _WIDE_CHAR = 0.6, 1.05  # of the font size, with room to spare
_MOST_CHARS = 34  # of a name; all of it is in the tooltip
_PAD, _MARGIN = 12.0, 12.0
_ROW = 17.0
_JOIN = Box(52, 22)

_MUTED = "#6b7280"
_ARROW = "#4b5563"
_LOOKS = {  # fill, stroke, text
    "idle": ("#f9fafb", "#9ca3af", "#111827"),
    "running": ("#dbeafe", "#1d4ed8", "#172554"),
    "waiting": ("#fef3c7", "#b45309", "#451a03"),
    "failed": ("#fee2e2", "#b91c1c", "#450a0a"),
    "completed": ("#dcfce7", "#15803d", "#052e16"),
}


def svg(progress: wire.GraphProgress) -> str:
    """Return the SVG of a graph, with where the run stands.

    Raises:
        NotDrawn: It is too large, or Graphviz is not installed; says what to do instead.
    """
    level = _level(progress)
    width, height = level.width + 2 * _MARGIN, level.height + 2 * _MARGIN
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:.0f} {height:.0f}",
            "width": f"{width:.0f}",
            "height": f"{height:.0f}",
            "role": "img",
            "font-family": _FONT,
        },
    )
    SubElement(root, "title").text = _xml(f"Graph of {progress.name}")
    SubElement(root, "desc").text = _xml(_told(progress))
    group = SubElement(root, "g", {"transform": f"translate({_MARGIN:.0f} {_MARGIN:.0f})"})
    group.append(level.drawn)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


@dataclass(frozen=True)
class _Drawn:
    """Something drawn, from its upper left corner on."""

    drawn: Element
    width: float
    height: float


def _level(progress: wire.GraphProgress) -> _Drawn:
    parts = Parts.of(progress)
    nodes = [_node(one, is_start=place == parts.start) for place, one in enumerate(parts.executors)]
    nodes += [_join() for _ in range(parts.joins)]
    boxes = tuple(Box(node.width, node.height) for node in nodes)
    lines = tuple(Line(one.source, one.target, _label_box(one), one.both) for one in parts.arrows)
    placed = layout(boxes, lines)
    group = Element("g")
    for arrow, curve in zip(parts.arrows, placed.curves, strict=True):
        _draw_arrow(group, arrow, curve)
    for node, (x, y) in zip(nodes, placed.centres, strict=True):
        node.drawn.set("transform", f"translate({x - node.width / 2:.1f} {y - node.height / 2:.1f})")
        group.append(node.drawn)
    return _Drawn(group, placed.width, placed.height)


# --- nodes --------------------------------------------------------------------------------------------------


def _node(executor: wire.ExecutorProgress, *, is_start: bool) -> _Drawn:
    said = words(executor)
    inner = None if executor.workflow is None else _level(executor.workflow)
    name = _short(executor.executor_id)
    # Room for the longest words in any case, so that the graph stays where it is while the run goes on.
    least = max(_width(name, _NAME), _width("waits for 00 responses", _WORDS)) + 2 * _PAD
    width = max(least, 0 if inner is None else inner.width + 2 * _PAD)
    head = 2 * _ROW + _PAD
    height = head if inner is None else head + inner.height + _PAD
    fill, stroke, text = _LOOKS[executor.state]
    group = Element("g", {"class": f"executor {executor.state}"})
    tooltip = ", ".join(part for part in (executor.executor_id, "start" if is_start else "", said) if part)
    SubElement(group, "title").text = _xml(tooltip)
    looks = {"fill": fill, "stroke": stroke, "stroke-width": "2" if is_start else "1.2"}
    rounded = {"rx": f"{height / 2:.0f}" if is_start and inner is None else "6"}
    SubElement(group, "rect", {"width": f"{width:.1f}", "height": f"{height:.1f}", **rounded, **looks})
    _text(group, name, (width / 2, _ROW + (0 if said else _ROW / 2)), _NAME, text, bold=True)
    if said:
        _text(group, said, (width / 2, 2 * _ROW), _WORDS, text)
    if inner is not None:
        inner.drawn.set("transform", f"translate({(width - inner.width) / 2:.1f} {head:.1f})")
        SubElement(
            group,
            "rect",
            {
                "x": f"{_PAD / 2:.1f}",
                "y": f"{head - _PAD / 2:.1f}",
                "width": f"{width - _PAD:.1f}",
                "height": f"{inner.height + _PAD:.1f}",
                "rx": "4",
                "fill": "#ffffff",
                "stroke": stroke,
                "stroke-dasharray": "4 3",
            },
        )
        group.append(inner.drawn)
    return _Drawn(group, width, height)


def _join() -> _Drawn:
    group = Element("g", {"class": "fan-in"})
    looks = {"rx": f"{_JOIN.height / 2}", "fill": "#ffffff", "stroke": _MUTED}
    SubElement(group, "rect", {"width": f"{_JOIN.width}", "height": f"{_JOIN.height}", **looks})
    _text(group, "fan-in", (_JOIN.width / 2, _JOIN.height / 2 + 4), _WORDS, _MUTED)
    return _Drawn(group, _JOIN.width, _JOIN.height)


# --- arrows -------------------------------------------------------------------------------------------------


def _draw_arrow(group: Element, arrow: Arrow, curve: Curve) -> None:
    start, *rest = curve.points
    path = f"M{start[0]} {start[1]}C" + " ".join(f"{x} {y}" for x, y in rest)
    dashes = {"stroke-dasharray": "5 4"} if arrow.conditional else {}
    SubElement(group, "path", {"d": path, "fill": "none", "stroke": _ARROW, "stroke-width": "1.2", **dashes})
    _draw_tip(group, curve.points[-1], curve.head)
    if curve.tail is not None:
        _draw_tip(group, curve.points[0], curve.tail)
    if curve.label is not None:
        x, y = curve.label
        _text(group, _short(arrow.label), (x, y + 4), _WORDS, _MUTED)


def _draw_tip(group: Element, base: Point, tip: Point) -> None:
    length = ((tip[0] - base[0]) ** 2 + (tip[1] - base[1]) ** 2) ** 0.5 or 1.0
    across = (-(tip[1] - base[1]) / length * 4, (tip[0] - base[0]) / length * 4)
    corners = (tip, (base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1]))
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    SubElement(group, "polygon", {"points": points, "fill": _ARROW})


def _label_box(arrow: Arrow) -> Box | None:
    return Box(_width(_short(arrow.label), _WORDS) + 6, _ROW) if arrow.label else None


# --- text ---------------------------------------------------------------------------------------------------


def _text(group: Element, text: str, at: Point, size: int, fill: str, *, bold: bool = False) -> None:
    looks = {"font-size": str(size), "fill": fill, "text-anchor": "middle"} | ({"font-weight": "600"} if bold else {})
    element = SubElement(group, "text", {"x": f"{at[0]:.1f}", "y": f"{at[1]:.1f}", **looks})
    element.text = _xml(text)


def _short(name: str) -> str:
    return name if len(name) <= _MOST_CHARS else name[: _MOST_CHARS - 1] + "…"


def _width(text: str, size: int) -> float:
    return sum(size * (_WIDE_CHAR if unicodedata.east_asian_width(char) in "WF" else _CHAR) for char in text)


def _told(progress: wire.GraphProgress) -> str:
    """Return in words, for those who do not see it, where the executors stand."""
    stands = [f"{one.executor_id}: {words(one) or 'not yet at work'}" for one in progress.executors]
    return f"After superstep {progress.iteration}. {'; '.join(stands)}."


def _xml(text: str) -> str:
    """Return text without what XML has no way to say, nor what turns the text around it."""
    return "".join(" " if unicodedata.category(char)[0] == "C" else char for char in text)
