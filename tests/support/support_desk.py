"""A workflow that people talk to: an agent answers word by word, and asks before it pays anything back.

Its model is scripted. The last thing that a person said decides: `refund 30` asks for a person's word on it, and at
`hang` it falls silent after two words, until its worker is killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass

from agent_framework import (
    Agent,
    AgentExecutor,
    AgentExecutorRequest,
    AgentExecutorResponse,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
    tool,
)
from temporalio import activity

from .agents import WordByWord
from .chat import Answer, agent, call, last_said, results


@dataclass
class Refund:
    """A request: shall so much be paid back?"""

    customer: str
    amount: int


class Reception(Executor):
    """Takes what a chat front end sends, and passes it to the agent."""

    @handler
    async def messages(self, messages: list[Message], ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        await ctx.send_message(AgentExecutorRequest(messages=messages))

    @handler
    async def text(self, text: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        await ctx.send_message(AgentExecutorRequest(messages=[Message("user", [text])]))


class Till(Executor):
    """Pays back what a person approves."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.paid = 0

    @handler
    async def answered(self, answer: AgentExecutorResponse, ctx: WorkflowContext[None, str]) -> None:
        words = answer.agent_response.text.split()
        if words[0] == "Refunding":
            await ctx.request_info(Refund("Ada", int(words[1])), str)

    @response_handler
    async def decided(self, refund: Refund, word: str, ctx: WorkflowContext[None, str]) -> None:
        self.paid += refund.amount if word == "yes" else 0
        await ctx.yield_output(f"Paid back {self.paid} in all.")


async def _say(last: str) -> AsyncIterable[str]:
    words = ["Refunding ", last.split()[-1], " soon."] if last.startswith("refund") else ["You ", "said: ", last]
    for word in words:
        yield word
        if last == "hang" and word == "said: " and activity.in_activity() and activity.info().attempt == 1:
            await asyncio.Event().wait()


def desk() -> Workflow:
    """Return the graph `desk`: `reception`, the agent `clerk`, `till`."""
    reception, till = Reception(id="reception"), Till(id="till")
    clerk = AgentExecutor(Agent(WordByWord(_say), name="clerk"), id="clerk")
    builder = WorkflowBuilder(name="desk", start_executor=reception, output_from=[clerk, till])
    return builder.add_chain([reception, clerk, till]).build()


@tool(approval_mode="always_require")
def pay(amount: int) -> str:
    """Pay an amount back."""
    return f"paid {amount}"


def _pay_or_tell(messages: Sequence[Message]) -> Answer:
    said = last_said(messages)
    done = results(messages)
    return f"Done: {done[-1]}" if done else call(messages, "pay", amount=int(said.split()[-1]))


def approving() -> Workflow:
    """Return the graph `approving`: the agent `cashier`, whose tool `pay` needs a person's approval."""
    reception = Reception(id="reception")
    cashier = AgentExecutor(agent("cashier", _pay_or_tell, tools=[pay]), id="cashier")
    builder = WorkflowBuilder(name="approving", start_executor=reception)
    return builder.add_edge(reception, cashier).build()
