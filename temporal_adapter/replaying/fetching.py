"""Histories from a server: those of the runs that a visibility query finds. Replaying them is not done here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from temporalio.client import Client, WorkflowExecution, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

_AHEAD = 8  # histories that are being fetched or wait to be replayed


@dataclass(frozen=True, slots=True)
class Found:
    """Runs that a query found.

    Attributes:
        runs: The newest first, as many as were asked for.
        more: Whether there are others, which were left out.
    """

    runs: list[WorkflowExecution]
    more: bool


async def find_runs(client: Client, query: str, limit: int) -> Found:
    """Return the runs that a visibility query finds.

    Raises:
        temporalio.service.RPCError: The server refuses the query, or does not answer.
    """
    found: list[WorkflowExecution] = []
    async for one in client.list_workflows(query, page_size=min(limit + 1, 1000)):
        if len(found) == limit:
            return Found(found, more=True)
        found.append(one)
    return Found(found, more=False)


async def histories_of(
    client: Client, runs: list[WorkflowExecution], gone: list[WorkflowExecution]
) -> AsyncGenerator[WorkflowHistory, None]:
    """Yield the histories of runs, in their order; some are fetched ahead.

    Args:
        client: Of the runs' namespace.
        runs: To fetch.
        gone: Gets the runs whose histories the server has deleted since it was asked for them.

    Raises:
        temporalio.service.RPCError: The server refuses, or does not answer.
    """
    waiting = list(reversed(runs))
    fetching: list[tuple[WorkflowExecution, asyncio.Task[WorkflowHistory]]] = []
    try:
        while waiting or fetching:
            while waiting and len(fetching) < _AHEAD:
                run = waiting.pop()
                handle = client.get_workflow_handle(run.id, run_id=run.run_id)
                fetching.append((run, asyncio.create_task(handle.fetch_history())))
            run, task = fetching.pop(0)
            try:
                history = await task
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                gone.append(run)
            else:
                yield history
    finally:
        for _, task in fetching:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, RPCError):
                await task
