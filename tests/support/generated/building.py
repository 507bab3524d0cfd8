"""From specifications to MAF workflows, and to the conformance kit's scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import Case, Default, Executor, Workflow, WorkflowBuilder, WorkflowEvent, WorkflowExecutor

from temporal_adapter.testing import Script

from .executors import CLASSES, response_to, value
from .spec import AnyEdge, Edge, FanIn, FanOut, Graph, Node, Play, Select, Sub, Switch, When, fuel_of, targets_of


def build(graph: Graph, outlets: int = 0) -> Workflow:
    """Return a new MAF workflow; of a sub-workflow, `outlets` is how many executors its outputs go to."""
    shares = Counter(source for edge in graph.edges for source, _ in targets_of(edge))
    executors = {node.id: _executor(node, max(1, shares[node.id], outlets), outlets > 0) for node in graph.nodes}
    designated: dict[str, Any] = {}
    if graph.outputs is not None:
        designated["output_from"] = [executors[one] for one in graph.outputs]
        designated["intermediate_output_from"] = [executors[one] for one in graph.intermediate]
    builder = WorkflowBuilder(
        name=graph.name,
        start_executor=executors[graph.nodes[0].id],
        max_iterations=graph.max_iterations,
        **designated,
    )
    for edge in graph.edges:
        _add(builder, edge, executors)
    return builder.build()


def _executor(node: Node | Sub, shares: int, inner: bool) -> Executor:
    if isinstance(node, Node):
        return CLASSES[node.takes, node.hooks](node, shares, inner)
    return WorkflowExecutor(
        build(node.graph, shares), id=node.id, allow_direct_output=node.direct, propagate_request=node.propagates
    )


def _add(builder: WorkflowBuilder, edge: AnyEdge, executors: Mapping[str, Executor]) -> None:
    match edge:
        case Edge(source, target, None):
            builder.add_edge(executors[source], executors[target])
        case Edge(source, target, when):
            builder.add_edge(executors[source], executors[target], condition=condition(when))
        case FanOut(source, targets):
            builder.add_fan_out_edges(executors[source], [executors[one] for one in targets])
        case FanIn(sources, target):
            builder.add_fan_in_edges([executors[one] for one in sources], executors[target])
        case Switch(source, cases, default):
            # MAF's switch takes no async condition.
            made: list[Case | Default] = [Case(_said(when), executors[target]) for when, target in cases]
            builder.add_switch_case_edge_group(executors[source], [*made, Default(executors[default])])
        case Select(source, targets, how):
            builder.add_multi_selection_edge_group(
                executors[source], [executors[one] for one in targets], selection(how)
            )


def condition(when: When) -> Callable[[Any], bool | Awaitable[bool]]:
    """Return the function of a condition."""
    said = _said(when)
    if not when.is_async:
        return said

    async def said_later(message: Any) -> bool:
        return said(message)

    return said_later


def _said(when: When) -> Callable[[Any], bool]:
    def raises(_: Any) -> bool:
        raise RuntimeError("a condition cannot say")

    functions: dict[str, Callable[[Any], bool]] = {
        "always": lambda message: True,
        "never": lambda message: False,
        "even": lambda message: fuel_of(message) % 2 == 0,
        "above": lambda message: fuel_of(message) > when.limit,
        "falsy": lambda message: not message,
        "raises": raises,
    }
    return functions[when.says]


def selection(how: str) -> Callable[[Any, list[str]], list[str]]:
    """Return the function of a multi-selection."""
    functions: dict[str, Callable[[Any, list[str]], list[str]]] = {
        "all": lambda message, ids: ids,
        "none": lambda message, ids: [],
        "first": lambda message, ids: ids[:1],
        "one by fuel": lambda message, ids: [ids[fuel_of(message) % len(ids)]],
        "last twice": lambda message, ids: [ids[-1], ids[0], ids[-1]],
        "unknown": lambda message, ids: ["nobody"],
    }
    return functions[how]


def script(play: Play) -> Script:
    """Return what the conformance kit runs; good for one run."""
    rounds = iter(play.rounds)

    def answers(requests: Sequence[WorkflowEvent[Any]]) -> dict[str, Any]:
        following = next(rounds, None)
        if following is None:
            return {}
        ordered = sorted(requests, key=lambda request: (request.source_executor_id, repr(request.data)))
        places = dict.fromkeys(place % len(ordered) for place in following.places)
        return {ordered[place].request_id: response_to(ordered[place], following.fuel) for place in places}

    return Script(value(play.kind, play.fuel, "input"), answers)
