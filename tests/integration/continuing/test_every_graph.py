"""A run that goes on as a new Temporal run at every chance shows what it shows in-process, and its links replay."""

from __future__ import annotations

import pytest
from temporalio.client import Client

from temporal_adapter import calls, continuation
from temporal_adapter.host import context
from tests.support.differential import difference_of, run_in_process, run_on_temporal
from tests.support.graphs import GRAPHS
from tests.support.links import links_of, replay_failures

EACH_CHANCE = 1


@pytest.fixture(params=["carried along", "through the blob store"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How what is carried over gets to the next link, and what is large to the adapter's own activities."""
    monkeypatch.setattr(context, "DEFAULT_CONTINUES_AFTER", EACH_CHANCE)
    monkeypatch.setattr(continuation, "_OPENING", 0)
    monkeypatch.setattr(continuation, "_PER_PART", 0)
    if request.param == "through the blob store":
        monkeypatch.setattr(continuation, "_TAIL_BYTES", 0)
        monkeypatch.setattr(continuation, "_CARRIED_BYTES", 0)
        monkeypatch.setattr(continuation, "_PAGE_BYTES", 700)
        monkeypatch.setattr(calls, "_PART_BYTES", 700)
        monkeypatch.setattr(calls, "_LARGEST", 300)
    return str(request.param)


@pytest.mark.parametrize("name", GRAPHS)
async def test_a_run_of_many_links_is_as_one_in_process(
    client: Client, task_queue: str, transport: str, name: str
) -> None:
    graph = GRAPHS[name]

    observed = await run_on_temporal(client, graph.build, graph.message, graph.answers, id=task_queue)

    in_process = await run_in_process(graph.build, graph.message, graph.answers)
    assert difference_of(in_process, observed) is None
    links = await links_of(client, task_queue)
    supersteps = max((event.iteration or 0 for event in observed.events), default=0)
    assert len(links) > supersteps / 2  # a run that is answered while it is about to leave goes on first
    assert await replay_failures(links) == []
