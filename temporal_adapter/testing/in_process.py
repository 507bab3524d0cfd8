"""The reference side: a graph run by MAF's own runner, with MAF's own checkpoint storage. Knows no Temporal."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from agent_framework import InMemoryCheckpointStorage, Workflow, WorkflowEvent

from temporal_adapter.maf import run_unstreamed

from .observed import Observed, lineage
from .script import Script


async def run_in_process(
    factory: Callable[[], Workflow], script: Script, *, storage: InMemoryCheckpointStorage | None = None
) -> Observed:
    """Run a graph with MAF's own runner; its checkpoints go to MAF's storage."""
    workflow, storage, seen = factory(), storage or InMemoryCheckpointStorage(), Observed()
    await _go_on(workflow, seen, storage, script, {"message": script.message, **script.kwargs()})
    seen.checkpoints = lineage(await storage.list_checkpoints(workflow_name=workflow.name))
    return seen


async def resume_in_process(
    factory: Callable[[], Workflow], storage: Any, checkpoint_id: str, script: Script
) -> Observed:
    """Resume a checkpoint of any storage with MAF's own runner; events of the rest of the run only."""
    seen = Observed()
    await _go_on(factory(), seen, storage, script, {"checkpoint_id": checkpoint_id})
    return seen


async def _go_on(workflow: Workflow, seen: Observed, storage: Any, script: Script, start: dict[str, Any]) -> None:
    if not script.stream:
        run_unstreamed(workflow)  # only a stream shows the events of a run that fails
    requests: dict[str, WorkflowEvent[Any]] = {}
    while True:
        try:
            async for event in workflow.run(checkpoint_storage=storage, stream=True, **start):
                # As it was shown: executors may change afterwards what they still hold, as AgentExecutor does its
                # conversation when Magentic resets it.
                seen.events.append(copy.deepcopy(event))
                if event.type == "request_info":
                    requests[event.request_id] = event
        except Exception as error:
            seen.error = (type(error).__name__, str(error))
            return
        if requests:
            seen.pauses.append(list(requests.values()))
        given = script.responses(list(requests.values()))
        if not given:
            return
        for request_id in given:
            del requests[request_id]
        start = {"responses": given}
