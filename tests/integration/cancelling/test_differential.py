"""Cancelled requests do on Temporal what `Workflow.cancel_pending_requests` does in-process: events, state, outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from agent_framework import AgentExecutor, Content, Message, Workflow, WorkflowBuilder, WorkflowRunState, tool
from temporalio.client import Client

from tests.support import chat, nested, releasing
from tests.support.cancelling import (
    Moves,
    answer,
    assert_cancels_alike,
    cancel_all,
    cancel_number,
    cancel_of,
    cancellations,
    in_order,
)
from tests.support.graphs import ask_once

CASES: dict[str, tuple[Callable[[], Workflow], tuple[Moves, ...]]] = {
    "an executor without a hook": (ask_once, (cancel_all,)),
    "an executor with a hook": (releasing.one, (cancel_all,)),
    "all of several": (releasing.several, (cancel_all,)),
    "one of several, then all": (releasing.several, (cancel_number(1), cancel_all)),
    "one of several, the others answered": (releasing.several, (cancel_number(0), answer(True))),
    "one of several, compared at the pause": (releasing.several, (cancel_number(2),)),
    "one executor of two, then the other": (releasing.two, (cancel_of("left"), cancel_of("right"))),
    "one executor of two, the other answered": (releasing.two, (cancel_of("right"), answer(False))),
    "both executors at once": (releasing.two, (cancel_all,)),
    "a hook that asks again": (releasing.asks_again, (cancel_all, cancel_all)),
    "a hook that asks again, answered": (releasing.asks_again, (cancel_all, answer(True))),
    "a hook that fails": (releasing.fails_to_release, (cancel_all,)),
    "a computer call with its companions": (releasing.operates, (cancel_number(0), cancel_all)),
    "the companion of a computer call alone": (releasing.operates, (cancel_number(2), cancel_all)),
    "a computer call of a sub-workflow": (releasing.operates_inside, (cancel_number(1),)),
    "a sub-workflow": (releasing.nested, (cancel_all,)),
    "a sub-workflow without a hook": (releasing.nested_silently, (cancel_all,)),
    "a sub-workflow with direct output": (releasing.nested_directly, (cancel_all,)),
    "one of a sub-workflow's requests": (releasing.nested_several, (cancel_number(1), answer(True))),
    "all of a sub-workflow's requests": (releasing.nested_several, (cancel_all,)),
    "two levels of sub-workflows": (releasing.three_levels, (cancel_number(0), cancel_all)),
    "two levels of sub-workflows, all at once": (releasing.three_levels, (cancel_all,)),
    "one sub-workflow of two": (nested.two_at_once, (cancel_of("left"), answer(True))),
    "a sub-workflow whose hook fails": (releasing.fails_inside, (cancel_all,)),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_cancellation_does_what_it_does_in_process(client: Client, name: str) -> None:
    factory, moves = CASES[name]

    expected, actual = await assert_cancels_alike(client, factory, 1, in_order(*moves))

    fails = expected.error is not None
    assert fails == ("fails" in name), expected.error
    assert bool(cancellations(actual.checkpoints)) != fails


async def test_a_checkpoint_tells_what_was_cancelled(client: Client) -> None:
    _, actual = await assert_cancels_alike(client, releasing.two, 1, in_order(cancel_of("left"), cancel_of("right")))

    first, second = cancellations(actual.checkpoints)
    told = [
        (one["request_id"], one["executor_id"], one["outcome"], one["source"]) for one in first.metadata["responses"]
    ]
    assert told == [(f"left-{number}", "left", "cancelled", "person") for number in (0, 1)]
    assert sorted(first.pending_request_info_events) == ["right-0", "right-1"]
    assert [message.data for message in first.messages["left"]] == ["left-0 was cancelled", "left-1 was cancelled"]
    assert first.iteration_count == 3
    assert second.iteration_count == 4
    assert second.pending_request_info_events == {}


# --- agents -------------------------------------------------------------------------------------------------


@tool(approval_mode="always_require")
def pay(amount: float, to: str) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


def _pays_twice(messages: Sequence[Message]) -> chat.Answer:
    results = chat.results(messages)
    if results:
        return f"{results}, and {chat.digest(messages)}"
    return [content for name in ("Ada", "Grace") for content in chat.call(messages, "pay", amount=1.0, to=name)]


def paying() -> Workflow:
    """An agent asks to approve two payments; another hears what came of them."""
    clerk = AgentExecutor(chat.agent("clerk", _pays_twice, tools=[pay]))
    auditor = AgentExecutor(chat.agent("auditor"))
    builder = WorkflowBuilder(name="paying-twice", start_executor=clerk, output_from=[clerk, auditor])
    return builder.add_edge(clerk, auditor).build()


def approve(requests: Sequence[Any]) -> dict[str, Content]:
    return {one.request_id: one.data.to_function_approval_response(approved=True) for one in requests}


@pytest.mark.parametrize("moves", [(cancel_all,), (cancel_number(0), cancel_all), (cancel_number(1), approve)])
async def test_an_agent_whose_calls_are_not_approved_goes_on_as_in_process(
    client: Client, moves: tuple[Moves, ...]
) -> None:
    expected, actual = await assert_cancels_alike(client, paying, "pay both", in_order(*moves))

    assert len(actual.outputs) > 1
    states = [event.state for event in actual.events if event.type == "status"]
    assert states[-1] is WorkflowRunState.IDLE
    assert expected.outputs
