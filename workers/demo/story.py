"""What the demo tells: a report that needs approval is started, followed, answered, and its traces are shown.

Servers, workers and keyboards are set up elsewhere; here is only what a user of `DurableWorkflow` would write, and how
it is shown.
"""

from __future__ import annotations

import json
import shlex
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
from workers.demo.progress import Progress
from workers.expense_approval import ApprovalRequest, Decision, ExpenseReport, Outcome

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
    _heading(stage, f"Started run {run.id}: {REPORT.employee}, {REPORT.total()} euros for {REPORT.purpose}")
    _line(stage, f"Look at it in the Temporal UI: {_ui_page(stage, run)}")

    events = run.events()
    await _follow_until_idle(stage, events)
    answered: list[dict[str, Any]] = []
    for request in await run.pending_requests():
        _show_request(stage, request)
        decision = stage.decide(request.data)
        response = {"request_id": request.request_id, "response": decision.model_dump(mode="json")}
        await run.handle.signal("respond", response)
        _heading(stage, f"Answered by the signal `respond`: {json.dumps(response['response'])}")
        answered.append(response)
    await _follow_until_idle(stage, events)

    result = await run.result()
    for outcome in result.get_outputs():
        _show_outcome(stage, outcome)
    _show_lineage(stage, await run.checkpoints())
    _show_commands(stage, run, answered)


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


def _show_request(stage: Stage, request: WorkflowEvent[Any]) -> None:
    data: ApprovalRequest = request.data
    _heading(stage, f"Request {request.request_id} of executor {request.source_executor_id} waits for a response")
    _fields(
        stage,
        {
            "employee": data.employee,
            "purpose": data.purpose,
            "total": f"{data.total} euros",
            "reasons": "\n".join(data.reasons),
            "response": f"{Decision.__name__}: {', '.join(Decision.model_fields)}",
        },
    )


def _show_outcome(stage: Stage, outcome: Outcome) -> None:
    _heading(stage, f"Outcome: {outcome.status}")
    _fields(stage, {name: str(value) for name, value in outcome if value != ""})


def _fields(stage: Stage, fields: dict[str, str]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    for name, value in fields.items():
        table.add_row(name, value)
    stage.console.print(table)


def _show_lineage(stage: Stage, checkpoints: list[CheckpointInfo]) -> None:
    _heading(stage, f"Checkpoint lineage, in {stage.checkpoint_store}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("kind", no_wrap=True, min_width=len("superstep"))
    table.add_column("iteration", no_wrap=True, min_width=len("iteration"), justify="right")
    table.add_column("id", no_wrap=True)  # on a narrow terminal, the ids are what is shortened
    table.add_column("parent", no_wrap=True)
    for one in checkpoints:
        table.add_row(one.kind, str(one.iteration), one.checkpoint_id, one.previous_checkpoint_id or "-")
    stage.console.print(table)


def _ui_page(stage: Stage, run: DurableRun) -> str:
    page = f"/namespaces/{stage.client.namespace}/workflows/{run.id}/{run.handle.result_run_id}/history"
    if stage.ui_url is not None:
        return stage.ui_url + page
    return f"{page} (where a `temporal server start-dev` of yours serves it: http://localhost:8233)"


def _show_commands(stage: Stage, run: DurableRun, answered: list[dict[str, Any]]) -> None:
    of_run = ["--workflow-id", run.id]
    start = ["--type", WORKFLOW, "--task-queue", stage.task_queue, "--input", REPORT.model_dump_json()]
    commands = [
        ["start", *of_run, *start],
        ["query", *of_run, "--type", "pending_requests"],
        *(["signal", *of_run, "--name", "respond", "--input", json.dumps(response)] for response in answered),
        ["result", *of_run],
        ["show", *of_run],
    ]
    _heading(stage, "The same with Temporal's own command line")
    for command in commands:
        _line(stage, f"  temporal workflow {shlex.join(command)} --address {_address(stage)}")
    if stage.ui_url is not None:
        _heading(stage, "The server stops with the demo. To keep one:")
        _line(stage, "  temporal server start-dev\n  TEMPORAL_ADDRESS=localhost:7233 make demo")


def _address(stage: Stage) -> str:
    return stage.client.service_client.config.target_host
