"""An agent's session, and what context providers keep in it, goes on across supersteps and workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    AgentExecutor,
    AgentExecutorRequest,
    AgentExecutorResponse,
    AgentSession,
    ContextProvider,
    Executor,
    InMemoryHistoryProvider,
    Message,
    SessionContext,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    handler,
    register_state_type,
    response_handler,
)
from pydantic import BaseModel
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore
from tests.support.chat import agent
from tests.support.differential import assert_same, resume_in_process
from tests.support.restarts import assert_survives_restarts
from tests.support.running import serving


class Fact(BaseModel):
    """Something that a provider remembers."""

    text: str
    weight: float = 1.0


register_state_type(Fact)


class Memory(ContextProvider):
    """Remembers what the agent was told and what it said, and tells the agent so."""

    def __init__(self) -> None:
        super().__init__("memory")

    async def before_run(self, *, context: SessionContext, state: dict[str, Any], **_: Any) -> None:
        facts: list[Fact] = state.get("facts", [])
        if facts:
            context.extend_messages(self, [Message("user", [f"Known: {'; '.join(fact.text for fact in facts)}"])])
        state["runs"] = state.get("runs", 0) + 1

    async def after_run(self, *, context: SessionContext, state: dict[str, Any], **_: Any) -> None:
        told = [Fact(text=message.text, weight=len(message.contents) / 2) for message in context.input_messages]
        state["facts"] = [*state.get("facts", []), *told]
        state["last"] = {"message": context.input_messages[-1], "nested": [1, (2, 3), None]}


class Interview(Executor):
    """Asks a person again and again what to ask the agent next."""

    def __init__(self, rounds: int) -> None:
        super().__init__(id="interview")
        self._rounds = rounds

    @handler
    async def begin(self, topic: str, ctx: WorkflowContext) -> None:
        await ctx.request_info(f"About {topic}?", str)

    @response_handler
    async def question(self, asked: str, answer: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        ctx.set_state("asked", ctx.get_state("asked", 0) + 1)
        await ctx.send_message(AgentExecutorRequest([Message("user", [answer], author_name="Ada")]))

    @handler
    async def said(self, answer: AgentExecutorResponse, ctx: WorkflowContext[Any, str]) -> None:
        await ctx.yield_output(answer.agent_response.text)
        asked = ctx.get_state("asked")
        if asked < self._rounds:
            await ctx.request_info(f"After {asked}: what next?", str)


def interviewing(make: Callable[[], AgentExecutor], rounds: int = 3) -> Callable[[], Workflow]:
    """Return a factory of a graph in which an agent is asked so many times, with a person's word before each."""

    def build() -> Workflow:
        interview, interviewed = Interview(rounds), make()
        builder = WorkflowBuilder(name="interviewing", start_executor=interview, output_from=[interview])
        return builder.add_edge(interview, interviewed).add_edge(interviewed, interview).build()

    return build


def answers(requests: Sequence[WorkflowEvent[Any]]) -> Mapping[str, str]:
    """Ask something that tells this request from others."""
    return {request.request_id: f"Tell me. {request.data}" for request in requests}


def remembering() -> AgentExecutor:
    return AgentExecutor(agent("sage", context_providers=[Memory()]))


def with_history() -> AgentExecutor:
    return AgentExecutor(agent("sage", context_providers=[InMemoryHistoryProvider(), Memory()]))


def in_a_session_of_its_own() -> AgentExecutor:
    session = AgentSession(session_id="session-7")
    session.state["preset"] = {"language": "fr"}
    return AgentExecutor(agent("sage", context_providers=[Memory()]), session=session)


def in_a_session_of_the_services() -> AgentExecutor:
    return AgentExecutor(agent("sage"), session=AgentSession(session_id="s", service_session_id="thread-1"))


MAKERS = [remembering, with_history, in_a_session_of_its_own, in_a_session_of_the_services]


@pytest.mark.parametrize("make", MAKERS)
async def test_a_session_goes_on_from_superstep_to_superstep(client: Client, make: Callable[[], AgentExecutor]) -> None:
    _, run = await assert_same(client, interviewing(make), "rain", answers=answers)

    assert len(run.outputs) == 3


@pytest.mark.parametrize("make", MAKERS)
async def test_a_session_goes_on_when_workers_come_and_go(client: Client, make: Callable[[], AgentExecutor]) -> None:
    await assert_survives_restarts(client, interviewing(make), "rain", answers=answers)


async def test_a_provider_finds_what_it_kept_with_its_types(client: Client) -> None:
    _, run = await assert_same(client, interviewing(remembering), "rain", answers=answers)

    session = run.checkpoints[-1].state["_executor_state"]["sage"]["agent_session"]
    memory = AgentSession.from_dict(session).state["memory"]
    assert memory["runs"] == 3
    assert [type(fact) for fact in memory["facts"]] == [Fact] * 3
    assert memory["facts"][0].weight == 0.5
    assert isinstance(memory["last"]["message"], Message)
    assert memory["last"]["message"].author_name == "Ada"


async def test_two_runs_of_one_worker_share_no_session(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        return WorkflowBuilder(name="sage", start_executor=with_history()).build()

    async with serving(client, task_queue, build) as durable:
        first = await (await durable.start("one")).result()
        second = await (await durable.start("two")).result()

    heard = [output.text.split(" (")[0] for result in (first, second) for output in result.get_outputs()]
    assert heard == ["sage heard 1 messages"] * 2


async def test_a_conversation_goes_on_in_process_from_a_checkpoint_of_temporal(client: Client) -> None:
    store, build = BlobStore("memory://"), interviewing(with_history)
    expected, _ = await assert_same(client, build, "rain", answers=answers)
    async with serving(client, "resumed-in-process", build, store=store) as durable:
        run = await durable.start("rain")
        async for event in run.events():
            if event.type == "request_info":
                await run.respond(event.request_id, f"Tell me. {event.data}")
        result = await run.result()
        checkpoints = await run.checkpoints()
    storage = BlobCheckpointStorage(store, workflow=build(), workflow_id=run.id, read_only=True)
    middle = [one for one in checkpoints if one.kind == "superstep"][4]

    resumed = await resume_in_process(build, storage, middle.checkpoint_id, answers)

    assert result.get_outputs() == expected.outputs
    assert resumed.outputs == expected.outputs[-len(resumed.outputs) :]
    assert 0 < len(resumed.outputs) < 3
