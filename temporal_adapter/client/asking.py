"""Asking many runs at once, each by a query: what only they know. Runs that cannot answer are named, not left out.

Which runs there are is `listing`'s affair. Nothing is changed by what is here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from temporalio.api.enums.v1 import EventType
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
)
from temporalio.common import QueryRejectCondition
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter import wire

from .errors import NoWorker, RunNotFound, UnknownWorkflow, explained, known_workflows, says_not_registered
from .taken_up import once_taken_up
from .task_queues import pollers
from .workflow import DurableWorkflow

_AT_ONCE = 16  # runs that are asked at the same time
_ANSWER_TIMEOUT = timedelta(seconds=10)
_LOOK_SECONDS = 0.1  # between looks whether a run that goes on as a new Temporal run has what it carries
_GIVE_UP_AFTER = 3  # runs of a task queue that nobody answered for, and none that somebody did

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

Query = Callable[..., Awaitable[Any]]
"""Asks one run: the query's name and arguments in, its answer out."""


@dataclass(frozen=True, slots=True)
class AdapterRun:
    """A run as Temporal lists it; of one that went on as new Temporal runs, the last of these.

    Attributes:
        workflow_id: Temporal's.
        run_id: Temporal's.
        workflow_name: Of the MAF workflow.
        task_queue: Whose workers run it.
        status: Temporal's: `RUNNING`, `COMPLETED`, `FAILED`, `CANCELED`, `TERMINATED` or `TIMED_OUT`.
        started_at: Of the whole run, in UTC.
        closed_at: In UTC; None of an open run.
        pending_requests: How many requests wait, where the workers keep the search attribute; None where not.
    """

    workflow_id: str
    run_id: str
    workflow_name: str
    task_queue: str
    status: str
    started_at: datetime
    closed_at: datetime | None = None
    pending_requests: int | None = None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """An open run that may have requests, and that could not be asked.

    Attributes:
        workflow_id: Of the run.
        reason: Why, for people.
    """

    workflow_id: str
    reason: str


async def each(function: Callable[[ItemT], Awaitable[ResultT]], items: Iterable[ItemT]) -> list[ResultT]:
    """Return the results of calls that ask runs, in the order of the items; a bounded number at once."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(item: ItemT) -> ResultT:
        async with turns:
            return await function(item)

    return list(await asyncio.gather(*map(one, items)))


class Asking:
    """Asks runs; knows which task queues have nobody to answer, so that not every run is waited for.

    Args:
        client: A Temporal client.
        only_open: Whether runs that are over are not to be asked.
    """

    def __init__(self, client: Client, *, only_open: bool = True) -> None:
        self._client = client
        self._rejected = QueryRejectCondition.NOT_OPEN if only_open else QueryRejectCondition.NONE
        self._served: dict[str, asyncio.Future[bool]] = {}
        self._silent: dict[str, int] = {}  # by task queue, how many runs nobody answered for
        self._answering: set[str] = set()

    async def ask(
        self, run: AdapterRun, question: Callable[[Query], Awaitable[ResultT]]
    ) -> ResultT | Unanswered | None:
        """Return what a run answers; or why it does not; or None if it has ended meanwhile.

        Args:
            run: The run.
            question: Makes the queries.
        """
        queue = run.task_queue
        if not await self._is_served(queue) or self._silent.get(queue, 0) >= _GIVE_UP_AFTER:
            return Unanswered(run.workflow_id, f"no worker serves its task queue {queue!r}")
        try:
            with explained(run.workflow_id, run.workflow_name, queue):
                answer = await question(self._query_of(run))
        except (RunNotFound, WorkflowQueryRejectedError):
            return None
        except NoWorker as error:
            return Unanswered(run.workflow_id, await self._why_not(run, error.__cause__))
        except UnknownWorkflow as error:
            return Unanswered(run.workflow_id, _unknown(run, error.known))
        except (WorkflowQueryFailedError, wire.WireError) as error:
            return Unanswered(run.workflow_id, f"it could not say: {error}")
        self._answering.add(queue)
        return answer

    async def _why_not(self, run: AdapterRun, cause: BaseException | None) -> str:
        """Return why nobody answered: workers that cannot take the run up do not, although they are there."""
        queue = run.task_queue
        if isinstance(cause, RPCError) and cause.status is RPCStatusCode.FAILED_PRECONDITION:
            failure = await self._failed_task(run)
            if says_not_registered(failure):
                return _unknown(run, known_workflows(failure))
            return f"the workers of task queue {queue!r} cannot take it up: {failure or cause.message}"
        if queue not in self._answering:
            self._silent[queue] = self._silent.get(queue, 0) + 1
        return f"no worker of task queue {queue!r} answered within {_ANSWER_TIMEOUT.total_seconds():.0f} s"

    async def _failed_task(self, run: AdapterRun) -> str:
        """Return what the last workflow task of a run failed with that did."""
        message = ""
        async for event in self._client.get_workflow_handle(run.workflow_id, run_id=run.run_id).fetch_history_events():
            if event.event_type is EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                message = event.workflow_task_failed_event_attributes.failure.message
        return message

    def _query_of(self, run: AdapterRun) -> Query:
        durable = DurableWorkflow(self._client, run.workflow_name, task_queue=run.task_queue).get_run(run.workflow_id)
        # The SDK's overloads leave this one partly untyped.
        handle = cast("Any", self._client.get_workflow_handle(run.workflow_id, run_id=run.run_id))

        async def query(name: str, *args: Any) -> Any:
            async def ask() -> Any:
                nonlocal handle
                while True:
                    asking = handle.query(name, args=args, reject_condition=self._rejected, rpc_timeout=_ANSWER_TIMEOUT)
                    try:
                        return await durable.unless_stuck(asking)
                    except WorkflowQueryRejectedError as error:
                        if error.status is not WorkflowExecutionStatus.CONTINUED_AS_NEW:
                            raise
                    handle = cast("Any", self._client.get_workflow_handle(run.workflow_id))  # it went on since

            return await once_taken_up(ask, _LOOK_SECONDS, _ANSWER_TIMEOUT.total_seconds())

        return query

    async def _is_served(self, task_queue: str) -> bool:
        if task_queue not in self._served:
            self._served[task_queue] = asyncio.ensure_future(self._look(task_queue))
        return await self._served[task_queue]

    async def _look(self, task_queue: str) -> bool:
        try:
            return bool(await pollers(self._client, task_queue))
        except RPCError:  # who may not ask this may still ask the runs
            return True


def _unknown(run: AdapterRun, known: str) -> str:
    return f"the workers of task queue {run.task_queue!r} have no workflow {run.workflow_name!r}{known}"
