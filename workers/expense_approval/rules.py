"""The expense policy, as pure functions of a report. No executor, message or model client belongs here."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal

from .models import Assessment, Category, ExpenseReport, in_euros

AUTOMATIC_LIMIT = Decimal(500)
"""Euros up to which a clean report needs no manager."""

SUSPICIOUS_SCORE = 50
"""The fraud score from which a manager has to look."""

_DAILY_LIMITS: dict[Category, Decimal] = {
    "meals": Decimal(60),
    "lodging": Decimal(250),
    "entertainment": Decimal(100),
}
_RECEIPT_LIMIT = Decimal(25)


def policy_findings(report: ExpenseReport) -> list[str]:
    """Return what the report breaks, one sentence each."""
    return [*_over_daily_limits(report), *_without_receipt(report), *_claimed_twice(report)]


def passes_automatically(assessment: Assessment) -> bool:
    """Whether no manager has to look: small, within the policy and not suspicious."""
    return (
        assessment.report.total() <= AUTOMATIC_LIMIT
        and not assessment.findings
        and assessment.fraud.score < SUSPICIOUS_SCORE
    )


def reasons_to_ask(assessment: Assessment) -> list[str]:
    """Return why a manager has to look, one sentence each."""
    reasons = list(assessment.findings)
    if assessment.report.total() > AUTOMATIC_LIMIT:
        reasons.insert(0, f"The total of {in_euros(assessment.report.total())} is over {in_euros(AUTOMATIC_LIMIT)}.")
    if assessment.fraud.score >= SUSPICIOUS_SCORE:
        reasons.append(f"The fraud score is {assessment.fraud.score}: {' '.join(assessment.fraud.reasons)}")
    return reasons


def _over_daily_limits(report: ExpenseReport) -> list[str]:
    sums: dict[tuple[date, Category], Decimal] = defaultdict(Decimal)
    for item in report.items:
        sums[item.spent_on, item.category] += item.amount
    return [
        f"{in_euros(spent)} for {category} on {day} is over the daily limit of {in_euros(_DAILY_LIMITS[category])}."
        for (day, category), spent in sorted(sums.items())
        if category in _DAILY_LIMITS and spent > _DAILY_LIMITS[category]
    ]


def _without_receipt(report: ExpenseReport) -> list[str]:
    return [
        f"{in_euros(item.amount)} for {item.category} on {item.spent_on} has no receipt."
        for item in report.items
        if not item.receipt and item.amount > _RECEIPT_LIMIT
    ]


def _claimed_twice(report: ExpenseReport) -> list[str]:
    claims = Counter((item.category, item.amount, item.spent_on) for item in report.items)
    return [
        f"{in_euros(amount)} for {category} on {day} is claimed {count} times."
        for (category, amount, day), count in claims.items()
        if count > 1
    ]
