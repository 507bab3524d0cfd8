"""A run that streams: updates reach whoever follows it while executors work, and its events are MAF's all the same."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import (
    AgentResponseUpdate,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    WorkflowExecutor,
    executor,
)
from temporalio.api.enums.v1 import EventType
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    SignalWorkflowInput,
    WorkflowFailureError,
    WorkflowHistory,
)
from temporalio.common import RetryPolicy
from temporalio.contrib.workflow_streams import WorkflowStreamClient
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer
from temporalio.workflow import ActivityConfig

from temporal_adapter import AttemptAbandoned, DurableRun, stream_log, workflow_type
from temporal_adapter.wire.names import STREAM_OFFSET, STREAM_PUBLISH
from tests.support import scripts
from tests.support.agents import Words, one_agent, saying, two_agents
from tests.support.differential import Observed, assert_same, difference_of
from tests.support.graphs import ask_once, chain
from tests.support.histories import count
from tests.support.running import pending, serving, until
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


async def test_who_follows_a_streaming_run_sees_what_its_events_say(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, two_agents(_slowly(*LONG), saying("at once"))) as durable:
        run = await durable.start("count", stream=True)
        seen = [event async for event in _answering(run)]
        events = [event async for event in run.events()]

    _assert_same(seen, events)
    assert not [event for event in seen if isinstance(event, AttemptAbandoned)]


async def test_an_update_is_seen_while_the_agent_goes_on(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("second")
    seen: list[str] = []
    async with serving(client, task_queue, one_agent(_held(script, "first ", "second "))) as durable:
        run = await durable.start("count", stream=True)
        async for event in run.stream():
            if isinstance(event.data, AgentResponseUpdate):
                seen.append(event.data.text)
                assert "executor_completed" not in [one.type async for one in _up_to_now(run)]
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
        every = [_told(event) async for event in run.events()]

        for offset in range(0, len(every) + 1, 7):
            assert [_told(event) async for event in run.events(offset)] == every[offset:]


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
    words = _failing_first(script, "one ", "two ", "three")
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
    assert [_told(event) for event in abandoned.events] == [_told(event) for event in events[3:6]]
    _assert_same(_without_void(seen), events)


async def test_what_an_executor_showed_before_its_run_failed_is_taken_back(client: Client, task_queue: str) -> None:
    script = Script()
    build = one_agent(_failing_first(script, "one ", "two ", "three"))
    once = ActivityConfig(start_to_close_timeout=timedelta(seconds=30), retry_policy=RetryPolicy(maximum_attempts=1))
    async with serving(client, task_queue, build, default_activity_options=once) as durable:
        run = await durable.start("count", stream=True)
        seen = []
        async for event in run.stream():
            seen.append(event)
            if isinstance(event.data, AgentResponseUpdate):
                script.release("failure")
        with pytest.raises((WorkflowFailureError, ConnectionError)):
            await run.result()
        events = [event async for event in run.events()]

    assert [event.type for event in seen[-4:]] == ["executor_invoked", "executor_failed", "failed", "status"]
    assert [_told(event) for event in _without_void(seen)] == [_told(event) for event in events]


@pytest.mark.parametrize("stop", ["cancel", "terminate"])
async def test_what_an_executor_showed_before_its_run_was_stopped_is_taken_back(
    client: Client, task_queue: str, stop: str
) -> None:
    script = Script()
    script.hold("second")
    async with serving(client, task_queue, one_agent(_held(script, "first ", "second "))) as durable:
        run = await durable.start("count", stream=True)
        seen: list[Any] = []
        async for event in run.stream():
            seen.append(event)
            if isinstance(event.data, AgentResponseUpdate):
                await getattr(run.handle, stop)()
        script.release("second")

    [abandoned] = [event for event in seen if isinstance(event, AttemptAbandoned)]
    assert [event.type for event in abandoned.events] == ["executor_invoked", "output"]
    assert not [event for event in _without_void(seen) if event.executor_id == "writer"]


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
    _assert_same(_without_void(seen), events)
    assert [event.data.text for event in events if event.type == "output"] == ["one ", "two ", "three"]


# --- what it costs, and what cannot hurt it -----------------------------------------------------------------


async def test_a_run_that_does_not_stream_has_no_trace_of_streaming(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, one_agent(_slowly(*LONG))) as durable:
        run = await durable.start("count")
        followed = [_told(event) async for event in run.stream()]
        events = [_told(event) async for event in run.events()]
        history = await run.handle.fetch_history()
        streaming = await durable.start("count", stream=True)
        await streaming.result()
        streamed = await streaming.handle.fetch_history()

    assert followed == events
    assert count(history, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) == 0
    assert not any(_mentions(history, key) for key in _KEYS)
    assert all(_mentions(streamed, key) for key in _KEYS)


async def test_executors_that_are_done_at_once_cost_a_streaming_run_nothing(client: Client, task_queue: str) -> None:
    lengths = []
    async with serving(client, task_queue, chain) as durable:
        for stream in (False, True):
            run = await durable.start(1, stream=stream)
            await run.result()
            lengths.append(len((await run.handle.fetch_history()).events))

    assert lengths[0] == lengths[1]


async def test_a_slow_answer_costs_a_few_signals_and_those_who_follow_it_cost_none(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, one_agent(_slowly(*LONG, *LONG, seconds=0.02))) as durable:
        run = await durable.start("count", stream=True)
        followers = await asyncio.gather(*(_all(run.stream()) for _ in range(5)))
        history = await run.handle.fetch_history()
    seconds = (history.events[-1].event_time.ToDatetime() - history.events[0].event_time.ToDatetime()).total_seconds()

    assert len({len(seen) for seen in followers}) == 1
    assert 2 <= count(history, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) <= 2 + seconds / 0.2
    assert count(history, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) == 0


async def test_when_history_has_no_more_room_the_rest_is_seen_at_the_end(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_log, "_EVENTS_LIMIT", 40)  # room for four batches of a first attempt
    async with serving(client, task_queue, one_agent(_slowly(*LONG, *LONG, seconds=0.03))) as durable:
        run = await durable.start("count", stream=True)
        seen = [_told(event) async for event in run.stream()]
        events = [_told(event) async for event in run.events()]
        history = await run.handle.fetch_history()

    assert seen == events
    assert 1 <= count(history, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) <= 4


async def test_a_streaming_run_replays(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, two_agents(_slowly(*LONG), saying("x")), max_cached_workflows=0) as durable:
        run = await durable.start("count", stream=True)
        seen = [event async for event in _answering(run)]
        history = await run.handle.fetch_history()

    assert [event.type for event in seen][-1] == "status"
    assert count(history, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) > 0
    replayed = await Replayer(workflows=[workflow_type("two-agents")]).replay_workflow(history)
    assert replayed.replay_failure is None


async def test_an_executor_goes_on_unseen_when_its_events_cannot_be_published(
    client: Client, task_queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Client(**{**client.config(), "interceptors": [_NoPublishing()]})
    with caplog.at_level(logging.WARNING, logger="temporal_adapter.host.live"):
        async with serving(broken, task_queue, one_agent(_slowly(*LONG, seconds=0.02))) as durable:
            run = await durable.start("count", stream=True)
            seen = [event.data.text async for event in run.stream() if event.type == "output"]

    assert seen == list(LONG)
    assert "'writer'" in caplog.text


async def test_signals_that_are_no_batches_are_ignored(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(3, stream=True)
        [request] = await pending(run)
        await run.handle.signal(STREAM_PUBLISH, {"items": [{"topic": "events", "data": "no base64"}]})
        await run.handle.signal(STREAM_PUBLISH, "nonsense")
        async with WorkflowStreamClient.create(client, run.id) as stranger:
            stranger.topic("events").publish({"executor_id": "ask", "rank": "~", "attempt": 1, "position": 0})
        await run.respond(request.request_id, True)
        seen = [_told(event) async for event in run.stream()]
        events = [_told(event) async for event in run.events()]

    assert seen == events


async def test_the_workflow_keeps_a_bounded_log(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(3, stream=True)
        [request] = await pending(run)
        publisher = WorkflowStreamClient.create(client, run.id)
        for number in range(30):
            publisher.topic("noise").publish(f"{number} {'x' * 100_000}")
            await publisher.flush()
        offset = await run.handle.query(STREAM_OFFSET)
        kept = await run.handle.query("__temporal_workflow_stream_poll", {"topics": [], "from_offset": 0})
        await run.respond(request.request_id, True)
        await run.result()

    assert offset == 30
    assert 1 <= 30 - kept["items"][0]["offset"] <= 10


async def test_a_subscriber_by_update_does_not_keep_a_run_from_its_end(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(3, stream=True)
        [request] = await pending(run)
        polling = asyncio.create_task(_all(WorkflowStreamClient.create(client, run.id).subscribe(["events"])))
        await until(lambda: _has_update(run))
        await run.respond(request.request_id, True)
        await run.result()
        await polling


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


def _slowly(*words: str, seconds: float = 0.01) -> Words:
    async def say(_: str) -> AsyncIterable[str]:
        for word in words:
            await asyncio.sleep(seconds)
            yield word

    return say


def _held(script: Script, first: str, *rest: str) -> Words:
    """Words of which those after the first wait at the step `second`."""

    async def say(_: str) -> AsyncIterable[str]:
        yield first
        await script.enter("second")
        for word in rest:
            yield word

    return say


def _failing_first(script: Script, *words: str) -> Words:
    """Words of which the last never comes in a first attempt; that fails once the step `failure` is released."""
    script.hold("failure")

    async def say(_: str) -> AsyncIterable[str]:
        for word in words[:-1]:
            yield word
        if not script.calls["failure"]:
            await script.enter("failure")
            raise ConnectionError("the model is away")
        yield words[-1]

    return say


class _NoPublishing(Interceptor):
    """A client whose live batches do not arrive."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _NoPublishingOutbound(super().intercept_client(next))


