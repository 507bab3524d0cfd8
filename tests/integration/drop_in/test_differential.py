"""A drop-in does what the workflow does that it was made of: MAF's own runner is told from it by nothing it shows.

Both are driven by the same code, which takes a `Workflow` and knows no Temporal: streamed runs, answers by
`run(responses=...)`, checkpoints in a storage that is given with each run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from agent_framework import Workflow
from temporalio.client import Client

from temporal_adapter import durable
from temporal_adapter.testing import Script, in_process
from temporal_adapter.testing.difference import difference_of
from temporal_adapter.testing.on_temporal import Serving, worker
from tests.support.agents import saying, two_agents
from tests.support.graphs import GRAPHS, Graph, answer_all

NAMES = (
    "chain",
    "fan-in that waits a superstep",
    "loop without end",
    "typed message",
    "shared state with two writers",
    "executor state by hooks",
    "output designations",
    "custom events",
    "request, not answered",
    "two requests, answered together",
    "two requests, answered one by one",
)
CASES = {
    **{name: GRAPHS[name] for name in NAMES},
    "agents that answer word by word": Graph(two_agents(saying("a ", "b"), saying("c")), "write", answer_all),
}
BUILDS = {graph.build().name: graph.build for graph in CASES.values()}


@pytest.fixture(scope="module")
async def serving(client: Client) -> AsyncIterator[Serving]:
    async with worker(client, list(BUILDS.values())) as started:
        yield started


def on_temporal(serving: Serving, build: Callable[[], Workflow]) -> Callable[[], Workflow]:
    return lambda: durable(build(), serving.client, task_queue=serving.task_queue, checkpoint_store=serving.store)


@pytest.mark.parametrize("name", CASES)
async def test_a_drop_in_shows_what_the_workflow_shows(serving: Serving, name: str) -> None:
    graph = CASES[name]
    script = Script(graph.message, graph.answers, stream=True)
    expected = await in_process.run_in_process(graph.build, script)

    actual = await in_process.run_in_process(on_temporal(serving, graph.build), script)

    difference = difference_of(expected, actual)
    assert difference is None, difference
