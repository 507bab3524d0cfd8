"""Declarative: a workflow read from YAML, whose executors are its actions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Message, Workflow
from agent_framework_declarative import (
    ExternalInputRequest,
    ExternalInputResponse,
    ToolApprovalRequest,
    ToolApprovalResponse,
    WorkflowFactory,
)
from temporalio.client import Client

from tests.support import chat
from tests.support.differential import Observed, assert_same
from tests.support.restarts import assert_survives_restarts
from tests.support.reviews import Requests

CLAIMS = Path(__file__).with_name("claims.yaml")


def assesses(messages: Sequence[Message]) -> str:
    """Assess a claim, in JSON."""
    return json.dumps({"score": len(messages), "why": chat.digest(messages)})


def pay(to: str, amount: float) -> dict[str, Any]:
    """Pay an amount."""
    return {"paid": amount, "to": to}


def claims() -> Workflow:
    """The workflow of the file."""
    factory = WorkflowFactory(agents={"clerk": chat.agent("clerk", assesses)}).register_tool("pay", pay)
    return factory.create_workflow_from_yaml_path(CLAIMS)


def decide(*, pays: bool) -> Any:
    """Return who answers the questions, and has the payment made or not."""

    def answers(requests: Requests) -> Mapping[str, Any]:
        return {one.request_id: _decision(one.data, pays) for one in requests}

    return answers


def _decision(asked: ExternalInputRequest | ToolApprovalRequest, pays: bool) -> Any:
    if isinstance(asked, ToolApprovalRequest):
        return ToolApprovalResponse(approved=pays, reason=None if pays else "too much")
    if asked.request_type == "approval":
        return ExternalInputResponse(user_input="fine", value={"by": "Bob", "fine": True})
    return ExternalInputResponse(user_input="80")


def last_output(run: Observed) -> Any:
    """Return what the run said last."""
    return run.outputs[-1]


@pytest.mark.parametrize("message", ["A claim.", {"claimant": "Ada", "amount": 80}], ids=["text", "inputs"])
@pytest.mark.parametrize("pays", [True, False])
async def test_a_workflow_from_yaml_does_the_same_as_in_process(client: Client, message: Any, pays: bool) -> None:
    _, run = await assert_same(client, claims, message, answers=decide(pays=pays))

    assert str(last_output(run)).startswith("80, ")


async def test_a_workflow_from_yaml_that_waits_for_people_goes_on_with_new_workers(client: Client) -> None:
    run = await assert_survives_restarts(client, claims, "A claim.", answers=decide(pays=True))

    assert str(last_output(run)).startswith("80, ")
