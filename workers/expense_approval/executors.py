"""The executors of the graph, one class each. What they decide is in `rules`; how they are joined, in `graph`."""

from __future__ import annotations

import hashlib

from agent_framework import (
    AgentExecutorRequest,
    AgentExecutorResponse,
    Executor,
    Message,
    WorkflowContext,
    handler,
    response_handler,
)
from typing_extensions import Never

from .models import (
    ApprovalRequest,
    Assessment,
    Decision,
    ExpenseReport,
    FraudScore,
    Outcome,
    PolicyFindings,
    Ruling,
)
from .rules import policy_findings, reasons_to_ask

_REPORT = "report"  # key of the shared state


class Receive(Executor):
    """Puts the report in order, keeps it in the shared state, and sends it to those who look at it."""

    @handler
    async def receive(self, report: ExpenseReport, ctx: WorkflowContext[ExpenseReport | AgentExecutorRequest]) -> None:
        report = report.model_copy(update={"items": sorted(report.items, key=lambda item: item.spent_on)})
        ctx.set_state(_REPORT, report)
        # The edges give each message to those who can handle its type.
        await ctx.send_message(report)
        await ctx.send_message(AgentExecutorRequest(messages=[Message("user", [report.model_dump_json()])]))


class PolicyCheck(Executor):
    """Holds the report against the expense policy."""

    @handler
    async def check(self, report: ExpenseReport, ctx: WorkflowContext[PolicyFindings]) -> None:
        await ctx.send_message(PolicyFindings(findings=policy_findings(report)))


class Assess(Executor):
    """Brings both opinions together."""

    @handler
    async def assess(
        self, opinions: list[PolicyFindings | AgentExecutorResponse], ctx: WorkflowContext[Assessment]
    ) -> None:
        findings = [text for one in opinions if isinstance(one, PolicyFindings) for text in one.findings]
        [answer] = [one.agent_response.text for one in opinions if isinstance(one, AgentExecutorResponse)]
        fraud = FraudScore.model_validate_json(answer)
        report: ExpenseReport = ctx.get_state(_REPORT)
        await ctx.send_message(Assessment(report=report, findings=findings, fraud=fraud))


class ManagerApproval(Executor):
    """Asks a manager, who may take weeks, and passes the decision on."""

    @handler
    async def ask(self, assessment: Assessment, ctx: WorkflowContext) -> None:
        report = assessment.report
        request = ApprovalRequest(
            employee=report.employee,
            purpose=report.purpose,
            total=report.total(),
            reasons=reasons_to_ask(assessment),
            report=report,
        )
        await ctx.request_info(request, Decision)

    @response_handler
    async def decided(self, request: ApprovalRequest, decision: Decision, ctx: WorkflowContext[Ruling]) -> None:
        await ctx.send_message(Ruling(report=request.report, decision=decision))


class Book(Executor):
    """Books the outcome."""

    @handler
    async def book_automatically(self, assessment: Assessment, ctx: WorkflowContext[Never, Outcome]) -> None:
        report = assessment.report
        await ctx.yield_output(
            Outcome(
                reference=_reference(report),
                status="approved",
                employee=report.employee,
                total=report.total(),
                decided_by="policy",
            )
        )

    @handler
    async def book_ruling(self, ruling: Ruling, ctx: WorkflowContext[Never, Outcome]) -> None:
        report, decision = ruling.report, ruling.decision
        await ctx.yield_output(
            Outcome(
                reference=_reference(report),
                status="approved" if decision.approved else "declined",
                employee=report.employee,
                total=report.total(),
                decided_by="manager",
                comment=decision.comment,
            )
        )


def _reference(report: ExpenseReport) -> str:
    """Return a booking reference that follows from the report, so that an attempt that is repeated books once."""
    return f"EXP-{hashlib.sha256(report.model_dump_json().encode()).hexdigest()[:8].upper()}"
