"""What MAF's own runner does with a generated workflow, also where MAF leaves the order open.

MAF delivers the messages of a superstep "in any order" where they come from different sources (`_runner.py`,
`_run_iteration`), and in fact in the order in which asyncio happens to schedule its tasks. The adapter delivers in one
fixed order, which is one of these. Where a run is *calm*, so that no order could show, the reference is MAF's runner as
it is. Otherwise it is MAF's runner with its deliveries in the fixed order: source by source, edge group by edge group,
message by message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable
from typing import Any
from unittest.mock import patch

from temporal_adapter.testing import Observed
from temporal_adapter.testing.in_process import run_in_process

from .building import build, script
from .spec import FanIn, Graph, Play, Sub

_GATHERERS = ("_runner", "_edge_runner", "_workflow_executor")


async def reference(graph: Graph, play: Play) -> Observed:
    """Return what a run shows in-process."""
    seen = await run_in_process(lambda: build(graph), script(play))
    return seen if is_calm(graph, seen) else await run_in_order(graph, play)


async def run_in_order(graph: Graph, play: Play) -> Observed:
    """Run with MAF's runner, its deliveries one after another."""
    patches = [
        patch(f"agent_framework._workflows.{module}.gather_cancelling_siblings_on_error", _one_after_another)
        for module in _GATHERERS
    ]
    for one in patches:
        one.start()
    try:
        return await run_in_process(lambda: build(graph), script(play))
    finally:
        for one in patches:
            one.stop()


async def _one_after_another(*awaitables: Any) -> list[Any]:
    results: list[Any] = []
    waiting: list[Awaitable[Any]] = list(awaitables)
    try:
        while waiting:
            results.append(await waiting.pop(0))
    finally:
        for one in waiting:
            one.close()  # type: ignore[attr-defined]
    return results


def is_calm(graph: Graph, seen: Observed) -> bool:
    """Whether every executor had at most one message a superstep, or with fan-ins a run, and sent at most one.

    What happens inside a sub-workflow cannot be seen.
    """
    if any(isinstance(node, Sub) for node in graph.nodes):
        return False
    joins = any(isinstance(edge, FanIn) for edge in graph.edges)
    invoked: Counter[str] = Counter()
    for event in seen.events:
        if event.type == "superstep_started" and not joins:
            invoked.clear()
        elif event.type == "executor_invoked":
            invoked[event.executor_id or ""] += 1
            if invoked[event.executor_id or ""] > 1:
                return False
        elif event.type == "executor_completed" and len(event.data or ()) > 1:
            return False
    return True
