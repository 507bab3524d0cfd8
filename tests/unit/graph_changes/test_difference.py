"""What differs between a run's graph and a worker's, in words: at every level of nesting, bounded, and never untrue."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, WorkflowExecutor, handler
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import graph_changes, wire
from temporal_adapter.pool import GraphPool
from tests.support.graphs import Add, Report


class Sub(Add):
    """The same as `Add`, and another class."""


class Through(Executor):
    """Passes numbers on and yields them."""

    @handler
    async def through(self, value: int, ctx: WorkflowContext[int, int]) -> None:
        await ctx.yield_output(value)


def is_big(value: Any) -> bool:
    return value > 10


def is_huge(value: Any) -> bool:
    return value > 1000


def described(workflow: Callable[[], Workflow]) -> wire.Graph:
    return GraphPool(workflow).build().description()


def chain(*executors: tuple[str, type[Executor]], **edges: Any) -> Callable[[], Workflow]:
    def build() -> Workflow:
        made = [cls(id=key) for key, cls in executors]
        builder = WorkflowBuilder(name="made", start_executor=made[0])
        for source, target in itertools.pairwise(made):
            builder.add_edge(source, target, condition=edges.get(f"{source.id}_{target.id}"))
        return builder.build()

    return build


def nested(depth: int, *inner: tuple[str, type[Executor]]) -> Callable[[], Workflow]:
    """The chain, so many sub-workflows deep: in `wrap1`, in `wrap2` ..."""

    def build() -> Workflow:
        workflow = chain(*inner)()
        for level in range(depth, 0, -1):
            wrapping = WorkflowExecutor(workflow, id=f"wrap{level}")
            name = "made" if level == 1 else f"level-{level}"
            workflow = WorkflowBuilder(name=name, start_executor=wrapping).build()
        return workflow

    return build


A, B, C = ("a", Add), ("b", Add), ("c", Add)


def difference(run: Callable[[], Workflow], worker: Callable[[], Workflow]) -> str:
    return graph_changes.difference(described(run), described(worker))


def test_graphs_of_one_signature_do_not_differ() -> None:
    assert difference(chain(A, B), chain(A, B)) == ""


@pytest.mark.parametrize(
    ("run", "worker", "told"),
    [
        (chain(A, B), chain(A), "executors removed: 'b'; edges removed: 'a' -> 'b'."),
        (chain(A), chain(A, B), "executors added: 'b'; edges added: 'a' -> 'b'."),
        (
            chain(A, B),
            chain(A, ("b", Sub)),
            f"executors of another class: 'b' (tests.support.graphs.Add, now {Sub.__module__}.Sub).",
        ),
        (chain(A, B), chain(B, A), "it starts with 'b', not 'a'; edges removed: 'a' -> 'b'; edges added: 'b' -> 'a'."),
        (
            chain(A, B, a_b=is_big),
            chain(A, B, a_b=is_huge),
            "edges changed: 'a' -> 'b' (condition 'is_big', now 'is_huge').",
        ),
        (chain(A, B), chain(A, B, a_b=is_big), "edges changed: 'a' -> 'b' (condition none, now 'is_big')."),
    ],
)
def test_what_differs_is_told(run: Callable[[], Workflow], worker: Callable[[], Workflow], told: str) -> None:
    assert difference(run, worker) == told


def fan_out(*groups: list[str], selection: Any = None) -> Callable[[], Workflow]:
    def build() -> Workflow:
        start = Add("start")
        targets = {key: Report(key) for group in groups for key in group}
        builder = WorkflowBuilder(name="made", start_executor=start)
        for group in groups:
            ends = [targets[key] for key in group]
            if selection is not None:
                builder.add_multi_selection_edge_group(start, ends, selection)
            elif len(ends) == 1:
                builder.add_edge(start, ends[0])
            else:
                builder.add_fan_out_edges(start, ends)
        return builder.build()

    return build


def choose(_value: Any, ids: list[str]) -> list[str]:
    return ids[:1]


def pick(_value: Any, ids: list[str]) -> list[str]:
    return ids[1:]


def test_a_selection_function_of_another_name_is_told() -> None:
    told = difference(fan_out(["a", "b"], selection=choose), fan_out(["a", "b"], selection=pick))
    assert told == (
        "edges changed: 'start' -> 'a' (selection 'choose', now 'pick'), 'start' -> 'b' (selection 'choose', now "
        "'pick')."
    )


def test_edges_that_are_grouped_otherwise_are_told() -> None:
    told = difference(fan_out(["a", "b"], ["c", "d"]), fan_out(["a", "c"], ["b", "d"]))

    assert told.startswith("edges changed: ")
    assert "'start' -> 'a' (grouped with other edges now)" in told


def test_an_edge_added_to_a_group_is_told_once() -> None:
    assert difference(fan_out(["a", "b"]), fan_out(["a", "b", "c"])) == (
        "executors added: 'c'; edges added: 'start' -> 'c'."
    )


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_change_in_a_sub_workflow_is_told_with_its_place(depth: int) -> None:
    run, worker = (described(nested(depth, *inner)) for inner in ([A, B], [A, ("c", Add)]))
    place = "/".join(f"wrap{level}" for level in range(1, depth + 1))

    assert run.signature != worker.signature  # MAF's signature has those of the sub-workflows
    assert graph_changes.difference(run, worker) == (
        f"In sub-workflow '{place}': executors removed: 'b'; executors added: 'c'; edges removed: 'a' -> 'b'; "
        "edges added: 'a' -> 'c'."
    )


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_signature_of_a_run_has_that_of_every_level(depth: int) -> None:
    plain, other = (described(nested(depth, *inner)) for inner in ([A, B], [A, ("b", Sub)]))

    while plain.children:
        assert plain.signature != other.signature
        [key] = plain.children
        plain, other = plain.children[key], other.children[key]
    assert plain.signature != other.signature


def test_an_executor_that_wraps_a_sub_workflow_on_one_side_only_is_told() -> None:
    def plain() -> Workflow:
        return WorkflowBuilder(name="made", start_executor=Through(id="wrap1")).build()

    assert "executors with a sub-workflow on one side only: 'wrap1' (which wrapped none)" in difference(
        plain, nested(1, A)
    )


# --- what was not recorded ----------------------------------------------------------------------------------


def of_an_earlier_release(graph: wire.Graph, *, edges: bool = True) -> wire.Graph:
    children = {key: of_an_earlier_release(child, edges=edges) for key, child in graph.children.items()}
    return wire.replace(graph, classes={}, groups=[], children=children, edges=graph.edges if edges else [])


def test_what_an_earlier_release_did_not_record_is_not_told_as_a_difference() -> None:
    run, worker = described(chain(A, B)), described(chain(A, ("b", Sub)))

    told = graph_changes.difference(of_an_earlier_release(run), worker)

    assert told == (
        "What these are made of is the same, as far as it is recorded. Not compared: how edges are grouped and "
        "executors' classes."
    )


def test_a_run_without_recorded_edges_is_told_no_edges() -> None:
    run, worker = described(chain(A, B)), described(chain(A, B, C))

    told = graph_changes.difference(of_an_earlier_release(run, edges=False), worker)

    assert told == "executors added: 'c'. Not compared: edges and executors' classes."


def test_a_checkpoint_tells_executors_of_every_level() -> None:
    run, worker = described(nested(2, A, B)), described(nested(2, A, C))
    manifest = wire.Manifest(
        header=wire.CheckpointHeader(checkpoint_id="c", iteration=0, timestamp="t", kind="entry"),
        workflow_name="made",
        workflow_id="w",
        graph_signature=run.signature,
        executor_ids=run.executors,
        outlines={
            "wrap1": _outline(run.children["wrap1"]),
            "wrap1/wrap2": _outline(run.children["wrap1"].children["wrap2"]),
        },
    )

    assert graph_changes.difference(graph_changes.graph_of(manifest), worker) == (
        "In sub-workflow 'wrap1/wrap2': executors removed: 'b'; executors added: 'c'. Not compared: edges and "
        "executors' classes."
    )


def _outline(graph: wire.Graph) -> wire.Outline:
    return wire.Outline(workflow_name=graph.name, graph_signature=graph.signature, executor_ids=graph.executors)


# --- bounds -------------------------------------------------------------------------------------------------


def big(executors: int, length: int = 8) -> wire.Graph:
    ids = [f"{place:0{length}}" for place in range(executors)]
    edges = [wire.GraphEdge(source=ids[0], target=one, kind="FanOutEdgeGroup") for one in ids[1:]]
    return wire.Graph(
        name="big",
        signature=f"{executors} of {length}",
        start_executor_id=ids[0],
        executors=ids,
        max_iterations=9,
        edges=edges,
        groups=[wire.EdgeGroup(size=len(edges))],
        classes={"app.Big": ids},
    )


def test_many_differences_are_counted_and_not_listed() -> None:
    told = graph_changes.difference(big(3), big(2000))

    assert "and 1992 more" in told
    assert len(told) <= graph_changes.MAX_LENGTH


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 4000), st.integers(1, 4000))
def test_words_are_bounded_whatever_the_graphs_are(few: int, many: int, short: int, long: int) -> None:
    assert len(graph_changes.difference(big(few, short), big(many, long))) <= graph_changes.MAX_LENGTH


def size(details: list[Any]) -> int:
    return sum(len(wire.to_bytes(one)) for one in details)


def test_a_worker_tells_its_whole_graph_while_that_is_small() -> None:
    run, worker = described(nested(2, A, B)), described(nested(2, A, ("b", Sub)))

    assert graph_changes.told(run, graph_changes.details(worker)) == graph_changes.difference(run, worker)


def test_a_large_graph_is_told_without_edges_and_a_huge_one_not_at_all() -> None:
    large, huge = graph_changes.details(big(400)), graph_changes.details(big(20_000))

    assert size(large) <= graph_changes.MAX_DETAILS
    assert graph_changes.told(big(399), large) == "executors added: '00000399'. Not compared: edges."
    assert huge == []
    assert graph_changes.told(big(3), huge) == "The worker does not tell what differs."


@pytest.mark.parametrize("attached", [["text"], [{"v": 99}], [None], [{"v": 1, "error_type": "ValueError"}]])
def test_details_that_cannot_be_read_say_no_more_than_that(attached: list[Any]) -> None:
    assert graph_changes.told(big(3), attached) == "The worker does not tell what differs."


def test_of_a_graph_that_tells_no_edges_none_are_told_even_if_it_has_one_executor() -> None:
    run = of_an_earlier_release(described(chain(A)))
    assert graph_changes.difference(run, described(chain(A, B))) == (
        "executors added: 'b'. Not compared: edges and executors' classes."
    )
