"""Runs and open requests of a whole namespace: what an inbox shows. Single runs are `run`'s.

A run that went on as new Temporal runs is listed once, as the last of these.

Runs come from Temporal's visibility, so a run is here a moment after it started. Requests come from the runs
themselves, by query, since only they know: a run whose workers are away is named, and not left out in silence.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Literal

from temporalio.client import Client, WorkflowExecution
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter import wire
from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE

from .asking import AdapterRun, Asking, Query, Unanswered, each
from .kinds import Kinds
from .links import started_at

__all__ = ["AdapterRun", "Listing", "OpenRequest", "Unanswered", "adapter_runs", "open_requests", "states_of"]

RunState = Literal["open", "closed"]

_PENDING_REQUESTS = SearchAttributeKey.for_int(PENDING_REQUESTS_ATTRIBUTE)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request that waits for a response, with the run that asks.

    Attributes:
        workflow_id: Of the run.
        run_id: Of the run.
        workflow_name: Of the run.
        task_queue: Of the run.
        started_at: When the run started, in UTC.
        request: In plain JSON.
    """

    workflow_id: str
    run_id: str
    workflow_name: str
    task_queue: str
    started_at: datetime
    request: wire.PendingRequest

    @property
    def asked_at(self) -> datetime:
        """When it was asked, in UTC; when its run started, if the request does not know."""
        try:
            asked = datetime.fromisoformat(self.request.asked_at or "")
        except ValueError:  # absent
            return self.started_at
        return asked if asked.tzinfo else asked.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Listing:
    """Open requests of many runs.

    Attributes:
        requests: The newest first.
        unanswered: Runs that could not be asked, the newest first.
        more: How many requests there are beyond the limit.
    """

    requests: list[OpenRequest]
    unanswered: list[Unanswered]
    more: int = 0


async def adapter_runs(
    client: Client,
    *,
    workflow_name: str | None = None,
    task_queue: str | None = None,
    state: RunState | None = None,
    limit: int | None = None,
) -> list[AdapterRun]:
    """Return runs of the adapter's workflows, the newest first. Workflows of others in the namespace are left out.

    Args:
        client: A Temporal client. It needs neither plugin nor code of the workflows.
        workflow_name: Only of this workflow.
        task_queue: Only of this task queue.
        state: Only open ones, or closed ones.
        limit: At most so many.

    Raises:
        temporalio.service.RPCError: The server refuses.
    """
    conditions = _conditions(workflow_name, task_queue, state)
    listed = [one async for one in _listed(client, conditions, workflow_name, limit)]
    began = await each(lambda one: started_at(client, one), listed)
    return [replace(_run(one), started_at=at) for one, at in zip(listed, began, strict=True)]


async def open_requests(
    client: Client,
    *,
    workflow_name: str | None = None,
    task_queue: str | None = None,
    older_than: timedelta | None = None,
    limit: int | None = None,
) -> Listing:
    """Return the requests of all open runs that wait for a response, the newest first.

    Where the namespace has the search attribute `AgentFrameworkPendingRequests`, runs that keep it are asked only if
    they have requests; without it, every open run is.

    Args:
        client: A Temporal client. It needs neither plugin nor code of the workflows.
        workflow_name: Only of this workflow.
        task_queue: Only of this task queue.
        older_than: Only what has waited so long at least.
        limit: At most so many.

    Raises:
        temporalio.service.RPCError: The server refuses.
    """
    conditions = _conditions(workflow_name, task_queue, "open")
    some = f"({PENDING_REQUESTS_ATTRIBUTE} > 0 OR {PENDING_REQUESTS_ATTRIBUTE} IS NULL)"
    try:
        runs = [_run(one) async for one in _listed(client, [*conditions, some], workflow_name, None, sure=True)]
    except RPCError as error:
        if error.status is not RPCStatusCode.INVALID_ARGUMENT:
            raise
        # The server has no such attribute.
        runs = [_run(one) async for one in _listed(client, conditions, workflow_name, None, sure=True)]
    asking = Asking(client)
    answers = await each(lambda run: asking.ask(run, _requests), runs)
    latest = None if older_than is None else datetime.now(timezone.utc) - older_than
    requests = [
        one
        for run, answer in zip(runs, answers, strict=True)
        if isinstance(answer, list)
        for one in _open_requests(run, answer)
        if latest is None or one.asked_at <= latest
    ]
    requests.sort(key=lambda one: one.asked_at, reverse=True)
    shown = requests[:limit]
    unanswered = [answer for answer in answers if isinstance(answer, Unanswered)]
    return Listing(shown, unanswered, more=len(requests) - len(shown))


async def states_of(client: Client, runs: Sequence[AdapterRun]) -> list[wire.RunStatus | Unanswered | None]:
    """Return where runs stand, in their order; None for those that are over, which Temporal's own status tells.

    Args:
        client: A Temporal client.
        runs: Of `adapter_runs`.
    """
    asking = Asking(client)

    async def state_of(run: AdapterRun) -> wire.RunStatus | Unanswered | None:
        return None if run.closed_at is not None else await asking.ask(run, _status)

    return await each(state_of, runs)


async def _status(query: Query) -> wire.RunStatus:
    return wire.load(wire.RunStatus, await query("status"))


async def _requests(query: Query) -> list[wire.PendingRequest]:
    found: list[wire.PendingRequest] = []
    while page := await query("pending_requests", len(found)):
        found += [wire.load(wire.PendingRequest, request) for request in page]
    return found


def _open_requests(run: AdapterRun, requests: Iterable[wire.PendingRequest]) -> list[OpenRequest]:
    about = (run.workflow_id, run.run_id, run.workflow_name, run.task_queue, run.started_at)
    return [OpenRequest(*about, request) for request in requests]


# --- visibility ---------------------------------------------------------------------------------------------


def _conditions(workflow_name: str | None, task_queue: str | None, state: RunState | None) -> list[str]:
    conditions: list[str] = []
    if state != "open":
        conditions.append("ExecutionStatus != 'ContinuedAsNew'")
    if state is not None:
        conditions.append(f"ExecutionStatus {'=' if state == 'open' else '!='} 'Running'")
    # Servers differ in how they read a backslash, so a name with one is only compared here.
    if workflow_name is not None and "\\" not in workflow_name:
        conditions.append(f"WorkflowType = {_quoted(workflow_name)}")
    if task_queue is not None:
        conditions.append(f"TaskQueue = {_quoted(task_queue)}")
    return conditions


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


async def _listed(
    client: Client, conditions: list[str], workflow_name: str | None, limit: int | None, *, sure: bool = False
) -> AsyncIterator[WorkflowExecution]:
    """Yield the adapter's runs; without those that no worker was at yet, where it must be sure."""
    kinds, found = Kinds(client), 0
    async for listed in client.list_workflows(" AND ".join(conditions) or None):
        if found == limit:
            return
        if workflow_name not in (None, listed.workflow_type):
            continue
        ours = await kinds.is_ours(listed.workflow_type, listed.id, listed.run_id)
        if ours or (ours is None and not sure):
            found += 1
            yield listed


def _run(listed: WorkflowExecution) -> AdapterRun:
    return AdapterRun(
        workflow_id=listed.id,
        run_id=listed.run_id,
        workflow_name=listed.workflow_type,
        task_queue=listed.task_queue,
        status="UNKNOWN" if listed.status is None else listed.status.name,
        started_at=listed.start_time,
        closed_at=listed.close_time,
        pending_requests=listed.typed_search_attributes.get(_PENDING_REQUESTS),
    )
