"""The example: the same graph in-process, on a real Temporal server, and from Temporal's own command line."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from decimal import Decimal
from typing import Any

import pytest
from agent_framework import WorkflowRunState
from pydantic import ValidationError
from temporalio.client import Client
from temporalio.worker import Worker

from temporal_adapter import AgentFrameworkPlugin, DurableRun, DurableWorkflow, ResponseRefused
from workers.dev_server import temporal_program
from workers.expense_approval import ApprovalRequest, Decision, ExpenseReport, Outcome, build_expense_approval
from workers.expense_approval.chat import ModelUnavailable, ScriptedFraudClient, fraud_chat_client, score
from workers.expense_approval.models import Assessment, FraudScore
from workers.expense_approval.rules import passes_automatically, policy_findings

NAME = "expense-approval"


@pytest.fixture(autouse=True)
def scripted_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted client answers, whatever a developer's environment has set."""
    for name in ("OPENAI_API_KEY", "OPENAI_CHAT_MODEL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)


def item(amount: str, category: str = "travel", **fields: Any) -> dict[str, Any]:
    return {"category": category, "amount": amount, "spent_on": "2025-09-01", **fields}


def report(*items: dict[str, Any]) -> ExpenseReport:
    return ExpenseReport.model_validate({"employee": "Ada", "purpose": "Conference", "items": list(items)})


SMALL = report(item("120.50"))
LARGE = report(item("812.40"))


# --- rules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "findings"),
    [
        ([item("59.99", "meals")], []),
        (
            [item("40", "meals"), item("20.01", "meals")],
            ["60.01 euros for meals on 2025-09-01 is over the daily limit of 60.00 euros."],
        ),
        ([item("25", receipt=False)], []),
        ([item("25.01", receipt=False)], ["25.01 euros for travel on 2025-09-01 has no receipt."]),
        ([item("30"), item("30")], ["30.00 euros for travel on 2025-09-01 is claimed 2 times."]),
    ],
)
def test_the_policy_names_what_a_report_breaks(items: list[dict[str, Any]], findings: list[str]) -> None:
    assert policy_findings(report(*items)) == findings


@pytest.mark.parametrize(
    ("amount", "findings", "fraud", "passes"),
    [
        ("500", [], 49, True),
        ("500.01", [], 0, False),
        ("10", ["Something."], 0, False),
        ("10", [], 50, False),
    ],
)
def test_only_a_small_clean_and_unsuspicious_report_passes(
    amount: str, findings: list[str], fraud: int, passes: bool
) -> None:
    assessment = Assessment(report=report(item(amount)), findings=findings, fraud=FraudScore(score=fraud))

    assert passes_automatically(assessment) is passes


def test_the_scripted_model_scores_tells() -> None:
    suspicious = report(item("300", "entertainment", spent_on="2025-09-06", description="Gift card"))

    assert score(SMALL) == FraudScore(score=0)
    assert score(suspicious).score == 90


def test_a_report_without_items_is_not_valid() -> None:
    with pytest.raises(ValidationError, match="items"):
        report()


# --- the model behind fraud-score -----------------------------------------------------------------------------


def test_a_key_without_a_model_leaves_the_script_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")

    assert isinstance(fraud_chat_client(), ScriptedFraudClient)


def test_a_model_without_its_package_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("OPENAI_MODEL", "a-model")
    monkeypatch.setitem(sys.modules, "agent_framework.openai", None)  # cannot be imported

    with pytest.raises(ModelUnavailable, match="pip install agent-framework-openai"):
        build_expense_approval()


# --- in-process -----------------------------------------------------------------------------------------------


async def test_in_process_a_small_report_is_booked_at_once() -> None:
    result = await build_expense_approval().run(SMALL)

    [outcome] = result.get_outputs()
    assert (outcome.status, outcome.decided_by, outcome.total) == ("approved", "policy", Decimal("120.50"))
    assert result.get_final_state() is WorkflowRunState.IDLE


async def test_in_process_a_suspicious_small_report_asks_the_manager() -> None:
    suspicious = report(item("100", "entertainment", spent_on="2025-09-06"))

    result = await build_expense_approval().run(suspicious)

    [request] = result.get_request_info_events()
    assert request.data.reasons == [
        "The fraud score is 60: 100.00 euros for entertainment is a round sum. 2025-09-06 was a weekend."
    ]


async def test_in_process_the_manager_decides_about_a_large_report() -> None:
    workflow = build_expense_approval()
    asked = await workflow.run(LARGE)
    [request] = asked.get_request_info_events()

    answered = await workflow.run(responses={request.request_id: Decision(approved=False, comment="Take the train.")})

    assert request.data.reasons == ["The total of 812.40 euros is over 500.00 euros."]
    [outcome] = answered.get_outputs()
    assert (outcome.status, outcome.decided_by, outcome.comment) == ("declined", "manager", "Take the train.")


