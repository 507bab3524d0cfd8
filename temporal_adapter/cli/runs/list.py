"""`list`: runs of the adapter's workflows, the newest first, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import ServerOptions, command
from temporal_adapter.cli.running import ExitCode, tell
from temporal_adapter.cli.top import top

from .unanswered import tell_unanswered

if TYPE_CHECKING:
    from temporal_adapter.client.listing import AdapterRun, Unanswered

_LIMIT = 50


@command(top, "list")
async def list_runs(
    options: ServerOptions,
    workflow: Annotated[str | None, typer.Option(metavar="NAME", help="Only of the workflow of this name.")] = None,
    task_queue: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this task queue.")] = None,
    state: Annotated[
        Literal["open", "closed"] | None, typer.Option(show_default="both", help="Only runs that are open, or closed.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Only the N newest.")] = _LIMIT,
) -> ExitCode:
    """List runs and where they stand.

    The newest come first; other workflows of the namespace are left out. A run that has just started may take a second
    to come up. Open runs are asked where they stand; if nobody answers for one, that is told, and the exit code is 1.
    """
    client = await connected(options)
    from temporal_adapter.client.listing import Unanswered, adapter_runs, states_of

    runs = await adapter_runs(client, workflow_name=workflow, task_queue=task_queue, state=state, limit=limit + 1)
    runs, more = runs[:limit], len(runs) > limit
    states = await states_of(client, runs)
    if options.as_json:
        rows = [_json(run, one) for run, one in zip(runs, states, strict=True)]
        output.print_json({"namespace": client.namespace, "runs": rows, "more": more})
    elif not runs:
        tell(f"There are no such runs in namespace {client.namespace!r}.")
    else:
        _print(runs, states)
        if more:
            tell(f"There are more than {limit}: --limit shows them.")
    return tell_unanswered([one for one in states if isinstance(one, Unanswered)])


def _print(runs: Sequence[AdapterRun], states: Sequence[wire.RunStatus | Unanswered | None]) -> None:
    table = output.table("WORKFLOW ID", "WORKFLOW", "TASK QUEUE", "STATE", "SUPERSTEP", "PENDING", "STARTED", "ENDED")
    for run, one in zip(runs, states, strict=True):
        status = one if isinstance(one, wire.RunStatus) else None
        table.add_row(
            output.name(run.workflow_id, "bold"),
            output.name(run.workflow_name),
            output.name(run.task_queue),
            output.name(run.status if status is None else status.state),
            "" if status is None else str(status.iteration),
            "" if status is None else str(status.pending_requests),
            _moment(run.started_at),
            _moment(run.closed_at),
        )
    output.console().print(table)


def _moment(at: datetime | None) -> str:
    return "" if at is None else output.moment(at.isoformat())


def _json(run: AdapterRun, one: wire.RunStatus | Unanswered | None) -> dict[str, Any]:
    status = one if isinstance(one, wire.RunStatus) else None
    return {
        "workflow_id": run.workflow_id,
        "run_id": run.run_id,
        "workflow_name": run.workflow_name,
        "task_queue": run.task_queue,
        "status": run.status,
        "started_at": run.started_at.isoformat(),
        "closed_at": None if run.closed_at is None else run.closed_at.isoformat(),
        "state": None if status is None else status.state,
        "iteration": None if status is None else status.iteration,
        "pending_requests": None if status is None else status.pending_requests,
        "unanswered": None if one is None or isinstance(one, wire.RunStatus) else one.reason,
    }
