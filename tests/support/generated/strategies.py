"""Hypothesis strategies for specifications. `SHAPES` names what can be drawn; each stresses something else.

Drawn graphs are valid for MAF: every node is reached, no two edge groups join the same two nodes.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from .spec import (
    FALSY,
    FUELED,
    Action,
    AnyEdge,
    Ask,
    Edge,
    Fail,
    FanIn,
    FanOut,
    Graph,
    Kind,
    Node,
    Peek,
    Play,
    Remember,
    Round,
    Select,
    Send,
    Show,
    Sub,
    Switch,
    When,
    Write,
    Yield,
    targets_of,
    types_taken,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]
Ids = tuple[str, ...]

KINDS: tuple[Kind, ...] = (*FUELED, *FUELED, *FUELED, *FALSY)
FUELS = (60, 30, 100, 17, 130, 8, 1)  # of an input; a bound on the deliveries of a run
# A message of these kinds can start a node that takes these types. MAF refuses to run with None.
TAKEN: dict[str, tuple[Kind, ...]] = {
    "any": (*FUELED, *FUELED, *FUELED, "false", "empty text"),
    "numbers": ("number", "number", "number", "zero", "false"),
    "texts": ("text", "text", "text", "empty text"),
    "tokens": ("token",),
}


@dataclass(frozen=True)
class Shape:
    """What the graphs of one shape have.

    Attributes:
        actions: What executors may do besides sending.
        nodes: How many nodes at most.
        least: And at least.
        extra: How many edges at most that no node needs to be reached.
        back: Whether these may lead back.
        joins: Whether nodes may be reached by a fan-in.
        typed: Whether executors take some types only, and messages are of any kind.
        fails: What fails, in one place of the graph.
        levels: How many levels of sub-workflows at most.
        fuel: How much an input has at most.
    """

    actions: tuple[st.SearchStrategy[Action], ...] = ()
    nodes: int = 8
    least: int = 3
    extra: int = 2
    back: bool = False
    joins: bool = True
    typed: bool = False
    fails: tuple[str, ...] = ()
    levels: int = 0
    fuel: int = 150


def sends(kinds: Sequence[Kind] = FUELED) -> st.SearchStrategy[Action]:
    return st.builds(Send, kind=st.sampled_from(kinds), times=st.sampled_from((1, 1, 2, 3)))


YIELDS: st.SearchStrategy[Action] = st.builds(Yield, kind=st.sampled_from((*KINDS, "remembered")))
WRITES: st.SearchStrategy[Action] = st.builds(
    Write, how=st.sampled_from(("set", "count", "nest", "delete")), kind=st.sampled_from(KINDS)
)
REMEMBERS: st.SearchStrategy[Action] = st.just(Remember())
SHOWS: st.SearchStrategy[Action] = st.builds(Show, kind=st.sampled_from(KINDS))
ASKS: st.SearchStrategy[Action] = st.builds(
    Ask,
    kind=st.sampled_from(("token", "text", "mapping")),
    answer=st.sampled_from(("number", "text", "yes", "token")),
    times=st.integers(1, 2),
    named=st.booleans(),
)

SHAPES: dict[str, Shape] = {
    "flow": Shape(actions=(YIELDS, SHOWS), nodes=12, extra=4, typed=True),
    "joins": Shape(actions=(YIELDS, REMEMBERS), nodes=9, extra=5, back=True),
    "state": Shape(actions=(YIELDS, WRITES, WRITES, REMEMBERS, REMEMBERS), nodes=6, back=True),
    "people": Shape(actions=(ASKS, ASKS, YIELDS, REMEMBERS, WRITES), nodes=5, least=1, back=True),
    "failing": Shape(
        actions=(YIELDS, WRITES, ASKS), nodes=6, back=True, fails=("node", "answer", "condition", "selection")
    ),
    "nested": Shape(actions=(YIELDS, WRITES, REMEMBERS), nodes=4, least=2, back=True, levels=3, fuel=30),
    "nested people": Shape(actions=(YIELDS, ASKS, ASKS, REMEMBERS), nodes=4, least=2, back=True, levels=2, fuel=30),
    "nested failing": Shape(
        actions=(YIELDS, ASKS), nodes=4, least=2, levels=2, fails=("node", "answer", "condition"), fuel=30
    ),
    "all": Shape(actions=(YIELDS, SHOWS, WRITES, REMEMBERS, ASKS), nodes=12, extra=4, back=True, typed=True),
}


@st.composite
def cases(draw: Draw, shape: str) -> tuple[Graph, Play]:
    """Draw a graph of a shape, and what happens to it."""
    graph = draw(graphs(SHAPES[shape]))
    start = graph.nodes[0]
    play = Play(
        kind=draw(st.sampled_from(TAKEN[types_taken(start)])),
        fuel=draw(st.sampled_from([fuel for fuel in FUELS if fuel <= SHAPES[shape].fuel])),
        rounds=tuple(draw(st.lists(rounds(), max_size=4))) if ASKS in SHAPES[shape].actions else (),
    )
    return graph, play


def rounds() -> st.SearchStrategy[Round]:
    places = st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple)
    return st.builds(Round, places=places, fuel=st.sampled_from((7, 30, 4, 1, 0)))


@st.composite
def graphs(draw: Draw, shape: Shape, within: str = "") -> Graph:
    """Draw a graph; `within` is the id of the node that it is the sub-workflow of."""
    letters = string.ascii_lowercase[: draw(st.integers(shape.least, shape.nodes))]
    ids = tuple(f"{within}{letter}" for letter in letters)  # unique on all levels
    edges = draw(_needed_edges(ids, shape))
    edges += draw(_extra_edges(ids, shape, edges))
    nodes: list[Node | Sub] = [draw(_nodes(id, ids, shape, edges)) for id in ids]
    if shape.levels:
        nodes = [draw(_sub_workflows(node, shape)) if draw(st.booleans()) else node for node in nodes]
        nodes, edges = draw(_interceptions(nodes, edges))
    graph = Graph(
        nodes=tuple(nodes),
        edges=tuple(edges),
        max_iterations=draw(st.sampled_from((20, 20, 20, 7, 2))),
        name=within or "generated",
    )
    if draw(st.booleans()):
        graph = replace(graph, **draw(_designations(ids)))
    return draw(_with_failure(graph, shape)) if shape.fails and not within else graph


@st.composite
def _sub_workflows(draw: Draw, node: Node, shape: Shape) -> Sub:
    inner = replace(shape, nodes=3, least=1, extra=1, levels=shape.levels - 1)
    return Sub(node.id, draw(graphs(inner, node.id)), direct=draw(st.booleans()), propagates=draw(st.booleans()))


@st.composite
def _interceptions(draw: Draw, nodes: list[Node | Sub], edges: list[AnyEdge]) -> tuple[list[Node | Sub], list[AnyEdge]]:
    """Let some of the nodes that sub-workflows lead to answer their requests, by an edge back."""
    joined = {pair for edge in edges for pair in targets_of(edge)}
    intercepting: set[str] = set()
    for sub in (node.id for node in nodes if isinstance(node, Sub) and not node.propagates):
        for target in [target for source, target in sorted(joined) if source == sub]:
            if draw(st.booleans()):
                intercepting.add(target)
                if (target, sub) not in joined:
                    joined.add((target, sub))
                    edges = [*edges, Edge(target, sub)]
    return [
        replace(node, intercepts=True) if isinstance(node, Node) and node.id in intercepting else node for node in nodes
    ], edges


@st.composite
def _designations(draw: Draw, ids: Ids) -> dict[str, Any]:
    said = [draw(st.sampled_from(("output", "intermediate", "hidden"))) for _ in ids]
    named = {kind: tuple(id for id, one in zip(ids, said, strict=True) if one == kind) for kind in set(said)}
    if "output" not in named:
        return {}
    return {"outputs": named["output"], "intermediate": named.get("intermediate", ())}


# --- edges --------------------------------------------------------------------------------------------------


@st.composite
def _needed_edges(draw: Draw, ids: Ids, shape: Shape) -> list[AnyEdge]:
    """Draw edges by which every node is reached."""
    children: dict[str, list[str]] = {}
    fan_ins: list[AnyEdge] = []
    for place, id in enumerate(ids[1:], start=1):
        earlier = ids[:place]
        if shape.joins and place > 1 and draw(st.integers(0, 2)) == 2:
            sources = draw(st.lists(st.sampled_from(earlier), min_size=2, max_size=4, unique=True))
            fan_ins.append(FanIn(tuple(sources), id))
        else:
            children.setdefault(draw(st.sampled_from(earlier)), []).append(id)
    edges: list[AnyEdge] = []
    for parent, found in children.items():
        edges += draw(_edges_to(parent, found))
    return draw(st.permutations([*edges, *fan_ins]))


@st.composite
def _edges_to(draw: Draw, source: str, targets: list[str]) -> list[AnyEdge]:
    """Draw edge groups from one node to others, each in one of them."""
    if len(targets) < 2 or draw(st.integers(0, 3)) == 3:
        return [Edge(source, target, draw(_whens())) for target in targets]
    group = draw(st.sampled_from(("fan-out", "fan-out", "switch", "select")))
    if group == "fan-out":
        return [FanOut(source, tuple(targets))]
    if group == "switch":
        said = st.builds(When, says=st.sampled_from(("even", "above", "falsy", "never")), limit=st.integers(0, 8))
        return [Switch(source, tuple((draw(said), target) for target in targets[:-1]), targets[-1])]
    how = draw(st.sampled_from(("all", "none", "first", "one by fuel", "last twice")))
    return [Select(source, tuple(targets), how)]


@st.composite
def _extra_edges(draw: Draw, ids: Ids, shape: Shape, edges: list[AnyEdge]) -> list[AnyEdge]:
    """Draw edges that no node needs to be reached."""
    joined = {pair for edge in edges for pair in targets_of(edge)}
    extra: list[AnyEdge] = []
    for _ in range(draw(st.integers(0, shape.extra)) if len(ids) > 1 else 0):
        source, target = draw(st.sampled_from(ids)), draw(st.sampled_from(ids))
        edge: AnyEdge = Edge(source, target, draw(_whens()))
        if shape.joins and draw(st.booleans()):
            sources = draw(st.lists(st.sampled_from(ids), min_size=2, max_size=3, unique=True))
            edge = FanIn(tuple(sources), target)
        pairs = set(targets_of(edge))
        leads_back = any(source >= target for source, target in pairs)
        if not pairs & joined and (shape.back or not leads_back):
            joined |= pairs
            extra.append(edge)
    return extra


def _whens() -> st.SearchStrategy[When | None]:
    when = st.builds(
        When,
        says=st.sampled_from(("always", "above", "even", "above", "falsy", "never")),
        limit=st.integers(0, 8),
        is_async=st.booleans(),
    )
    return st.none() | st.none() | st.none() | when


# --- nodes --------------------------------------------------------------------------------------------------


@st.composite
def _nodes(draw: Draw, id: str, ids: Ids, shape: Shape, edges: list[AnyEdge]) -> Node:
    return Node(
        id=id,
        does=draw(_does(id, ids, shape, edges)),
        odd=draw(_does(id, ids, shape, edges)) if draw(st.integers(0, 3)) == 3 else (),
        answered=draw(_does(id, ids, shape, edges)) if ASKS in shape.actions else (),
        takes=draw(st.sampled_from(("any", "any", "numbers", "texts", "tokens"))) if shape.typed else "any",
        hooks=draw(st.booleans()),
    )


@st.composite
def _does(draw: Draw, id: str, ids: Ids, shape: Shape, edges: list[AnyEdge]) -> tuple[Action, ...]:
    actions: list[Action] = []
    if any(source == id for edge in edges for source, _ in targets_of(edge)):
        send = draw(sends(KINDS if shape.typed else FUELED))
        if draw(st.integers(0, 5)) == 5:
            known = [target for edge in edges for source, target in targets_of(edge) if source == id]
            send = replace(send, to=draw(st.sampled_from((*known, *known, *ids))))
        actions.append(send)
    else:
        actions.append(draw(YIELDS))
    menu = [*shape.actions, *_peeks(id, ids, edges)]
    actions += draw(st.lists(st.one_of(menu), max_size=3))
    return tuple(draw(st.permutations(actions)))


def _peeks(id: str, ids: Ids, edges: list[AnyEdge]) -> list[st.SearchStrategy[Action]]:
    """The start's key can be read by others without a race, where the start runs in the first superstep only."""
    alone = not any(target == ids[0] for edge in edges for _, target in targets_of(edge))
    return [st.just(Peek(ids[0]))] if alone and id != ids[0] else []


