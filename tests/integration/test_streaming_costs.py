"""What streaming costs a run, which is nothing where it is not asked for, and what cannot hurt one that streams."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, Interceptor, OutboundInterceptor, SignalWorkflowInput, WorkflowHistory
from temporalio.contrib.workflow_streams import WorkflowStreamClient
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer

from temporal_adapter import DurableRun, stream_log, workflow_type
from temporal_adapter.wire.names import STREAM_OFFSET, STREAM_PUBLISH
from tests.support.agents import one_agent, saying, slowly, two_agents
from tests.support.following import answering, told
from tests.support.graphs import ask_once, chain
from tests.support.histories import count
from tests.support.running import pending, serving, until

LONG = tuple(f"word{number} " for number in range(40))  # enough to be stored as one


async def test_a_run_that_does_not_stream_has_no_trace_of_streaming(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, one_agent(slowly(*LONG))) as durable:
        run = await durable.start("count")
        followed = [told(event) async for event in run.stream()]
        events = [told(event) async for event in run.events()]
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
    async with serving(client, task_queue, one_agent(slowly(*LONG, *LONG, seconds=0.02))) as durable:
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
    async with serving(client, task_queue, one_agent(slowly(*LONG, *LONG, seconds=0.03))) as durable:
        run = await durable.start("count", stream=True)
        seen = [told(event) async for event in run.stream()]
        events = [told(event) async for event in run.events()]
        history = await run.handle.fetch_history()

    assert seen == events
    assert 1 <= count(history, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) <= 4


async def test_a_streaming_run_replays(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, two_agents(slowly(*LONG), saying("x")), max_cached_workflows=0) as durable:
        run = await durable.start("count", stream=True)
        seen = [event async for event in answering(run)]
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
        async with serving(broken, task_queue, one_agent(slowly(*LONG, seconds=0.02))) as durable:
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
        seen = [told(event) async for event in run.stream()]
        events = [told(event) async for event in run.events()]

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


class _NoPublishing(Interceptor):
    """A client whose live batches do not arrive."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _NoPublishingOutbound(super().intercept_client(next))


class _NoPublishingOutbound(OutboundInterceptor):
    async def signal_workflow(self, input: SignalWorkflowInput) -> None:
        if input.signal == STREAM_PUBLISH:
            raise RPCError("The server is away.", RPCStatusCode.UNAVAILABLE, b"")
        await super().signal_workflow(input)


async def _all(events: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in events]


async def _has_update(run: DurableRun) -> bool:
    return count(await run.handle.fetch_history(), EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) > 0


# How the wire shapes of a streaming run differ: options and room, rank of an attempt, strips.
_KEYS = (b'"stream":', b'"attempt":"', b'"many":')


def _mentions(history: WorkflowHistory, text: bytes) -> bool:
    return any(text in event.SerializeToString() for event in history.events)
