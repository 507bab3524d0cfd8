"""A run that streams: updates reach whoever follows it while executors work, and its events are MAF's all the same."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import (
    AgentResponseUpdate,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    WorkflowExecutor,
    executor,
)
from agent_framework_orchestrations import ConcurrentBuilder, GroupChatBuilder, GroupChatState, SequentialBuilder
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import AttemptAbandoned, DurableRun
from tests.support import chat, scripts
from tests.support.agents import failing_first, held, one_agent, saying, slowly, two_agents
from tests.support.differential import assert_same
from tests.support.following import answering, assert_same_events, told, up_to_now, without_void
from tests.support.running import serving, until
from tests.support.scripted import Script

QUICKLY = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3),
)
LONG = tuple(f"word{number} " for number in range(40))  # enough to be stored as one


# --- what it shows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("one ", "two ", "three"), LONG], ids=["short", "long"])
async def test_a_streaming_run_does_what_maf_does_in_process(client: Client, words: tuple[str, ...]) -> None:
    build = two_agents(saying(*words), saying("uno ", *words))

    seen, _ = await assert_same(client, build, "count", answers=_approve, stream=True)

    assert Counter(event.type for event in seen.events if isinstance(event.data, AgentResponseUpdate)) == {
        "output": len(words),
        "intermediate": len(words) + 1,
    }


@pytest.mark.parametrize("name", ["sequence", "side by side", "in turn"])
async def test_an_orchestration_streams_as_in_process(client: Client, name: str) -> None:
    def build() -> Workflow:
        agents = [chat.agent(one) for one in ("writer", "critic", "editor")]
        if name == "sequence":
            return SequentialBuilder(name=name, participants=agents).build()
        if name == "side by side":
            return ConcurrentBuilder(name=name, participants=agents).build()
        return GroupChatBuilder(name=name, participants=agents, selection_func=_in_turn, max_rounds=3).build()

    await assert_same(client, build, "Talk.", stream=True)


async def test_who_follows_a_streaming_run_sees_what_its_events_say(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, two_agents(slowly(*LONG), saying("at once"))) as durable:
        run = await durable.start("count", stream=True)
        seen = [event async for event in answering(run)]
        events = [event async for event in run.events()]

    assert_same_events(seen, events)
    assert not [event for event in seen if isinstance(event, AttemptAbandoned)]


async def test_an_update_is_seen_while_the_agent_goes_on(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("second")
    seen: list[str] = []
    async with serving(client, task_queue, one_agent(held(script, "first ", "second "))) as durable:
        run = await durable.start("count", stream=True)
        async for event in run.stream():
            if isinstance(event.data, AgentResponseUpdate):
                seen.append(event.data.text)
                assert "executor_completed" not in [one.type async for one in up_to_now(run)]
                script.release("second")
                break
        rest = [event.data.text async for event in run.stream() if isinstance(event.data, AgentResponseUpdate)]

    assert seen == ["first "]
    assert rest == ["first ", "second "]


async def test_whatever_an_executor_shows_is_seen_at_once_however_large(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("end")

    @executor(id="shows")
    async def shows(text: str, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(text * 100_000)
        await ctx.add_event(WorkflowEvent.warning("half done"))
        await script.enter("end")

    async with serving(client, task_queue, WorkflowBuilder(name="shows", start_executor=shows).build) as durable:
        run = await durable.start("x", stream=True)
        seen: list[Any] = []
        async for event in run.stream():
            seen.append(event)
            if event.data == "half done":
                script.release("end")

    assert [event.type for event in seen[3:7]] == ["executor_invoked", "output", "warning", "executor_completed"]
    assert seen[4].data == "x" * 100_000


async def test_the_result_has_the_updates(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, one_agent(saying(*LONG))) as durable:
        run = await durable.start("count", stream=True)
        result = await run.result()
        raw = await run.handle.result()
        status = await run.status()
        events = [event async for event in run.events()]

    assert [output.text for output in result.get_outputs()] == list(LONG)
    assert raw["outputs"][0]["many"] == len(LONG)
    assert status.events == len(events)


async def test_events_are_read_from_any_offset(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, one_agent(saying(*LONG))) as durable:
        run = await durable.start("count", stream=True)
        await run.result()
        every = [told(event) async for event in run.events()]

        for offset in range(0, len(every) + 1, 7):
            assert [told(event) async for event in run.events(offset)] == every[offset:]


async def test_inside_a_sub_workflow_nothing_streams(client: Client) -> None:
    def build() -> Any:
        @executor(id="tells")
        async def tells(text: str, ctx: WorkflowContext[None, str]) -> None:
            await ctx.yield_output(f"{text}: {ctx.is_streaming()}")

        inner = WorkflowBuilder(name="inner", start_executor=tells).build()
        around = WorkflowExecutor(inner, id="around")

        @executor(id="last")
        async def last(text: str, ctx: WorkflowContext[None, str]) -> None:
            await ctx.yield_output(f"{text}, {ctx.is_streaming()}")

        return WorkflowBuilder(name="outer", start_executor=around, output_from=[last]).add_edge(around, last).build()

    seen, _ = await assert_same(client, build, "streaming", stream=True)

    assert seen.outputs == ["streaming: False, True"]


# --- attempts that come to nothing --------------------------------------------------------------------------


async def test_what_a_failed_attempt_showed_is_taken_back(client: Client, task_queue: str) -> None:
    script = Script()
    words = failing_first(script, "one ", "two ", "three")
    async with serving(client, task_queue, one_agent(words), default_activity_options=QUICKLY) as durable:
        run = await durable.start("count", stream=True)
        seen = []
        async for event in run.stream():
            seen.append(event)
            if isinstance(event.data, AgentResponseUpdate) and event.data.text == "two ":
                script.release("failure")
        events = [event async for event in run.events()]

    [abandoned] = [event for event in seen if isinstance(event, AttemptAbandoned)]
    assert (abandoned.executor_id, abandoned.attempt, abandoned.type) == ("writer", 1, "warning")
    assert [told(event) for event in abandoned.events] == [told(event) for event in events[3:6]]
    assert_same_events(without_void(seen), events)


async def test_what_an_executor_showed_before_its_run_failed_is_taken_back(client: Client, task_queue: str) -> None:
    script = Script()
    build = one_agent(failing_first(script, "one ", "two ", "three"))
    once = ActivityConfig(start_to_close_timeout=timedelta(seconds=30), retry_policy=RetryPolicy(maximum_attempts=1))
    async with serving(client, task_queue, build, default_activity_options=once) as durable:
        run = await durable.start("count", stream=True)
        seen = []
        async for event in run.stream():
            seen.append(event)
            if isinstance(event.data, AgentResponseUpdate):
                script.release("failure")
        with pytest.raises(ConnectionError, match="the model is away"):
            await run.result()
        events = [event async for event in run.events()]

    assert [event.type for event in seen[-4:]] == ["executor_invoked", "executor_failed", "failed", "status"]
    assert [told(event) for event in without_void(seen)] == [told(event) for event in events]


async def test_an_executor_that_an_operator_runs_again_is_shown_anew(client: Client, task_queue: str) -> None:
    script = Script()
    build = one_agent(failing_first(script, "one ", "two ", "three"))
    once = ActivityConfig(start_to_close_timeout=timedelta(seconds=30), retry_policy=RetryPolicy(maximum_attempts=1))
    async with serving(client, task_queue, build, default_activity_options=once) as durable:
        run = await durable.start("count", stream=True, on_failure="wait")
        seen = []
        async for event in run.stream():
            seen.append(event)
            if isinstance(event.data, AgentResponseUpdate):
                script.release("failure")
            if isinstance(event, AttemptAbandoned):
                await until(lambda: _waits_for_operator(run))
                await run.retry()
        events = [event async for event in run.events()]

    assert [event.data.text for event in without_void(seen) if event.type == "output"] == ["one ", "two ", "three"]
    assert_same_events(without_void(seen), events)


@pytest.mark.parametrize("stop", ["cancel", "terminate"])
async def test_what_an_executor_showed_before_its_run_was_stopped_is_taken_back(
    client: Client, task_queue: str, stop: str
) -> None:
    script = Script()
    script.hold("second")
    async with serving(client, task_queue, one_agent(held(script, "first ", "second "))) as durable:
        run = await durable.start("count", stream=True)
        seen: list[Any] = []
        async for event in run.stream():
            seen.append(event)
            if isinstance(event.data, AgentResponseUpdate):
                await getattr(run.handle, stop)()
        script.release("second")

    [abandoned] = [event for event in seen if isinstance(event, AttemptAbandoned)]
    assert [event.type for event in abandoned.events] == ["executor_invoked", "output"]
    assert not [event for event in without_void(seen) if event.executor_id == "writer"]


async def test_a_subscriber_survives_the_death_of_a_worker_mid_stream(
    client: Client, server: str, task_queue: str, tmp_path: Any
) -> None:
    environment = {"ADDRESS": server, "TASK_QUEUE": task_queue, "STORE": str(tmp_path / "store")}
    first = scripts.start(_WORKER, **environment, GATE=str(tmp_path / "never"))
    (tmp_path / "open").touch()
    processes = [first]
    try:
        run = await _start(client, task_queue, environment["STORE"])
        seen = []
        async for event in run.stream():
            seen.append(event)
            if isinstance(event.data, AgentResponseUpdate) and event.data.text == "two " and len(processes) == 1:
                first.kill()
                processes.append(scripts.start(_WORKER, **environment, GATE=str(tmp_path / "open")))
        events = [event async for event in run.events()]
    finally:
        for process in processes:
            process.kill()
            process.communicate()

    [abandoned] = [event for event in seen if isinstance(event, AttemptAbandoned)]
    assert [event.data.text for event in abandoned.events if event.type == "output"][:2] == ["one ", "two "]
    assert_same_events(without_void(seen), events)
    assert [event.data.text for event in events if event.type == "output"] == ["one ", "two ", "three"]


# --- helpers ------------------------------------------------------------------------------------------------


_WORKER = """
    import asyncio, os
    from datetime import timedelta
    from pathlib import Path
    from temporalio.client import Client
    from temporalio.common import RetryPolicy
    from temporalio.worker import Worker
    from temporalio.workflow import ActivityConfig
    from temporal_adapter import AgentFrameworkPlugin
    from tests.support.agents import one_agent

    async def words(_):
        yield "one "
        yield "two "
        while not Path(os.environ["GATE"]).exists():
            await asyncio.sleep(0.02)
        yield "three"

    async def main():
        client = await Client.connect(os.environ["ADDRESS"])
        retry = RetryPolicy(initial_interval=timedelta(milliseconds=10))
        quickly = ActivityConfig(start_to_close_timeout=timedelta(seconds=4), retry_policy=retry)
        plugin = AgentFrameworkPlugin(
            [one_agent(words)], checkpoint_store=os.environ["STORE"], default_activity_options=quickly
        )
        await Worker(client, task_queue=os.environ["TASK_QUEUE"], plugins=[plugin]).run()

    asyncio.run(main())
"""


async def _start(client: Client, task_queue: str, store: str) -> DurableRun:
    from temporal_adapter import DurableWorkflow

    durable = DurableWorkflow(client, "one-agent", task_queue=task_queue, checkpoint_store=store)
    return await durable.start("count", stream=True)


def _in_turn(state: GroupChatState) -> str:
    return list(state.participants)[state.current_round % len(state.participants)]


def _approve(requests: Any) -> dict[str, Any]:
    return {request.request_id: True for request in requests}


async def _waits_for_operator(run: DurableRun) -> bool:
    return bool((await run.status()).failed_executors)
