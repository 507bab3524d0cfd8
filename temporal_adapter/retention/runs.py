"""What became of runs, as the server has it. Reads the server; knows nothing of the store's objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter.store.bounded import bounded_map

from .policy import RunState

_CALLS_AT_ONCE = 16

_STATES: dict[WorkflowExecutionStatus, RunState] = {
    WorkflowExecutionStatus.COMPLETED: "completed",
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.CONTINUED_AS_NEW: "completed",
    WorkflowExecutionStatus.TIMED_OUT: "timed-out",
}

Run = tuple[str, str]
"""Workflow id and run id."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the server has.

    Attributes:
        states: Of the runs that were asked for and that it has, and of all open ones of these workflows.
        workflow_ids: Those that it has any run of.
        chains: The first link, by its run id, of each run that was asked for: links of one run have the same.
        left: Those of these runs that went on as another.
    """

    states: dict[Run, RunState]
    workflow_ids: frozenset[str]
    chains: dict[Run, str] = field(default_factory=dict[Run, str])
    left: frozenset[Run] = frozenset()

    @property
    def open(self) -> list[Run]:
        """The runs that are open, sorted."""
        return sorted(run for run, state in self.states.items() if state == "open")


async def known_to(client: Client, runs: Iterable[Run], workflow_names: Iterable[str]) -> Known:
    """Return what the server has of runs, and which runs of these workflows are open.

    Each workflow id is asked for by itself too, since the list of open runs may be a little behind.

    Raises:
        temporalio.service.RPCError: The server cannot be asked.
    """
    wanted = sorted(set(runs))
    ids = sorted({workflow_id for workflow_id, _ in wanted if workflow_id})
    latest = await bounded_map(lambda id_: _described(client, id_), ids, _CALLS_AT_ONCE)
    found = {(one.id, one.run_id): one for one in latest if one is not None}
    there = frozenset(one.id for one in latest if one is not None)
    others = [run for run in wanted if run[0] in there and run[1] and run not in found]
    described = await bounded_map(lambda run: _described(client, *run), others, _CALLS_AT_ONCE)
    found.update({(one.id, one.run_id): one for one in described if one is not None})
    states: dict[Run, RunState] = {run: _state(one) for run, one in found.items()}
    for name in sorted(set(workflow_names)):
        quoted = name.replace("\\", "\\\\").replace("'", "''")
        async for one in client.list_workflows(f"WorkflowType = '{quoted}' AND CloseTime IS NULL"):
            # One that has ended meanwhile counts as open: its history is read, and it is pruned the next time.
            states.setdefault((one.id, one.run_id), "open")
    firsts = {run: one.raw_description.workflow_execution_info.first_run_id for run, one in found.items()}
    chains = {run: first for run, first in firsts.items() if first}
    left = {run for run, one in found.items() if one.status is WorkflowExecutionStatus.CONTINUED_AS_NEW}
    return Known(states, there, chains, frozenset(left))


async def _described(
    client: Client, workflow_id: str, run_id: str | None = None
) -> WorkflowExecutionDescription | None:
    try:
        return await client.get_workflow_handle(workflow_id, run_id=run_id).describe()
    except RPCError as error:
        # The second of ids that Temporal does not take, as checkpoints that were not made on Temporal may have.
        if error.status in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
            return None
        raise


def _state(described: WorkflowExecutionDescription) -> RunState:
    if described.close_time is None or described.status is None:  # running, or paused
        return "open"
    return _STATES.get(described.status, "open")
