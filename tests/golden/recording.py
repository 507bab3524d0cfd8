"""Plays scenarios on a Temporal server and takes their histories."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory

from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE
from tests.golden.scrubbing import IDENTITY, scrubbed
from tests.golden.stage import Scenario, Stage, until
from workers.dev_server import NAMESPACE, dev_server

_AT_ONCE = 6
_PATIENCE = 300.0  # with all that wait for their turn

_TASKS = {
    EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED: False,
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED: False,
    EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT: False,
    EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED: False,
    EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED: True,
}


@asynccontextmanager
async def recording_client() -> AsyncIterator[Client]:
    """A client, which tells nothing of this machine, of a server for as long as the block is open."""
    async with dev_server(arguments=["--search-attribute", f"{PENDING_REQUESTS_ATTRIBUTE}=Int"]) as server:
        yield await Client.connect(server.address, namespace=NAMESPACE, identity=IDENTITY)


async def record(
    client: Client, scenarios: Sequence[Scenario], *, max_cached_workflows: int = 1000
) -> dict[str, dict[str, Any]]:
    """Play scenarios, some at a time; return their histories (JSON, scrubbed) by file name without its ending.

    Raises:
        RuntimeError: Some could not be played; names them, and has the first error as its cause.
    """
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(scenario: Scenario) -> dict[str, dict[str, Any]]:
        async with free:
            stage = Stage(client, scenario.name, max_cached_workflows=max_cached_workflows)
            taken: dict[str, dict[str, Any]] = {}
            async for label, run in scenario.play(stage):
                links = await _links(client, run.id)
                for number, history in enumerate(links, 1):
                    parts = [stage.name, label.replace(" ", "-"), f"link-{number}" if len(links) > 1 else ""]
                    taken[".".join(part for part in parts if part)] = scrubbed(json.loads(history.to_json()))
            return taken

    # All are played to their ends, so that no worker outlives its server.
    played = await asyncio.gather(
        *(asyncio.wait_for(one(each), _PATIENCE) for each in scenarios), return_exceptions=True
    )
    recorded: dict[str, dict[str, Any]] = {}
    failed: dict[str, BaseException] = {}
    for scenario, outcome in zip(scenarios, played, strict=True):
        if isinstance(outcome, BaseException):
            failed[scenario.name] = outcome
        else:
            recorded.update(outcome)
    if failed:
        told = "; ".join(f"{name!r}: {type(error).__name__}: {error}" for name, error in failed.items())
        raise RuntimeError(f"scenarios could not be played: {told}") from next(iter(failed.values()))
    return recorded


async def _links(client: Client, workflow_id: str) -> list[WorkflowHistory]:
    """Return the histories of a run: one, or one for each time that it went on as a new one."""
    found = [await _at_rest(client, workflow_id, None)]
    while before := found[0].events[0].workflow_execution_started_event_attributes.continued_execution_run_id:
        found.insert(0, await _at_rest(client, workflow_id, before))
    return found


async def _at_rest(client: Client, workflow_id: str, run_id: str | None) -> WorkflowHistory:
    """Await until no workflow task is under way; return the history."""
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)

    async def at_rest() -> WorkflowHistory | None:
        history = await handle.fetch_history()
        tasks = [_TASKS[event.event_type] for event in history.events if event.event_type in _TASKS]
        rests = tasks and (tasks[-1] or (await handle.describe()).close_time is not None)
        return history if rests else None

    return await until(at_rest)
