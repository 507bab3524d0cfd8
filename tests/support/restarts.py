"""Runs a MAF workflow on Temporal through the loss of workers, and holds the run to one in-process.

No activity sees a graph that another one used, and no worker sees the next stretch of the run: each is stopped while
the run is paused. The blob store, in memory, stands for one that all workers reach.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

from agent_framework import Workflow, WorkflowRunState
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun, pool
from temporal_adapter.values import to_plain_json

from .differential import Answers, Factory, Observed, difference_of, run_in_process
from .running import pending, serving


async def assert_survives_restarts(client: Client, factory: Factory, message: Any, *, answers: Answers) -> Observed:
    """Assert that a run that loses its worker at each pause does what one in-process does; return it.

    Args:
        client: A Temporal client without the plugin.
        factory: Builds the graph. Its executors must be deterministic.
        message: The input.
        answers: Answers requests; at the last pause it may return none, and the runs are compared up to there.

    Raises:
        AssertionError: They differ, there was no pause, or graphs were used twice.
    """
    in_process = await run_in_process(factory, message, answers)
    counted = _Counted(factory)
    with patch.object(pool, "_IDLE_GRAPHS", 0):
        on_temporal = await _run(client, counted, message, answers)
    difference = difference_of(in_process, on_temporal)
    assert difference is None, difference
    invoked = sum(event.type == "executor_invoked" for event in on_temporal.events)
    assert counted.built > invoked, "graphs were used twice"
    return on_temporal


class _Counted:
    """A factory that knows how many graphs it built."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory
        self.built = 0

    def __call__(self) -> Workflow:
        self.built += 1
        return self._factory()


async def _run(client: Client, factory: Factory, message: Any, answers: Answers) -> Observed:
    id = f"restarts-{uuid.uuid4().hex[:8]}"
    store, seen, name = BlobStore("memory://"), Observed(), factory().name
    async with serving(client, id, factory, store=store) as durable:
        run = await durable.start(message, id=id)
        paused = await _follow_to_pause(run, seen)
    assert paused, "the run did not pause"
    while paused and (given := answers(seen.pauses[-1])):
        async with serving(client, id, factory, store=store):
            await run.handle.execute_update("respond", _responses(given))
            paused = await _follow_to_pause(run, seen)
    await (run.handle.terminate("compared up to its pause") if paused else run.handle.result())
    storage = BlobCheckpointStorage(store, workflow=factory(), workflow_id=id)
    seen.checkpoints = await storage.list_checkpoints(workflow_name=name)
    return seen


def _responses(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"request_id": key, "response": to_plain_json(response)} for key, response in given.items()]


async def _follow_to_pause(run: DurableRun, seen: Observed) -> bool:
    """Collect events, and the requests, until the run pauses (True) or ends (False)."""
    async for event in run.events(len(seen.events)):
        seen.events.append(event)
        if event.type == "status" and event.state is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS:
            seen.pauses.append(await pending(run))
            return True
    return False
