"""Beginning runs at checkpoints: what a run that failed had been started with, and where it stood."""

from __future__ import annotations

from typing import Any

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus

from temporal_adapter import wire

from .errors import ResumeRefused

_WHY_NOT = {
    WorkflowExecutionStatus.RUNNING: "is open, and goes on by itself",
    WorkflowExecutionStatus.COMPLETED: "is completed, so that nothing is left to do",
}


def check_resumable(description: WorkflowExecutionDescription) -> None:
    """See that a run did not end well.

    Raises:
        ResumeRefused: It is open, or completed.
    """
    reason = None if description.status is None else _WHY_NOT.get(description.status)
    if reason is not None:
        raise ResumeRefused(
            f"The run {description.id!r} {reason}. `replay` and `fork` make another run from a checkpoint of it."
        )


async def options_of(client: Client, workflow_id: str, run_id: str) -> wire.StartOptions:
    """Return the options that a run was started with.

    Raises:
        temporalio.service.RPCError: Temporal does not have it.
    """
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    async for event in handle.fetch_history_events():
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        arguments: list[Any] = await client.data_converter.decode(payloads)
        return wire.parse_options(arguments[1] if len(arguments) > 1 else None)
    return wire.StartOptions()


def restored_at(options: wire.StartOptions) -> str | None:
    """Return where a run was to go on that was refused before it did: a resume of it is a resume of the run before."""
    restore = options.restore
    return restore.checkpoint_id if restore is not None and restore.verb in ("resume", "adopt") else None
