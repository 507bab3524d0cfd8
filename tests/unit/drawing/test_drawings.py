"""Drawings of graphs: what they show of a run, and that no name in them is ever more than text."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.drawing import NotDrawn, mermaid, svg, unstarted
from temporal_adapter.drawing.layout import Box, Line, layout
from temporal_adapter.pool import GraphPool
from tests.support import graphs
from workers.expense_approval.graph import build_expense_approval

SVG = "{http://www.w3.org/2000/svg}"
STATES = ("idle", "running", "waiting", "failed", "completed")


def graph(
    *edges: tuple[str, str] | tuple[str, str, str], states: dict[str, dict[str, Any]] | None = None
) -> wire.GraphProgress:
    """Return a graph of these edges; a third part of one is its kind, or its condition in parentheses."""
    ids = list(dict.fromkeys(one for edge in edges for one in edge[:2]))
    return wire.GraphProgress(
        name="drawn",
        start_executor_id=ids[0],
        iteration=3,
        executors=[
            wire.ExecutorProgress(executor_id=one, **{"state": "idle", **(states or {}).get(one, {})}) for one in ids
        ],
        edges=[edge_of(*edge) for edge in edges],
    )


def edge_of(source: str, target: str, more: str = "SingleEdgeGroup") -> wire.GraphEdge:
    condition = more.strip("()") if more.startswith("(") else None
    kind = "SingleEdgeGroup" if condition else more
    return wire.GraphEdge(source=source, target=target, kind=kind, condition=condition)


def texts(drawn: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


# --- Mermaid ------------------------------------------------------------------------------------------------


def test_mermaid_shows_executors_edges_and_where_the_run_stands() -> None:
    drawn = mermaid(
        graph(
            ("start", "left"),
            ("start", "right", "(is_big)"),
            ("left", "join", "FanInEdgeGroup"),
            ("right", "join", "FanInEdgeGroup"),
            states={
                "start": {"state": "completed", "deliveries": 1},
                "left": {"state": "running", "deliveries": 2},
                "right": {"state": "waiting", "pending_requests": 2},
                "join": {"state": "failed"},
            },
        )
    )
    assert drawn == (
        "flowchart TD\n"
        '  n0(["start<br/>done"])\n'
        "  class n0 completed\n"
        '  n1["left<br/>running"]\n'
        "  class n1 running\n"
        '  n2["right<br/>waits for 2 responses"]\n'
        "  class n2 waiting\n"
        '  n3["join<br/>failed"]\n'
        "  class n3 failed\n"
        '  n4(("fan-in"))\n'
        "  n0 --> n1\n"
        '  n0 -.->|"is#95;big"| n2\n'
        "  n4 --> n3\n"
        "  n1 --> n4\n"
        "  n2 --> n4\n"
        "  classDef running fill:#dbeafe,stroke:#1d4ed8,color:#172554\n"
        "  classDef waiting fill:#fef3c7,stroke:#b45309,color:#451a03\n"
        "  classDef failed fill:#fee2e2,stroke:#b91c1c,color:#450a0a\n"
        "  classDef completed fill:#dcfce7,stroke:#15803d,color:#052e16\n"
    ).replace("#95;", "_")


def test_edges_both_ways_are_one_arrow_with_two_heads() -> None:
    assert "n0 <--> n1" in mermaid(graph(("ask", "answer"), ("answer", "ask")))


def test_an_edge_to_itself_is_one_arrow() -> None:
    assert mermaid(graph(("again", "again"))).count("n0 --> n0") == 1


def test_a_case_and_an_unnamed_condition_are_shown_as_such() -> None:
    drawn = mermaid(graph(("a", "b", "SwitchCaseEdgeGroup"), ("a", "c", "(<lambda>)")))
    assert 'n0 -.->|"case"| n1' in drawn
    assert 'n0 -.->|"conditional"| n2' in drawn


def test_edges_of_the_framework_itself_are_left_out() -> None:
    progress = wire.replace(graph(("a", "b")), edges=[edge_of("internal:a", "a", "InternalEdgeGroup")])
    assert "-->" not in mermaid(progress)


def test_a_sub_workflow_is_drawn_inside_the_executor_that_wraps_it() -> None:
    outer = graph(("a", "review"))
    nested = wire.replace(outer.executors[1], workflow=graph(("first", "second")))
    drawn = mermaid(wire.replace(outer, executors=[outer.executors[0], nested]))
    lines = [line.strip() for line in drawn.splitlines()]
    inside = lines[lines.index('subgraph n1["review"]') : lines.index("end")]
    assert inside == ['subgraph n1["review"]', 'n1_0(["first"])', 'n1_1["second"]', "n1_0 --> n1_1"]


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_mermaid_has_nothing_of_a_name_but_characters_that_are_text(first: str, second: str) -> None:
    drawn = mermaid(graph((f"a{first}", f"b{second}", f"(is{second})")))
    labels = re.findall(r'"([^"]*)"', drawn)
    assert drawn.count('"') == 2 * len(labels)
    for label in labels:
        for part in label.split("<br/>"):
            assert re.sub(r"#\d+;", "", part).isprintable()
            assert not set(re.sub(r"#\d+;", "", part)) & set('"<>[]{}|`#;&%\n\r')


# --- SVG ----------------------------------------------------------------------------------------------------


def test_svg_shows_names_words_and_labels() -> None:
    states = {"start": {"state": "completed", "deliveries": 3}, "end": {"state": "waiting", "pending_requests": 1}}
    drawn = svg(graph(("start", "end", "(is_big)"), states=states))
    assert sorted(texts(drawn)) == sorted(["start", "done 3 times", "end", "waits for a response", "is_big"])
    described = ElementTree.fromstring(drawn).findtext(f"{SVG}desc")
    assert described == "After superstep 3. start: done 3 times; end: waits for a response."


def test_svg_has_nothing_that_a_strict_page_would_not_show() -> None:
    root = ElementTree.fromstring(svg(graph(("a", "b"), ("b", "c", "(why)"))))
    tags = {one.tag.removeprefix(SVG) for one in root.iter()}
    names = {name for one in root.iter() for name in one.attrib}
    assert tags <= {"svg", "title", "desc", "g", "rect", "path", "polygon", "text"}
    assert not [name for name in names if name == "style" or name.startswith("on") or "href" in name]


def test_the_layout_stays_while_the_run_goes_on() -> None:
    def places(state: str, **more: int) -> list[str]:
        drawn = svg(graph(("a", "b"), states={"a": {"state": state, **more}}))
        return [one.attrib["transform"] for one in ElementTree.fromstring(drawn).iter(f"{SVG}g") if one.get("class")]

    assert places("idle") == places("running") == places("completed", deliveries=12) == places("waiting")


def test_a_long_name_is_cut_and_is_whole_in_the_tooltip() -> None:
    name = "an-executor-with-a-name-that-is-much-too-long-for-any-box"
    drawn = svg(graph((name, "b")))
    assert name not in texts(drawn)
    assert f"{name}, start" in [one.text for one in ElementTree.fromstring(drawn).iter(f"{SVG}title")]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=4, unique=True), st.sampled_from(STATES))
def test_svg_is_xml_whatever_the_names_are(names: list[str], state: str) -> None:
    drawn = svg(graph(*itertools.pairwise(names), states={names[0]: {"state": state}}))
    root = ElementTree.fromstring(drawn)  # which would refuse what XML cannot say
    shown = [one.text or "" for one in root.iter(f"{SVG}text")]
    for name in names:
        clean = "".join(" " if unicodedata.category(char)[0] == "C" else char for char in name)
        assert clean.strip("\r\n") in [one.strip("\r\n") for one in shown] or "\r" in clean


@st.composite
def _drawings(draw: st.DrawFn) -> tuple[tuple[Box, ...], tuple[Line, ...]]:
    boxes = draw(st.lists(st.builds(Box, st.integers(30, 300), st.integers(20, 200)), min_size=1, max_size=7))
    place = st.integers(0, len(boxes) - 1)
    label = st.none() | st.just(Box(60, 17))
    lines = draw(st.lists(st.builds(Line, place, place, label, st.just(False)), max_size=12))
    return tuple(boxes), tuple(lines)


@settings(max_examples=40, deadline=None)
@given(_drawings())
def test_boxes_do_not_overlap_and_all_is_within_the_drawing(drawing: tuple[Sequence[Box], Sequence[Line]]) -> None:
    boxes, lines = tuple(drawing[0]), tuple(drawing[1])
    made = layout(boxes, lines)
    assert len(made.curves) == len(lines)
    for box, (x, y) in zip(boxes, made.centres, strict=True):
        assert abs(x - made.width / 2) <= (made.width - box.width) / 2 + 1
        assert abs(y - made.height / 2) <= (made.height - box.height) / 2 + 1
    for (one, (x, y)), (other, (u, v)) in itertools.combinations(zip(boxes, made.centres, strict=True), 2):
        assert abs(x - u) >= (one.width + other.width) / 2 - 1 or abs(y - v) >= (one.height + other.height) / 2 - 1


@pytest.mark.parametrize("count", [301, 24])
def test_a_graph_that_nobody_could_read_is_not_drawn_and_says_what_to_do(count: int) -> None:
    edges = [(f"e{one}", f"e{other}") for one in range(count) for other in range(one, count) if other < one + 20]
    with pytest.raises(NotDrawn, match=rf"{count} nodes .* Mermaid"):
        svg(graph(*edges))


# --- of real graphs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("factory", [build_expense_approval, graphs.chain, graphs.uneven_fan_in])
def test_a_workflow_is_drawn_without_a_run(factory: Any) -> None:
    progress = unstarted(GraphPool(factory).build().description())
    assert {one.state for one in progress.executors} == {"idle"}
    assert {one.executor_id for one in progress.executors} <= set(texts(svg(progress)))
    assert mermaid(progress).count("-->") >= len(progress.executors) - 1
