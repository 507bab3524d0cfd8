"""Generated graphs, run by the engine with the real activities and by MAF's own runner, show the same.

Compared are outputs, events, status timeline, pending requests, state, errors and the whole checkpoint lineage.

Continuous integration draws a bounded number of graphs of each shape, always the same. `GENERATED=<number>` draws that
many of each, other ones each time:

    GENERATED=5000 python -m pytest tests/unit/engine/test_generated.py -k people

A failing example prints as code, made as small as can be when it is found this way: paste it into `FOUND`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from temporal_adapter.testing.difference import difference_of
from tests.support.generated.building import build, script
from tests.support.generated.reference import reference
from tests.support.generated.spec import Ask, Edge, Fail, FanIn, FanOut, Graph, Node, Play, Round, Send, Sub, Yield
from tests.support.generated.strategies import SHAPES, cases

from .inprocess import run_by_engine

SOAK = int(os.environ.get("GENERATED", "0"))
_SETTINGS = settings(
    max_examples=SOAK or 14,
    derandomize=not SOAK,
    phases=[Phase.generate, Phase.shrink] if SOAK else [Phase.generate],
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def _few_words() -> Iterator[None]:
    """MAF warns of every loop, and of requests that sub-workflows have open."""
    logger = logging.getLogger("agent_framework")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_generated_graph_does_by_the_engine_what_it_does_by_mafs_runner(shape: str) -> None:
    @_SETTINGS
    @given(case=cases(shape), seed=st.integers(0, 2**16))
    def same(case: tuple[Graph, Play], seed: int) -> None:
        graph, play = case
        found = asyncio.run(difference(graph, play, seed))
        assert found is None, found

    same()


# What drawing has found, in this repository or in its reference, made small.
FOUND = {
    "an output before a failure": (Graph(nodes=(Node("a", does=(Yield("token"), Fail())),)), Play(fuel=0)),
    "a fan-in that holds messages of three sources": (
        Graph(
            nodes=(*(Node(id, does=(Send(),)) for id in "abcd"), Node("e", does=(Yield("token"),))),
            edges=(FanOut("a", ("b", "d")), Edge("b", "c"), FanIn(("a", "d", "b", "c"), "e")),
        ),
        Play(fuel=100),
    ),
    "a fan-in that is given more by a loop": (
        Graph(
            nodes=(*(Node(id, does=(Send(),)) for id in "ab"), *(Node(id, does=(Yield("token"),)) for id in "cd")),
            edges=(FanOut("a", ("b", "d")), FanIn(("a", "b"), "c"), Edge("a", "a")),
        ),
        Play(fuel=100),
    ),
    "siblings in a sub-workflow that ask at the same time": (
        Graph(
            nodes=(
                Sub(
                    "a",
                    Graph(
                        nodes=(Node("aa", does=(Send(),)), *(Node(id, does=(Ask(),)) for id in ("ab", "ac"))),
                        edges=(FanOut("aa", ("ac", "ab")),),
                        name="a",
                    ),
                    propagates=True,
                ),
            )
        ),
        Play(fuel=30, rounds=(Round((0,)), Round((0,)))),
    ),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("seed", range(3))
async def test_what_drawing_has_found_stays_mended(name: str, seed: int) -> None:
    found = await difference(*FOUND[name], seed)
    assert found is None, found


async def difference(graph: Graph, play: Play, seed: int = 0) -> str | None:
    """Return the first difference between the two runs.

    `seed` decides who finishes first on the engine's side, and whether the run goes on as other Temporal runs.
    """
    expected = await reference(graph, play)
    actual = await run_by_engine(lambda: build(graph), script(play), Random(seed), leaving=(0.0, 1.0, 0.4)[seed % 3])
    return difference_of(expected, actual)
