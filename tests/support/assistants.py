"""Small graphs of agents, whose models are scripted."""

from __future__ import annotations

from typing import Any

from agent_framework import AgentExecutor, Workflow, WorkflowBuilder, tool
from agent_framework_orchestrations import SequentialBuilder

from tests.support import chat


@tool(approval_mode="always_require")
def pay(amount: float, to: str) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


def pays(messages: Any) -> chat.Answer:
    """Call the tool, then say what came of it."""
    done = chat.results(messages)
    return f"cashier says {done}: {chat.digest(messages)}" if done else chat.call(messages, "pay", amount=5.0, to="Ada")


def paying() -> Workflow:
    """An agent that calls a function, which a person approves."""
    cashier = AgentExecutor(chat.agent("cashier", pays, tools=[pay]), id="cashier")
    return WorkflowBuilder(name="paying", start_executor=cashier, output_from=[cashier]).build()


def talking() -> Workflow:
    """An agent that says what it was told."""
    talker = AgentExecutor(chat.agent("talker"), id="talker")
    return WorkflowBuilder(name="talking", start_executor=talker, output_from=[talker]).build()


def writing() -> Workflow:
    """Two agents, one after the other."""
    return SequentialBuilder(participants=[chat.agent("writer"), chat.agent("editor")]).build()
