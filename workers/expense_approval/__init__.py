"""The example: an expense report is checked, scored, put to a manager when it must be, and booked.

    python -m workers --workflow workers.expense_approval:build_expense_approval --task-queue expenses

A plain Microsoft Agent Framework workflow: nothing in this package knows of Temporal, and it runs in-process as well.
"""

from .graph import build_expense_approval
from .models import ApprovalRequest, Decision, ExpenseItem, ExpenseReport, Outcome, in_euros

__all__ = [
    "ApprovalRequest",
    "Decision",
    "ExpenseItem",
    "ExpenseReport",
    "Outcome",
    "build_expense_approval",
    "in_euros",
]
