"""The graph: which executors there are and how they are joined.

                        ┌─ policy-check ─┐            small and clean
    receive ─ fan-out ──┤                ├── assess ──────────────────────── book
                        └─ fraud-score ──┘       └── manager-approval ───────┘
                                                      asks, waits

The switch-case after `assess` is the only decision; its condition is in `rules`.
"""

from __future__ import annotations

from agent_framework import Agent, AgentExecutor, Case, ChatOptions, Default, Workflow, WorkflowBuilder

from .chat import fraud_chat_client
from .executors import Assess, Book, ManagerApproval, PolicyCheck, Receive
from .models import FraudScore
from .rules import passes_automatically

NAME = "expense-approval"

_INSTRUCTIONS = (
    "You look for fraud in expense reports. Score the report, which is given as JSON, from 0 (clean) to 100, "
    'with one short sentence for each reason. Answer with JSON alone: {"score": 0, "reasons": []}.'
)


def build_expense_approval() -> Workflow:
    """Build the workflow `expense-approval`: in goes an `ExpenseReport`, out comes an `Outcome`.

    Raises:
        ModelUnavailable: The environment asks for a model whose client is not installed.
    """
    receive, policy_check, assess = Receive("receive"), PolicyCheck("policy-check"), Assess("assess")
    manager_approval, book = ManagerApproval("manager-approval"), Book("book")
    options = ChatOptions[FraudScore](response_format=FraudScore)
    fraud_score = AgentExecutor(Agent(fraud_chat_client(), _INSTRUCTIONS, name="fraud-score", default_options=options))
    return (
        WorkflowBuilder(
            name=NAME,
            description="Checks an expense report, asks a manager where needed, and books the outcome.",
            start_executor=receive,
            output_from=[book],
            intermediate_output_from=[fraud_score],
        )
        .add_fan_out_edges(receive, [policy_check, fraud_score])
        .add_fan_in_edges([policy_check, fraud_score], assess)
        .add_switch_case_edge_group(
            assess, [Case(condition=passes_automatically, target=book), Default(target=manager_approval)]
        )
        .add_edge(manager_approval, book)
        .build()
    )
