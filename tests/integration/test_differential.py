"""A graph does on Temporal what it does in-process: same outputs, events, status timeline, state and checkpoints."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from temporalio.client import Client

from tests.support.differential import assert_same
from tests.support.graphs import GRAPHS
from workers.expense_approval import Decision, ExpenseItem, ExpenseReport, build_expense_approval


@pytest.mark.parametrize("name", GRAPHS)
async def test_a_graph_does_the_same_on_temporal_as_in_process(client: Client, name: str) -> None:
    graph = GRAPHS[name]
    await assert_same(client, graph.build, graph.message, answers=graph.answers)


async def test_the_example_with_its_agent_does_the_same(client: Client) -> None:
    report = ExpenseReport(
        employee="Ada",
        purpose="Conference",
        items=[ExpenseItem(category="lodging", amount=Decimal("2400.00"), spent_on=date(2026, 3, 4))],
    )

    await assert_same(
        client,
        build_expense_approval,
        report,
        answers=lambda requests: {one.request_id: Decision(approved=True, comment="fine") for one in requests},
    )
