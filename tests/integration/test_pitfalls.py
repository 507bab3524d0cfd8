"""What hosts of MAF workflows get wrong, each held to MAF's own runner here and looked at for the very fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentExecutor,
    AgentExecutorRequest,
    AgentResponse,
    Content,
    FunctionInvocationContext,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowEvent,
    WorkflowInvocationKwargs,
    tool,
)
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from tests.support.chat import ScriptedChat, agent, call, results
from tests.support.differential import assert_same
from tests.support.graphs import GRAPHS, Graph
from tests.support.nested import NESTED, sees_kwargs
from tests.support.pitfalls import (
    counts_its_predicates,
    one_after_another,
    siblings_add_to_shared_state,
    unlisted_target,
)
from tests.support.running import failure_of, serving

Seen = list[WorkflowEvent[Any]]

ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))


def outputs(seen: Seen) -> list[Any]:
    return [event.data for event in seen if event.type == "output"]


def invoked(seen: Seen) -> list[str | None]:
    return [event.executor_id for event in seen if event.type == "executor_invoked"]


PITFALLS: dict[str, tuple[Graph, Callable[[Seen], object]]] = {
    "an async condition is never true": (
        GRAPHS["async condition, true"],
        lambda seen: outputs(seen) == [("even", 2)],
    ),
    "a target that is selected twice gets the message twice": (
        GRAPHS["multi-selection with a duplicate"],
        lambda seen: sorted(outputs(seen)) == [("a", 2), ("c", 2)],
    ),
    "a target_id leads where no edge does, or past its condition": (
        Graph(unlisted_target, 1),
        lambda seen: outputs(seen) == [("near", 1)],
    ),
    "None is no message": (
        GRAPHS["falsy messages, after text"],
        lambda seen: any(None in (event.data or []) for event in seen if event.type == "executor_completed"),
    ),
    "an executor handles two messages at once, or in another order": (
        Graph(one_after_another, 1),
        lambda seen: outputs(seen) == [[n + 1, list(range(1, n + 2)), 1] for n in range(4)],
    ),
    "what siblings add to shared state is lost": (
        Graph(siblings_add_to_shared_state, 1),
        lambda seen: len(outputs(seen)[0][0]) == 7 and len(outputs(seen)[0][1]["by"]) == 7,
    ),
    "checkpoint hooks are never called": (
        GRAPHS["executor state by hooks"],
        lambda seen: len(outputs(seen)) > 0,
    ),
    "a condition is asked more than once": (
        Graph(counts_its_predicates, 1),
        lambda seen: outputs(seen) == [("last", 2)],
    ),
    "a response handler does not know the request it answers": (
        NESTED["propagates"],
        lambda seen: any("(True)" in str(output) for output in outputs(seen)),
    ),
    "a response handler shows no lifecycle": (
        GRAPHS["request"],
        lambda seen: len([one for one in invoked(seen) if one == "ask"]) == 2,
    ),
    "the parent cannot intercept": (
        NESTED["intercepts"],
        lambda seen: "intercept" in invoked(seen),
    ),
    "each message gets a fresh sub-workflow": (
        NESTED["keeps state"],
        lambda seen: ["tally", 3, [2, 3, 4]] in outputs(seen),
    ),
}


@pytest.mark.parametrize("name", PITFALLS)
async def test_not_here(client: Client, name: str) -> None:
    graph, holds = PITFALLS[name]
    _, on_temporal = await assert_same(client, graph.build, graph.message, answers=graph.answers)
    assert holds(on_temporal.events)


async def test_not_here_the_state_of_one_run_shows_in_the_next(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, NESTED["keeps state"].build) as durable:
        first = await (await durable.start(1)).result()
        second = await (await durable.start(1)).result()

    assert first.get_outputs() == second.get_outputs()


# --- agents -------------------------------------------------------------------------------------------------


def pictured() -> Workflow:
    """An agent gets text and a picture, calls a tool, and answers in two messages."""

    @tool(approval_mode="never_require")
    def look(what: str) -> str:
        return f"a {what}"

    def script(messages: Sequence[Message]) -> str | list[Content]:
        found = results(messages)
        pictures = [one for message in messages for one in message.contents if one.type == "data"]
        return f"I see {found[0]} and {len(pictures)} picture" if found else call(messages, "look", what="cat")

    sees = AgentExecutor(Agent(ScriptedChat(script), "You see.", name="sees", tools=[look]), id="sees")
    return WorkflowBuilder(name="pictured", start_executor=sees).build()


async def test_not_here_an_agents_input_or_reply_is_flattened_and_a_last_agent_gives_no_output(
    client: Client,
) -> None:
    picture = Content.from_data(b"\x89PNG", media_type="image/png")
    request = AgentExecutorRequest([Message("user", [Content.from_text("What is it?"), picture])])

    _, on_temporal = await assert_same(client, pictured, request)

    [response] = [one for one in outputs(on_temporal.events) if isinstance(one, AgentResponse)]
    assert response.text == "I see a cat and 1 picture"
    kinds = [content.type for message in response.messages for content in message.contents]
    assert kinds == ["function_call", "function_result", "text"]
    assert response.usage_details is not None


async def test_not_here_tool_approval_is_ignored(client: Client) -> None:
    @tool(approval_mode="always_require")
    def pay(amount: int) -> str:
        return f"paid {amount}"

    def build() -> Workflow:
        def script(messages: Sequence[Message]) -> str | list[Content]:
            found = results(messages)
            return f"Done: {found[0]}" if found else call(messages, "pay", amount=7)

        pays = AgentExecutor(agent("pays", script, tools=[pay]), id="pays")
        return WorkflowBuilder(name="approving", start_executor=pays).build()

    def approve(requests: Sequence[WorkflowEvent[Any]]) -> dict[str, Any]:
        return {one.request_id: one.data.to_function_approval_response(True) for one in requests}

    _, on_temporal = await assert_same(client, build, "Pay.", answers=approve)

    assert [one.text for one in outputs(on_temporal.events)] == ["Done: paid 7"]


async def test_not_here_an_agents_error_becomes_its_reply(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        def script(messages: Sequence[Message]) -> str:
            raise ConnectionError("the model is away")

        return WorkflowBuilder(name="away", start_executor=AgentExecutor(agent("away", script), id="away")).build()

    async with serving(client, task_queue, build, default_activity_options=ONCE) as durable:
        run = await durable.start("Hello?")
        failure = await failure_of(run)
        events = [event async for event in run.events()]

    assert "the model is away" in failure.message
    assert [event.type for event in events if event.executor_id == "away"] == ["executor_invoked", "executor_failed"]


# --- run kwargs ---------------------------------------------------------------------------------------------

KWARGS: dict[str, dict[str, Any]] = {
    "for all": {"function_invocation_kwargs": {"user": "Ada"}, "client_kwargs": {"seed": 7}},
    "by executor": {"function_invocation_kwargs": {"outside": {"user": "Ada"}, "inside": {"user": "Bob"}}},
    "both": {
        "function_invocation_kwargs": WorkflowInvocationKwargs(
            global_kwargs={"user": "Ada"}, executor_kwargs={"inside": {"user": "Bob"}, "outside": {"user": "Eve"}}
        )
    },
    "none": {},
}


@pytest.mark.parametrize("name", KWARGS)
async def test_not_here_run_kwargs_are_absent_or_not_scoped_into_sub_workflows(
    client: Client, task_queue: str, name: str
) -> None:
    in_process = await sees_kwargs().run(1, **KWARGS[name])
    async with serving(client, task_queue, sees_kwargs) as durable:
        on_temporal = await (await durable.start(1, **KWARGS[name])).result()

    assert on_temporal.get_outputs() == in_process.get_outputs()


async def test_not_here_run_kwargs_are_lost_over_a_pause(client: Client, task_queue: str) -> None:
    @tool(approval_mode="always_require")
    def greet(whom: str, ctx: FunctionInvocationContext) -> str:
        return f"{whom} greeted by {ctx.kwargs['user']}"

    def build() -> Workflow:
        def script(messages: Sequence[Message]) -> str | list[Content]:
            found = results(messages)
            return f"Done: {found[0]}" if found else call(messages, "greet", whom="Bob")

        greets = AgentExecutor(agent("greets", script, tools=[greet]), id="greets")
        return WorkflowBuilder(name="greeting-by", start_executor=greets).build()

    kwargs: dict[str, Any] = {"function_invocation_kwargs": {"user": "Ada"}}
    workflow = build()
    [asked] = (await workflow.run("Greet.", **kwargs)).get_request_info_events()
    in_process = await workflow.run(responses={asked.request_id: asked.data.to_function_approval_response(True)})
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("Greet.", **kwargs)
        async for event in run.events():
            if event.type == "request_info":
                await run.respond(event.request_id, event.data.to_function_approval_response(True))
        on_temporal = await run.result()

    texts = [output.text for output in on_temporal.get_outputs()]
    assert texts == [output.text for output in in_process.get_outputs()]
    assert "greeted by Ada" in texts[-1]