# --- on Temporal ------------------------------------------------------------------------------------------------


@pytest.fixture
async def workflow(
    connect: Callable[..., Awaitable[Client]], client: Client, task_queue: str
) -> AsyncIterator[DurableWorkflow]:
    """The example, served by a worker in this process."""
    plugin = AgentFrameworkPlugin([build_expense_approval], checkpoint_store=f"memory://{task_queue}")
    async with Worker(await connect(plugins=[plugin]), task_queue=task_queue):
        yield DurableWorkflow(client, NAME, task_queue=task_queue)


async def asks(run: DurableRun) -> Any:
    """The run's pending request, once it waits for the answer."""
    async for event in run.events():
        if event.type == "status" and event.state is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS:
            break
    [request] = await run.pending_requests()
    return request


async def test_a_small_report_is_booked_without_approval(workflow: DurableWorkflow) -> None:
    run = await workflow.start(SMALL)

    result = await run.result()

    in_process = await build_expense_approval().run(SMALL)
    assert result.get_outputs() == in_process.get_outputs()
    assert [one.kind for one in await run.checkpoints()] == ["entry", *["superstep"] * 4]


@pytest.mark.parametrize(("approved", "status"), [(True, "approved"), (False, "declined")])
async def test_a_large_report_waits_for_the_manager_whose_decision_is_booked(
    workflow: DurableWorkflow, approved: bool, status: str
) -> None:
    run = await workflow.start(LARGE)
    request = await asks(run)
    assert isinstance(request.data, ApprovalRequest)

    await run.respond(request.request_id, Decision(approved=approved, comment="As discussed."))

    [outcome] = (await run.result()).get_outputs()
    assert isinstance(outcome, Outcome)
    assert (outcome.status, outcome.decided_by, outcome.comment) == (status, "manager", "As discussed.")
    assert [one.kind for one in await run.checkpoints()] == [
        "entry",
        *["superstep"] * 4,
        "response",
        *["superstep"] * 2,
    ]


@pytest.mark.parametrize("response", [{"approved": "perhaps"}, {"aproved": True}, "yes", None])
async def test_a_bad_response_is_refused_with_a_reason_and_leaves_the_request_open(
    workflow: DurableWorkflow, response: Any
) -> None:
    run = await workflow.start(LARGE)
    request = await asks(run)

    with pytest.raises(ResponseRefused, match="Decision"):
        await run.respond(request.request_id, response)

    assert [one.request_id for one in await run.pending_requests()] == [request.request_id]
    await run.respond(request.request_id, {"approved": True})
    [outcome] = (await run.result()).get_outputs()
    assert outcome.status == "approved"


# --- from Temporal's command line -------------------------------------------------------------------------------


async def temporal(client: Client, *arguments: str) -> Any:
    """The JSON that `temporal workflow ...` prints."""
    process = await asyncio.create_subprocess_exec(
        temporal_program(),
        "workflow",
        *arguments,
        *("--address", client.service_client.config.target_host),
        *("--namespace", client.namespace),
        *("--output", "json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return json.loads(out or b"null")


async def test_temporals_command_line_starts_asks_answers_and_reads_the_result_in_plain_json(
    workflow: DurableWorkflow, client: Client, task_queue: str
) -> None:
    run = ("--workflow-id", task_queue)
    started = json.dumps({"employee": "Ada", "purpose": "Conference", "items": [item("812.40")]})
    await temporal(client, "start", *run, "--type", NAME, "--task-queue", task_queue, "--input", started)
    await asks(workflow.get_run(task_queue))

    [[pending]] = (await temporal(client, "query", *run, "--type", "pending_requests"))["queryResult"]
    answer = json.dumps({"request_id": pending["request_id"], "response": {"approved": True, "comment": "Fine."}})
    await temporal(client, "signal", *run, "--name", "respond", "--input", answer)
    result = (await temporal(client, "result", *run))["result"]

    assert pending["executor_id"] == "manager-approval"
    assert pending["data"]["total"] == "812.40"
    assert pending["data"]["reasons"] == ["The total of 812.40 euros is over 500.00 euros."]
    [outcome] = result["outputs"]
    assert {name: outcome[name] for name in ("status", "employee", "total", "decided_by", "comment")} == {
        "status": "approved",
        "employee": "Ada",
        "total": "812.40",
        "decided_by": "manager",
        "comment": "Fine.",
    }
