"""What people send may be large: it reaches the adapter's own activities by way of the blob store, once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory

from temporal_adapter import BlobStore, DurableRun, calls
from tests.support.faulty import FaultyStore
from tests.support.graphs import Report
from tests.support.histories import count, scheduled
from tests.support.links import links_of, replay_failures
from tests.support.running import pending, serving, tells, until

LARGE = 1_300_000  # characters; Temporal takes 2 MiB


class Desk(Executor):
    @handler
    async def ask(self, text: str, ctx: WorkflowContext[str]) -> None:
        await ctx.request_info(len(text), str)

    @response_handler
    async def answered(self, asked: int, answer: str, ctx: WorkflowContext[str, Any]) -> None:
        await ctx.yield_output((asked, len(answer)))


def desk() -> Workflow:
    return WorkflowBuilder(name="desk", start_executor=Desk("desk")).build()


def changed_desk() -> Workflow:
    start = Desk("desk")
    return WorkflowBuilder(name="desk", start_executor=start).add_edge(start, Report("report")).build()


def own_activities(history: WorkflowHistory) -> list[str]:
    return [one.activity_type.name.partition(":")[2] for one in scheduled(history) if ":" in one.activity_type.name]


def test_parts_make_the_whole() -> None:
    text = "".join(str(number) for number in range(200_000))
    parts = calls.in_parts(text)
    assert "".join(parts) == text
    assert len(parts) == 5
    assert max(map(len, parts)) == 256 * 1024


@pytest.mark.parametrize("cached", [0, 1000])
async def test_an_input_and_a_response_of_more_than_a_megabyte_are_taken(
    client: Client, task_queue: str, cached: int
) -> None:
    async with serving(client, task_queue, desk, max_cached_workflows=cached) as durable:
        run = await durable.start("i" * LARGE, id=task_queue)
        [request] = await pending(run)
        await run.respond(request.request_id, "r" * LARGE)
        outputs = (await run.result()).get_outputs()

    assert outputs == [(LARGE, LARGE)]
    [history] = await links_of(client, task_queue)
    assert count(history, EventType.EVENT_TYPE_MARKER_RECORDED) == 1  # of the guard: there is no local activity
    parts = ["keep"] * (LARGE // (256 * 1024) + 1)
    own = [one for one in own_activities(history) if one in ("keep", "seed", "respond")]
    assert own == [*parts, "seed", *parts, "respond"]
    assert await replay_failures([history]) == []


async def test_what_is_tried_again_for_long_passes_through_history_once_more_and_then_never(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "PAUSE", timedelta(milliseconds=50))
    monkeypatch.setattr(calls, "LONGEST_PAUSE", timedelta(milliseconds=100))
    store, answer = BlobStore("memory://"), "r" * 100_000
    async with serving(client, task_queue, desk, store=store) as durable:
        run = await durable.start("now", id=task_queue)
        [request] = await pending(run)
    async with serving(client, task_queue, changed_desk, store=store):
        await run.handle.signal("respond", {"request_id": request.request_id, "response": answer})
        await until(lambda: tries(run, 8))
    async with serving(client, task_queue, desk, store=store):
        assert (await run.result()).get_outputs() == [(3, len(answer))]

    [history] = await links_of(client, task_queue)
    asked = [one.ByteSize() for one in scheduled(history) if one.activity_type.name in ("desk:respond", "desk:keep")]
    assert len([size for size in asked if size > len(answer)]) == 2  # once as it is, once to the blob store
    assert len([size for size in asked if size < 2000]) >= 7
    assert await replay_failures([history]) == []


async def tries(run: DurableRun, times: int) -> bool:
    return own_activities(await run.handle.fetch_history()).count("respond") >= times


async def test_one_of_the_adapters_own_activities_that_takes_too_long_is_told_and_tried_again(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(calls._OWN, "start_to_close_timeout", timedelta(milliseconds=300))
    monkeypatch.setattr(calls, "PAUSE", timedelta(milliseconds=50))
    store = FaultyStore()
    store.seconds = 2.0
    async with serving(client, task_queue, desk, store=store) as durable:
        run = await durable.start("now", id=task_queue)
        await until(
            lambda: tells(run, "The run waits, and is tried again: AdapterActivityTimedOut: activity 'desk:seed'")
        )
        store.seconds = 0.0
        [request] = await pending(run)
        await run.respond(request.request_id, "yes")
        assert (await run.result()).get_outputs() == [(3, 3)]
    [history] = await links_of(client, task_queue)
    assert await replay_failures([history]) == []
