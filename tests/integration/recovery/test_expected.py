"""What a run's checkpoints are follows from its history alone: for each graph, what the run had written to the store."""

from __future__ import annotations

import pytest
from temporalio.client import Client

from temporal_adapter import BlobStore
from tests.support.differential import run_on_temporal
from tests.support.graphs import GRAPHS, Graph
from tests.support.nested import NESTED
from tests.support.recovering import assert_store_has, from_history


@pytest.mark.parametrize(
    "graph", [pytest.param(graph, id=name) for graphs in (GRAPHS, NESTED) for name, graph in graphs.items()]
)
async def test_a_runs_history_says_what_its_checkpoints_are(client: Client, task_queue: str, graph: Graph) -> None:
    store = BlobStore("memory://")
    observed = await run_on_temporal(client, graph.build, graph.message, graph.answers, id=task_queue, store=store)

    wanted = await from_history(client, task_queue)

    assert len(wanted.checkpoints) == len(observed.checkpoints) > 0
    assert not wanted.unknown
    await assert_store_has(client, store, wanted)
