"""A sample of generated graphs of each shape, on a real server: they do what MAF's own runner does.

`tests/unit/engine/test_generated.py` runs them by the hundred without a server, and says how to paste a failing one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest
from temporalio.client import Client

from temporal_adapter.testing import Observed
from temporal_adapter.testing.difference import difference_of
from temporal_adapter.testing.on_temporal import Serving, observe, worker
from tests.support.generated.building import build, script
from tests.support.generated.samples import sample
from tests.support.generated.spec import Graph, Play
from tests.support.generated.strategies import SHAPES

_OF_EACH_SHAPE = 3

Sample = dict[str, list[tuple[Graph, Play, Observed]]]


@pytest.fixture(scope="module")
async def samples() -> Sample:
    """The graphs, with what they do in-process."""
    return {shape: await sample(shape, _OF_EACH_SHAPE) for shape in SHAPES}


@pytest.fixture(scope="module")
async def serving(client: Client, samples: Sample) -> AsyncIterator[Serving]:
    """One worker that has all graphs."""
    graphs = [graph for cases in samples.values() for graph, _, _ in cases]
    async with worker(client, [partial(build, graph) for graph in graphs]) as running:
        yield running


@pytest.mark.parametrize("shape", SHAPES)
async def test_generated_graphs_do_on_temporal_what_they_do_in_process(
    serving: Serving, samples: Sample, shape: str
) -> None:
    cases = samples[shape]
    assert len(cases) == _OF_EACH_SHAPE

    seen = await asyncio.gather(*(observe(serving, partial(build, graph), script(play)) for graph, play, _ in cases))

    for (graph, play, expected), actual in zip(cases, seen, strict=True):
        difference = difference_of(expected, actual)
        assert difference is None, f"{difference}\n{graph}\n{play}"