class _NoPublishingOutbound(OutboundInterceptor):
    async def signal_workflow(self, input: SignalWorkflowInput) -> None:
        if input.signal == STREAM_PUBLISH:
            raise RPCError("The server is away.", RPCStatusCode.UNAVAILABLE, b"")
        await super().signal_workflow(input)


def _approve(requests: Any) -> dict[str, Any]:
    return {request.request_id: True for request in requests}


async def _answering(run: DurableRun) -> AsyncIterator[WorkflowEvent[Any]]:
    async for event in run.stream():
        yield event
        if event.type == "request_info":
            await pending(run)
            await run.respond(event.request_id, True)


async def _up_to_now(run: DurableRun) -> AsyncIterator[WorkflowEvent[Any]]:
    so_far = (await run.status()).events
    offset = 0
    async for event in run.events():
        offset += 1
        yield event
        if offset == so_far:
            return


async def _all(events: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in events]


async def _has_update(run: DurableRun) -> bool:
    return count(await run.handle.fetch_history(), EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) > 0


# How the wire shapes of a streaming run differ: options and room, rank of an attempt, strips.
_KEYS = (b'"stream":', b'"attempt":"', b'"many":')


def _mentions(history: WorkflowHistory, text: bytes) -> bool:
    return any(text in event.SerializeToString() for event in history.events)


def _without_void(seen: list[WorkflowEvent[Any]]) -> list[WorkflowEvent[Any]]:
    void = [id(event) for one in seen if isinstance(one, AttemptAbandoned) for event in [one, *one.events]]
    return [event for event in seen if id(event) not in void]


def _assert_same(seen: list[WorkflowEvent[Any]], events: list[WorkflowEvent[Any]]) -> None:
    """Assert that they are the same, but for the order in which executors took turns."""
    assert len(seen) == len(events)
    difference = difference_of(Observed(events), Observed(seen), sides=("in its events", "as followed"))
    assert difference is None, difference


def _told(event: WorkflowEvent[Any]) -> Any:
    """What tells an event from others, in what can be compared by `==`."""
    data = event.data.text if isinstance(event.data, AgentResponseUpdate) else type(event.data)
    return event.type, event.executor_id, event.iteration, event.state, data
