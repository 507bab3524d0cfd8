"""What travels along the graph: Pydantic models, so that JSON from anywhere is checked where it comes in.

No rule about expenses lives here but the shape of a valid report.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Category = Literal["travel", "lodging", "meals", "entertainment", "equipment"]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Euros = Annotated[Decimal, Field(gt=0, decimal_places=2)]


def in_euros(amount: Decimal) -> str:
    """Return an amount as people read it everywhere: `600.00 euros`."""
    return f"{amount:.2f} euros"


class _Model(BaseModel):
    # A misspelt field in JSON from a person is an error, not a field left out.
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExpenseItem(_Model):
    """A line of the report."""

    category: Category
    amount: Euros
    spent_on: date
    description: str = ""
    receipt: bool = True


class ExpenseReport(_Model):
    """The input of the workflow."""

    employee: Name
    purpose: Name
    items: Annotated[list[ExpenseItem], Field(min_length=1)]

    def total(self) -> Decimal:
        """The sum of all items, in euros."""
        return sum((item.amount for item in self.items), Decimal())


class PolicyFindings(_Model):
    """What the report breaks of the expense policy, one sentence each."""

    findings: list[str]


class FraudScore(_Model):
    """What the agent thinks of the report, from 0 (clean) to 100."""

    score: Annotated[int, Field(ge=0, le=100)]
    reasons: list[str] = []


class Assessment(_Model):
    """Both opinions, about one report."""

    report: ExpenseReport
    findings: list[str]
    fraud: FraudScore


class ApprovalRequest(_Model):
    """What the manager is asked."""

    employee: str
    purpose: str
    total: Decimal
    reasons: list[str]
    report: ExpenseReport


class Decision(_Model):
    """What the manager answers."""

    approved: bool
    comment: str = ""


class Ruling(_Model):
    """A decision and the report it is about."""

    report: ExpenseReport
    decision: Decision


class Outcome(_Model):
    """The output of the workflow: what was booked."""

    reference: str
    status: Literal["approved", "declined"]
    employee: str
    total: Decimal
    decided_by: Literal["policy", "manager"]
    comment: str = ""
