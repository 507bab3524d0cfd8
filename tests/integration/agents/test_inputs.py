"""An agent takes on Temporal every input it takes in-process, and hears the same conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from agent_framework import (
    AgentExecutor,
    AgentExecutorRequest,
    AgentExecutorResponse,
    AgentResponse,
    AgentSession,
    BaseAgent,
    Content,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
)
from temporalio.client import Client

from tests.support.chat import agent
from tests.support.differential import assert_same
from tests.support.running import serving


def one_agent() -> Workflow:
    return WorkflowBuilder(name="one-agent", start_executor=AgentExecutor(agent("writer"))).build()


def rich_message(role: str = "user", text: str = "Look at this.") -> Message:
    """Return a message with all that a message can have."""
    return Message(
        role,
        [
            Content.from_text(text, additional_properties={"tone": "kind"}),
            Content.from_uri("https://example.org/report.pdf", media_type="application/pdf"),
            Content.from_data(b"\x00\x01picture", media_type="image/png"),
        ],
        author_name="Ada",
        message_id="message-1",
        additional_properties={"thread": {"id": 7, "tags": ["urgent", None]}},
    )


INPUTS: dict[str, Any] = {
    "a text": "hello",
    "a message": rich_message(),
    "a message of another role": Message("system", ["Answer in French."]),
    "a message too large for history": Message("user", [Content.from_data(bytes(300_000), media_type="image/png")]),
    "a list of texts": ["hello", "there"],
    "a list of messages": [rich_message(), Message("assistant", ["What of it?"], author_name="writer")],
    "a mixed list": ["hello", rich_message()],
    "a request": AgentExecutorRequest(messages=[rich_message(), Message("user", ["And?"])]),
    "a request that wants no answer": AgentExecutorRequest(messages=[rich_message()], should_respond=False),
    "an answer of another agent": AgentExecutorResponse(
        executor_id="elsewhere",
        agent_response=AgentResponse(messages=[rich_message("assistant", "Done.")], response_id="response-9"),
        full_conversation=[rich_message(), rich_message("assistant", "Done.")],
    ),
}


@pytest.mark.parametrize("name", INPUTS)
async def test_every_form_of_input(client: Client, name: str) -> None:
    _, run = await assert_same(client, one_agent, INPUTS[name])

    assert len(run.outputs) == (0 if "no answer" in name else 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("hello", 1),
        (["hello", "there"], 2),
        ({"type": "message", "role": "user", "contents": [{"type": "text", "text": "hello"}]}, 1),
        ({"messages": [{"type": "message", "role": "user", "contents": [{"type": "text", "text": "hello"}]}]}, 1),
    ],
    ids=["a text", "a list of texts", "a message", "a request"],
)
async def test_plain_json_from_any_language(client: Client, task_queue: str, given: Any, expected: int) -> None:
    async with serving(client, task_queue, one_agent) as durable:
        handle = await client.start_workflow("one-agent", given, id=task_queue, task_queue=task_queue)
        result = await durable.get_run(handle.id).result()

    [output] = result.get_outputs()
    assert isinstance(output, AgentResponse)
    assert output.text.startswith(f"writer heard {expected} messages")


# --- requests that only add to the conversation -------------------------------------------------------------


class Briefing(Executor):
    """Briefs an agent in several messages of one superstep, or of several; asks for an answer with the last."""

    def __init__(self, id: str, rounds: int) -> None:
        super().__init__(id=id)
        self._rounds = rounds

    @handler
    async def begin(self, topic: str, ctx: WorkflowContext[AgentExecutorRequest | int]) -> None:
        ctx.set_state("topic", topic)
        await ctx.send_message(1, target_id=self.id)

    @handler
    async def go_on(self, number: int, ctx: WorkflowContext[AgentExecutorRequest | int]) -> None:
        last = number == self._rounds
        message = Message("user", [f"{ctx.get_state('topic')} {number}"], author_name=f"author {number}")
        await ctx.send_message(AgentExecutorRequest([message], should_respond=last), target_id="writer")
        if not last:
            await ctx.send_message(number + 1, target_id=self.id)


def briefed(rounds: int) -> Callable[[], Workflow]:
    def build() -> Workflow:
        briefing, writer = Briefing("briefing", rounds), AgentExecutor(agent("writer"))
        builder = WorkflowBuilder(name="briefed", start_executor=briefing, output_from=[writer])
        return builder.add_edge(briefing, briefing).add_edge(briefing, writer).build()

    return build


async def test_messages_that_want_no_answer_wait_in_the_agent_for_one_that_does(client: Client) -> None:
    _, run = await assert_same(client, briefed(3), "point")

    [output] = run.outputs
    assert output.text.startswith("writer heard 3 messages")
    assert "'point 3'" in output.text


# --- chains -------------------------------------------------------------------------------------------------


def last_two(conversation: list[Message]) -> list[Message]:
    return conversation[-2:]


MODES: dict[str, dict[str, Any]] = {
    "by default": {},
    "the full conversation": {"context_mode": "full"},
    "the last answer": {"context_mode": "last_agent"},
    "a choice": {"context_mode": "custom", "context_filter": last_two},
    "a turn of the user's at the end": {"ensure_trailing_user_turn": True},
}


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_hears_of_the_agents_before_it_what_its_context_mode_says(client: Client, mode: str) -> None:
    def build() -> Workflow:
        executors = [
            AgentExecutor(agent("writer")),
            AgentExecutor(agent("editor"), **MODES[mode]),
            AgentExecutor(agent("printer"), **MODES[mode]),
        ]
        return (
            WorkflowBuilder(name="three-agents", start_executor=executors[0], output_from=list(executors))
            .add_chain(executors)
            .build()
        )

    _, run = await assert_same(client, build, [rich_message(), "hello"])

    assert [output.messages[-1].author_name for output in run.outputs] == ["writer", "editor", "printer"]


def quoting(messages: Sequence[Message]) -> str:
    return " / ".join(message.text for message in messages)


async def test_an_executor_between_agents_may_change_what_was_said(client: Client) -> None:
    def build() -> Workflow:
        @executor(id="shout")
        async def shout(answer: AgentExecutorResponse, ctx: WorkflowContext[AgentExecutorResponse]) -> None:
            await ctx.send_message(answer.with_text(answer.agent_response.text.upper()))

        writer, editor = AgentExecutor(agent("writer")), AgentExecutor(agent("editor", quoting))
        builder = WorkflowBuilder(name="shouting", start_executor=writer, output_from=[editor])
        return builder.add_chain([writer, shout, editor]).build()

    _, run = await assert_same(client, build, "hello")

    assert run.outputs[0].text.startswith("hello / WRITER HEARD")


class Parrot(BaseAgent):
    """An agent without a model: it repeats what it is told, and counts in its session."""

    async def run(self, messages: Any = None, *, session: AgentSession | None = None, **_: Any) -> AgentResponse:
        assert session is not None
        session.state["told"] = session.state.get("told", 0) + 1
        text = f"{messages[-1].text}, {session.state['told']}"
        return AgentResponse(messages=[Message("assistant", [text], author_name=self.name)], response_id="parrot-1")


async def test_agents_that_are_no_executors_yet_and_agents_of_the_users_own_making(client: Client) -> None:
    def build() -> Workflow:
        parrot, echo = Parrot(name="parrot"), Parrot(name="echo")
        builder = WorkflowBuilder(name="birds", start_executor=parrot, output_from=[parrot, echo])
        return builder.add_edge(parrot, echo).build()

    _, run = await assert_same(client, build, "hello")

    assert [output.text for output in run.outputs] == ["hello, 1", "hello, 1, 1"]
