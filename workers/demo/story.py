"""What the demo tells: a report that needs approval is started, followed, answered, and its traces are shown.

Servers, workers and keyboards are set up elsewhere; here is only what a user of `DurableWorkflow` would write, and how
it is shown.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from agent_framework import WorkflowEvent, WorkflowRunState
from rich.console import Console
from rich.table import Table
from temporalio.client import Client

from temporal_adapter import CheckpointInfo, DurableRun, DurableWorkflow
from workers.demo.ask import Interrupted
from workers.demo.progress import Progress
from workers.demo.shell import Afterwards, Shell, temporal
from workers.expense_approval import ApprovalRequest, Decision, ExpenseReport, Outcome, in_euros

WORKFLOW = "expense-approval"

REPORT = ExpenseReport.model_validate(
    {
        "employee": "Ada Lovelace",
        "purpose": "Analytical Engine conference, Turin",
        "items": [
            {"category": "travel", "amount": "412.60", "spent_on": "2025-09-01", "description": "Train, return"},
            {"category": "lodging", "amount": "600.00", "spent_on": "2025-09-02", "description": "Three nights"},
            {"category": "meals", "amount": "84.20", "spent_on": "2025-09-03", "receipt": False},
        ],
    }
)


@dataclass(frozen=True)
class Stage:
    """What the story needs, ready for use."""

    client: Client
    task_queue: str
    checkpoint_store: Path
    ui_url: str | None  # None: not known
    afterwards: Afterwards
    console: Console
    progress: Progress
    decide: Callable[[ApprovalRequest], Decision]


async def tell(stage: Stage) -> None:
    """Run the example from start to outcome.

    Raises:
        temporalio.client.WorkflowFailureError: The run failed.
        Interrupted: The person at the keyboard gave up.
    """
    workflow = DurableWorkflow(
        stage.client, WORKFLOW, task_queue=stage.task_queue, checkpoint_store=str(stage.checkpoint_store)
    )
    run = await workflow.start(REPORT, id=f"{WORKFLOW}-demo-{uuid4().hex[:8]}")
    _heading(stage, f"Started run {run.id}: {REPORT.employee}, {in_euros(REPORT.total())} for {REPORT.purpose}")
    _line(stage, f"Look at it in the Temporal UI: {_ui_page(stage, run)}")

    events = run.events()
    await _follow_until_idle(stage, events)
    responses: list[dict[str, Any]] = []
    for request in await run.pending_requests():
        _show_request(stage, request)
        try:
            response = stage.decide(request.data).model_dump(mode="json")
        except Interrupted:
            _show_stopped(stage, run)
            raise
        await run.handle.signal("respond", {"request_id": request.request_id, "response": response})
        _heading(stage, f"Answered by the signal `respond`: {json.dumps(response)}")
        responses.append(response)
    await _follow_until_idle(stage, events)

    result = await run.result()
    for outcome in result.get_outputs():
        _show_outcome(stage, outcome)
    _show_lineage(stage, await run.checkpoints())
    _show_commands(stage, run, responses)


async def _follow_until_idle(stage: Stage, events: AsyncIterator[WorkflowEvent[Any]]) -> None:
    """Show events until the run waits for people, or ends."""
    with stage.progress(stage.console) as show:
        async for event in events:
            show(event)
            if event.type == "status" and event.state is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS:
                return


# --- what is shown ------------------------------------------------------------------------------------------


def _heading(stage: Stage, text: str) -> None:
    stage.console.print(f"\n{text}", style="bold", markup=False, highlight=False, soft_wrap=True)


def _line(stage: Stage, text: str) -> None:
    stage.console.print(text, markup=False, highlight=False, soft_wrap=True)


def _table(stage: Stage, table: Table) -> None:
    if stage.console.is_terminal:
        stage.console.print(table)
        return
    with stage.console.capture() as captured:  # a table fills its cells with blanks, and files keep these
        stage.console.print(table)
    for line in captured.get().splitlines():
        _line(stage, line.rstrip())


def _show_request(stage: Stage, request: WorkflowEvent[Any]) -> None:
    data: ApprovalRequest = request.data
    _heading(stage, f"Request {request.request_id} of executor {request.source_executor_id} waits for a response")
    _fields(
        stage,
        {
            "employee": data.employee,
            "purpose": data.purpose,
            "total": in_euros(data.total),
            "reasons": "\n".join(data.reasons),
            "response": f"{Decision.__name__}: {', '.join(Decision.model_fields)}",
        },
    )


def _show_outcome(stage: Stage, outcome: Outcome) -> None:
    _heading(stage, f"Outcome: {outcome.status} by the {outcome.decided_by}, booked as {outcome.reference}")
    fields = {"employee": outcome.employee, "total": in_euros(outcome.total), "comment": outcome.comment}
    _fields(stage, {name: value for name, value in fields.items() if value})


def _fields(stage: Stage, fields: dict[str, str]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    for name, value in fields.items():
        table.add_row(name, value)
    _table(stage, table)


def _show_lineage(stage: Stage, checkpoints: list[CheckpointInfo]) -> None:
    _heading(stage, f"Checkpoint lineage, in {stage.checkpoint_store}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("kind", no_wrap=True, min_width=len("superstep"))
    table.add_column("iteration", no_wrap=True, min_width=len("iteration"), justify="right")
    table.add_column("id", no_wrap=True)  # on a narrow terminal, the ids are what is shortened
    table.add_column("parent", no_wrap=True)
    for one in checkpoints:
        table.add_row(one.kind, str(one.iteration), one.checkpoint_id, one.previous_checkpoint_id or "-")
    _table(stage, table)


def _ui_page(stage: Stage, run: DurableRun) -> str:
    page = f"/namespaces/{stage.client.namespace}/workflows/{run.id}/{run.handle.result_run_id}/history"
    if stage.ui_url is not None:
        return stage.ui_url + page
    return f"{page} (where a `temporal server start-dev` of yours serves it: http://localhost:8233)"


def _show_commands(stage: Stage, run: DurableRun, responses: list[Any]) -> None:
    shell = _shell(stage)
    again = f"{run.id}-again"
    commands = shell.run(again, WORKFLOW, REPORT.model_dump_json(), responses)
    _heading(stage, f"The same with Temporal's own command line, as run {again}")
    if stage.afterwards == "nothing stays":
        _line(
            stage,
            f"To read here, not to run: the server at {stage.client.service_client.config.target_host} stops now.",
        )
    elif stage.afterwards == "all stay":
        _line(stage, "In another terminal, in this folder, while the demo waits below.")
    else:
        _line(stage, "The demo's worker stops now. First start another, in a terminal of its own, in this folder:")
        _line(stage, f"  {shell.worker()}\nThen:")
    for command in commands:
        _line(stage, f"  {command}")
    if stage.afterwards == "nothing stays":
        _heading(stage, "To look around, keep the server")
        _line(stage, "  DEMO_INTERACTIVE=1 make demo  # lets you decide, then keeps server, worker and Temporal UI up")
        _line(stage, f"or have one of your own, which keeps the runs of all demos:\n  {temporal()} server start-dev")
        _line(stage, "  TEMPORAL_ADDRESS=localhost:7233 make demo")


def _show_stopped(stage: Stage, run: DurableRun) -> None:
    if stage.afterwards != "server stays":
        _heading(stage, f"Stopped; run {run.id} still waited for its answer, and is gone with its server.")
        return
    _heading(stage, f"Stopped; run {run.id} still waits for its answer. To end it:")
    _line(stage, f"  {_shell(stage).terminate(run.id)}")


def _shell(stage: Stage) -> Shell:
    return Shell(stage.client, stage.task_queue, stage.checkpoint_store)