# --- failures -----------------------------------------------------------------------------------------------


@st.composite
def _with_failure(draw: Draw, graph: Graph, shape: Shape) -> Graph:
    """Draw one place of the graph that fails: which of two failures ends a run first is open in MAF."""
    place = draw(st.integers(0, len(graph.nodes) - 1))
    node, what = graph.nodes[place], draw(st.sampled_from(shape.fails))
    if isinstance(node, Sub):
        inner = replace(node, graph=draw(_with_failure(node.graph, shape)))
        return replace(graph, nodes=(*graph.nodes[:place], inner, *graph.nodes[place + 1 :]))
    if what == "answer":
        node = replace(node, answered=(*node.answered, Fail()))
    elif what == "node" and draw(st.booleans()):
        node = replace(node, odd=(*(node.odd or node.does), Fail()))
    elif what == "node":
        node = replace(node, does=(*node.does, Fail()), odd=node.odd or node.does)
    nodes = (*graph.nodes[:place], node, *graph.nodes[place + 1 :])
    return replace(graph, nodes=nodes, edges=draw(_failing_edges(graph.edges, what)))


@st.composite
def _failing_edges(draw: Draw, edges: tuple[AnyEdge, ...], what: str) -> tuple[AnyEdge, ...]:
    able = [
        place
        for place, edge in enumerate(edges)
        if isinstance(edge, {"condition": Edge, "selection": Select}.get(what, ()))  # type: ignore[arg-type]
    ]
    if not able:
        return edges
    place = draw(st.sampled_from(able))
    edge = edges[place]
    if isinstance(edge, Edge):
        edge = replace(edge, when=When("raises", is_async=draw(st.booleans())))
    elif isinstance(edge, Select):
        edge = replace(edge, how="unknown")
    return (*edges[:place], edge, *edges[place + 1 :])
