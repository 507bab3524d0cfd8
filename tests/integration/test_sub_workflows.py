"""A workflow within a workflow does on Temporal what it does in-process, executor by executor, at every depth."""

from __future__ import annotations

import pytest
from temporalio.client import Client

from tests.support.differential import assert_same
from tests.support.nested import NESTED


@pytest.mark.parametrize("name", NESTED)
async def test_a_nested_graph_does_the_same_on_temporal_as_in_process(client: Client, name: str) -> None:
    graph = NESTED[name]
    await assert_same(client, graph.build, graph.message, answers=graph.answers)
