"""A run by its workflow id, as Temporal knows it, and the errors of asking it anything."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.common import QueryRejectCondition
from temporalio.service import RPCError

from temporal_adapter.cli.resting import explained
from temporal_adapter.cli.running import CliError, ExitCode
from temporal_adapter.client import DurableRun, DurableWorkflow
from temporal_adapter.client.links import started_at
from temporal_adapter.client.taken_up import once_taken_up
from temporal_adapter.client.task_queues import pollers

_ANSWER_TIMEOUT = timedelta(seconds=10)
_LOOK_SECONDS = 0.1  # between looks whether a run that goes on as a new Temporal run has what it carries


@dataclass(frozen=True)
class Found:
    """A run that Temporal has.

    Attributes:
        client: Of the server that has it.
        run: As the client sees it.
        description: As Temporal describes it; of a run that went on as new Temporal runs, the last of these.
        started_at: When the run began, in UTC.
    """

    client: Client
    run: DurableRun
    description: WorkflowExecutionDescription
    started_at: datetime

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.description.status is WorkflowExecutionStatus.RUNNING

    @property
    def status(self) -> str:
        """Temporal's status, such as `COMPLETED`."""
        return "UNKNOWN" if self.description.status is None else self.description.status.name


async def found(client: Client, workflow_id: str) -> Found:
    """Return the last run of a workflow id.

    Raises:
        CliError: There is none.
    """
    handle = client.get_workflow_handle(workflow_id)
    probe = DurableWorkflow(client, "", task_queue="").get_run(workflow_id)
    async with explained():
        with probe.explained():
            description = await handle.describe()
            began = await started_at(client, description)
    durable = DurableWorkflow(client, description.workflow_type, task_queue=description.task_queue)
    return Found(client, durable.get_run(workflow_id), description, began)


async def refreshed(one: Found) -> Found:
    """Return the run as Temporal describes it now."""
    return dataclasses.replace(one, description=await one.run.handle.describe())


async def query(one: Found, name: str, *args: Any) -> Any:
    """Return what a run answers to a query, whether it is open or over; within `asked`."""

    async def ask() -> Any:
        with one.run.explained():
            asking = one.run.handle.query(
                name, args=args, reject_condition=QueryRejectCondition.NONE, rpc_timeout=_ANSWER_TIMEOUT
            )
            return await one.run.unless_stuck(asking)

    return await once_taken_up(ask, _LOOK_SECONDS, _ANSWER_TIMEOUT.total_seconds())


async def is_served(one: Found) -> bool:
    """Whether workers ask the run's task queue for work, as far as the server tells."""
    try:
        return bool(await pollers(one.client, one.description.task_queue))
    except RPCError:  # who may not ask this may still ask the run
        return True


async def check_served(one: Found, otherwise: str = "") -> None:
    """See that somebody can answer for a run: else a query would wait for its timeout, and an update for ever.

    Raises:
        CliError: No worker serves its task queue; says what to do, and what could be done otherwise.
    """
    queue = one.description.task_queue
    if not await is_served(one):
        raise CliError(
            ExitCode.UNREACHABLE,
            f"no worker serves task queue {queue!r} of run {one.run.id!r}, which can only say with one how it stands. "
            f"Start one: `python -m workers --task-queue {queue} ...`. {otherwise}",
        )


@contextlib.asynccontextmanager
async def asked(one: Found) -> AsyncGenerator[None, None]:
    """Turn what a query or update of a run raises into errors that end the command."""
    try:
        async with explained():
            yield
    except (WorkflowQueryFailedError, WorkflowUpdateFailedError) as error:
        kind = one.description.workflow_type
        raise CliError(
            ExitCode.FINDING,
            f"the run {one.run.id!r}, of workflow {kind!r}, cannot answer: {error.__cause__ or error}. Is it a "
            "workflow of the Agent Framework, and are its workers of this release?",
        ) from error
