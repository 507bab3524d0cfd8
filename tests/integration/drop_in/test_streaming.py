"""A session streams turn by turn: those turns that ask for it, and no other."""

from __future__ import annotations

from typing import Any

from agent_framework import AgentResponse, AgentResponseUpdate, Message, WorkflowEvent
from temporalio.client import Client
from temporalio.worker import Replayer

from temporal_adapter import AttemptAbandoned, DurableRun, workflow_type
from temporal_adapter.testing.on_temporal import Serving
from tests.support.agents import failing_first, held, one_agent
from tests.support.drop_ins import drop_in
from tests.support.running import serving as a_worker
from tests.support.scripted import Script
from tests.support.support_desk import desk


async def replays(run: DurableRun, name: str) -> None:
    """Assert that the history of a session is replayed as it was."""
    await Replayer(workflows=[workflow_type(name)]).replay_workflow(await run.handle.fetch_history())


async def test_updates_are_seen_while_the_agent_still_speaks(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("second")
    async with a_worker(client, task_queue, one_agent(held(script, "Hello ", "world"))) as durable:
        session = durable.session(f"{task_queue}-session")
        seen: list[str] = []
        stream = session.run([Message("user", ["hello"])], stream=True)
        async for event in stream:
            if event.type == "output":
                seen.append(event.data.text)
                script.release("second")
        result = await stream.get_final_response()

    assert seen == ["Hello ", "world"]  # had the first not been seen, the second would not have been said
    assert [one.text for one in result.get_outputs()] == seen


async def test_only_turns_that_ask_for_it_are_streamed(serving: Serving) -> None:
    workflow = drop_in(serving, desk)
    kinds: list[set[type]] = []
    for stream in (False, True, False):
        result = await workflow.session.turn("hello", stream=stream).get_final_response()
        kinds.append({type(one) for one in result.get_outputs()})

    assert kinds == [{AgentResponse}, {AgentResponseUpdate}, {AgentResponse}]
    await replays(workflow.session.durable_run, "desk")


async def test_what_an_abandoned_attempt_showed_does_not_count(client: Client, task_queue: str) -> None:
    script = Script()
    async with a_worker(client, task_queue, one_agent(failing_first(script, "Hello ", "world"))) as durable:
        session = durable.session(f"{task_queue}-session")
        stream = session.run([Message("user", ["hello"])], stream=True)
        seen: list[WorkflowEvent[Any]] = []
        async for event in stream:
            seen.append(event)
            if event.type == "output":  # of the first attempt, which waits to fail
                script.release("failure")
        result = await stream.get_final_response()

    [abandoned] = [event for event in seen if isinstance(event, AttemptAbandoned)]
    assert [one.data.text for one in abandoned.events if one.type == "output"] == ["Hello "]
    assert [one.text for one in result.get_outputs()] == ["Hello ", "world"]
    assert not any(isinstance(event, AttemptAbandoned) for event in result)
