"""What an agent says travels whole: contents, authors, ids, usage, typed values, and the provider's own answer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import (
    AgentExecutor,
    AgentExecutorResponse,
    AgentResponse,
    Annotation,
    ChatOptions,
    ChatResponse,
    Content,
    Message,
    TextSpanRegion,
    UsageDetails,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from pydantic import BaseModel
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobStore
from tests.support.chat import agent
from tests.support.differential import assert_same
from tests.support.histories import attempts
from tests.support.middleware import retouched
from tests.support.running import serving


class Verdict(BaseModel):
    """What a judge is to answer."""

    guilty: bool
    reasons: list[str]


class SternVerdict(Verdict):
    """A verdict with more to it."""

    years: int


def speaks(messages: Sequence[Message]) -> list[Content]:
    """Say something in every kind of content that is no call."""
    return [
        Content.from_text_reasoning(text="Let me think.", protected_data="c2lnbmVk"),
        Content.from_text(
            "Rain is likely.",
            annotations=[
                Annotation(
                    type="citation",
                    title="Forecast",
                    url="https://example.org/forecast",
                    annotated_regions=[TextSpanRegion(type="text_span", start_index=0, end_index=4)],
                )
            ],
            additional_properties={"confidence": 0.8},
        ),
        Content.from_data(b"\x89PNG chart", media_type="image/png"),
        Content.from_uri("https://example.org/map.png", media_type="image/png"),
        Content.from_hosted_file("file-1"),
        Content.from_hosted_vector_store("store-1"),
        Content.from_error(message="The radar was away.", error_code="503"),
        Content.from_usage(UsageDetails(input_token_count=3)),
    ]


COMPLETION = ChatCompletion(
    id="completion-1",
    choices=[Choice(finish_reason="stop", index=0, message=ChatCompletionMessage(role="assistant", content="Rain."))],
    created=1,
    model="model-1",
    object="chat.completion",
    usage=CompletionUsage(prompt_tokens=11, completion_tokens=7, total_tokens=18),
)


def adorn(response: ChatResponse) -> None:
    """Give an answer all that a provider can say about it."""
    message = response.messages[-1]
    message.author_name = "Anchor"
    message.message_id = "message-42"
    message.additional_properties["mood"] = {"sunny": [True, None, 1.5]}
    response.response_id, response.conversation_id, response.model = "response-7", None, "model-1"
    response.finish_reason, response.created_at = "stop", "2026-01-02T03:04:05Z"
    response.additional_properties["region"] = "north"
    response.raw_representation, message.raw_representation = COMPLETION, COMPLETION.choices[0]
    response.usage_details = UsageDetails(
        input_token_count=11, output_token_count=7, total_token_count=18, cached_tokens=5
    )


def outspoken() -> Workflow:
    """Two agents: what the first says is output, sent on and kept."""
    first = AgentExecutor(agent("anchor", speaks, middleware=[retouched(adorn)]))
    second = AgentExecutor(agent("listener"))
    builder = WorkflowBuilder(name="outspoken", start_executor=first, output_from=[first, second])
    return builder.add_edge(first, second).build()


async def test_an_answer_keeps_all_its_contents_ids_usage_and_properties(client: Client) -> None:
    _, run = await assert_same(client, outspoken, "What will the weather be?")

    answer = run.outputs[0]
    [message] = answer.messages
    assert isinstance(answer, AgentResponse)
    assert [content.type for content in message.contents] == [content.type for content in speaks([])]
    assert (message.author_name, message.message_id) == ("Anchor", "message-42")
    assert message.additional_properties["mood"] == {"sunny": [True, None, 1.5]}
    assert message.raw_representation == COMPLETION.choices[0]
    assert answer.raw_representation.raw_representation == COMPLETION  # of the chat client's response, in the agent's
    assert (answer.response_id, answer.finish_reason) == ("response-7", "stop")
    assert answer.usage_details == {
        "input_token_count": 11,
        "output_token_count": 7,
        "total_token_count": 18,
        "cached_tokens": 5,
    }


# --- structured output --------------------------------------------------------------------------------------


def judging(verdict: Verdict) -> Callable[[], Workflow]:
    """Return a factory of a graph in which a judge's typed verdict reaches an executor, the state and the output."""
    options: Any = ChatOptions(response_format=type(verdict))

    def build() -> Workflow:
        judge = AgentExecutor(agent("judge", lambda _: verdict.model_dump_json(), default_options=options))

        @executor(id="read")
        async def read(answer: AgentExecutorResponse, ctx: WorkflowContext[Verdict, Verdict | str]) -> None:
            # Of a copy: a response parses its value when first asked, and in-process the output is the same object.
            value: Any = copy.copy(answer.agent_response).value
            ctx.set_state("verdict", value)
            await ctx.yield_output(value)
            await ctx.yield_output(f"{type(value).__name__}: {value.guilty}")

        builder = WorkflowBuilder(name="judging", start_executor=judge, output_from=[judge, read])
        return builder.add_edge(judge, read).build()

    return build


@pytest.mark.parametrize(
    "verdict",
    [Verdict(guilty=False, reasons=[]), SternVerdict(guilty=True, reasons=["seen", "heard"], years=3)],
    ids=["a model", "a subclass"],
)
async def test_a_structured_answer_keeps_its_type(client: Client, verdict: Verdict) -> None:
    _, run = await assert_same(client, judging(verdict), "the case")

    said, value, told = run.outputs
    assert type(value) is type(verdict)
    assert value == verdict
    assert said.value == verdict
    assert told == f"{type(verdict).__name__}: {verdict.guilty}"


# --- agents that fail ---------------------------------------------------------------------------------------


class ModelAway(Exception):
    """A model cannot be reached."""


def unreliable(failures: list[int]) -> Callable[[], Workflow]:
    """Return a factory of a graph whose agent fails so many times; the list holds how many are left."""

    def says(messages: Sequence[Message]) -> str:
        if failures[0]:
            failures[0] -= 1
            raise ModelAway("The model is away.")
        return f"heard {len(messages)} messages"

    def build() -> Workflow:
        shaky, last = AgentExecutor(agent("shaky", says)), AgentExecutor(agent("last"))
        builder = WorkflowBuilder(name="unreliable", start_executor=shaky, output_from=[shaky, last])
        return builder.add_edge(shaky, last).build()

    return build


QUICKLY = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=20),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3),
)


async def test_an_agent_that_fails_is_retried_and_hears_its_input_once(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, unreliable([2]), default_activity_options=QUICKLY) as durable:
        run = await durable.start("hello")
        result = await run.result()

    heard, told = result.get_outputs()
    assert heard.text == "heard 1 messages"
    assert told.text.startswith("last heard 2 messages")
    assert attempts(await run.handle.fetch_history())["unreliable/shaky"] == 3


async def test_an_agent_that_fails_for_good_fails_the_run_and_says_nothing(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, unreliable([99]), store=store, default_activity_options=QUICKLY) as durable:
        run = await durable.start("hello")
        with pytest.raises(ModelAway, match="The model is away"):
            await run.result()
        events = [event async for event in run.events()]

    assert [event.type for event in events if event.executor_id == "shaky"] == ["executor_invoked", "executor_failed"]
    assert not [event for event in events if event.type in ("output", "intermediate")]
