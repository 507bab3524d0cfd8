"""What a run's checkpoints are follows from its history alone: what the run itself had written to the store."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory
from temporalio.common import RetryPolicy
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobStore
from temporal_adapter.recovery import NotReplayable, expected, rebuild, verify
from tests.support.differential import run_on_temporal
from tests.support.graphs import GRAPHS, Graph, ask_twice, chain
from tests.support.nested import NESTED
from tests.support.recovering import (
    assert_store_has,
    checkpoints_of,
    from_history,
    gathering_then_asking,
    values_of,
)
from tests.support.running import failure_of, pending, serving, until
from tests.support.scripted import Script, asking_beside_work, flaky_between, steps

UNDER_WAY = {
    EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
}


@pytest.mark.parametrize(
    "graph", [pytest.param(graph, id=name) for graphs in (GRAPHS, NESTED) for name, graph in graphs.items()]
)
async def test_a_runs_history_says_what_its_checkpoints_are(client: Client, task_queue: str, graph: Graph) -> None:
    store = BlobStore("memory://")
    observed = await run_on_temporal(client, graph.build, graph.message, graph.answers, id=task_queue, store=store)

    wanted = await from_history(client, task_queue)

    assert len(wanted.checkpoints) == len(observed.checkpoints) > 0
    assert not wanted.unknown
    await assert_store_has(client, store, wanted)


@pytest.mark.parametrize("count", [1, 4])
async def test_of_an_open_run_what_it_recorded_by_then(client: Client, task_queue: str, count: int) -> None:
    store, script = BlobStore("memory://"), Script()
    held = ["one", "two", "three", "four"][count - 1]
    script.hold(held)
    async with serving(client, task_queue, steps(script, "one", "two", "three", "four"), store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await script.entered(held)
        wanted = await from_history(client, task_queue)
        recorded = [header.checkpoint_id for header in await run.checkpoints()]
        await run.handle.terminate("seen enough")

    assert wanted.closed is None
    assert wanted.ids == recorded
    assert len(recorded) == count
    assert len(wanted.in_flight) == 1
    assert not wanted.discarded
    closed = await from_history(client, task_queue)
    assert closed.closed == "terminated"
    assert closed.ids == recorded
    assert set(closed.discarded) == wanted.in_flight


async def test_a_history_that_ends_anywhere_says_no_more_than_the_whole_one(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        run = await durable.start(1, id=task_queue)
        for request in await pending(run, 2):
            await run.respond(request.request_id, True)
        await run.result()
    history = await run.handle.fetch_history()
    whole = (await from_history(client, task_queue)).ids

    shorter = [await _ids_of(client, history, end) for end in range(1, len(history.events))]

    assert all(whole[: len(ids)] == ids for ids in shorter)
    assert shorter[0] == []
    assert sorted(map(len, shorter)) == list(map(len, shorter))
    assert len(shorter[-1]) == len(whole)
    for end, event in enumerate(history.events[:-1]):
        if event.event_type in UNDER_WAY and end:
            assert shorter[end] == shorter[end - 1], "it counts once a workflow task has taken it in"


async def _ids_of(client: Client, history: WorkflowHistory, end: int) -> list[str]:
    store = BlobStore("memory://")
    cut = WorkflowHistory(history.workflow_id, history.events[:end])
    wanted = await expected(cut, checkpoints=checkpoints_of(client, store), values=values_of(client, store))
    return wanted.ids


async def test_responses_by_signal_and_update_while_other_work_goes_on(client: Client, task_queue: str) -> None:
    store, script = BlobStore("memory://"), Script()
    script.hold("work")
    async with serving(client, task_queue, asking_beside_work(script), store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await script.entered("work")
        [request] = await until(run.pending_requests)
        answer = asyncio.ensure_future(run.respond(request.request_id, True))
        await run.handle.signal("respond", {"request_id": "unknown", "response": 1})
        script.release("work")
        await answer
        await run.result()

    wanted = await from_history(client, task_queue)

    assert "response" in [one.manifest.header.kind for one in wanted.checkpoints]
    await assert_store_has(client, store, wanted)


async def test_a_streaming_run(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, chain, store=store) as durable:
        await (await durable.start(1, id=task_queue, stream=True)).result()

    wanted = await from_history(client, task_queue)

    assert wanted.run.stream
    await assert_store_has(client, store, wanted)


async def test_a_run_that_was_cancelled(client: Client, task_queue: str) -> None:
    store, script = BlobStore("memory://"), Script()
    script.hold("two")
    async with serving(client, task_queue, steps(script, "one", "two", "three"), store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await script.entered("two")
        await run.handle.cancel()
        with pytest.raises(Exception):  # noqa: B017, PT011 - the client's business
            await run.result()

    wanted = await from_history(client, task_queue)

    assert wanted.run.ended is not None
    assert wanted.run.ended.state == "cancelled"
    assert len(wanted.discarded) == 1
    await assert_store_has(client, store, wanted)
    told = await verify(client, task_queue, store)
    assert told.same, told.differences


async def test_a_run_that_waits_for_its_operator_and_one_that_failed(client: Client, task_queue: str) -> None:
    store, script = BlobStore("memory://"), Script()
    once = ActivityConfig(start_to_close_timeout=timedelta(seconds=20), retry_policy=RetryPolicy(maximum_attempts=1))
    build = flaky_between(script, 2, lambda: ConnectionError("away"))
    async with serving(client, task_queue, build, store=store, default_activity_options=once) as durable:
        waiting = await durable.start(1, id=f"{task_queue}-waits", on_failure="wait")

        async def waits() -> bool:
            return bool((await waiting.status()).failed_executors)

        await until(waits)
        open_still = await from_history(client, waiting.id)
        failed = await durable.start(1, id=f"{task_queue}-fails")
        await failure_of(failed)
        await waiting.retry()
        await waiting.result()

    assert open_still.run.on_failure == "wait"
    for id in (waiting.id, failed.id):
        await assert_store_has(client, store, await from_history(client, id))
        told = await verify(client, id, store)
        assert told.same, told.differences
    assert (await from_history(client, failed.id)).run.ended is not None


async def test_a_session_with_two_lineages(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, gathering_then_asking, store=store) as durable:
        session = durable.session(task_queue)
        asked = await session.run(1)
        [request] = asked.get_request_info_events()
        await session.run(responses={request.request_id: True})
        await session.reset()
        await session.run(2)
        told = await verify(client, task_queue, store)
        await session.close()
        await session.durable_run.handle.result()

    wanted = await from_history(client, task_queue)

    assert told.same, told.differences
    assert [one.manifest.header.previous_checkpoint_id for one in wanted.checkpoints].count(None) == 2
    assert wanted.run.session
    assert wanted.run.ended is not None
    lost = BlobStore("memory://")
    assert (await rebuild(client, task_queue, lost)).complete
    again = await verify(client, task_queue, lost)
    assert again.same, again.differences


async def test_a_fork_is_laid_over_the_checkpoint_of_another_run(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, gathering_then_asking, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)
        headers = await run.checkpoints()
        fork = await durable.fork(headers[1].checkpoint_id, id=f"{task_queue}-fork", state={"first 1": "other"})
        await pending(fork)

    told = await verify(client, fork.id, store)
    without = BlobStore("memory://")
    alone = await rebuild(client, fork.id, without)
    await rebuild(client, run.id, without)
    then = await rebuild(client, fork.id, without)

    assert told.same, told.differences
    assert not alone.complete
    assert all("Rebuild that run first" in one.reason for one in alone.runs[0].failed)
    assert then.complete
    assert (await verify(client, fork.id, without)).same


async def test_a_history_of_something_else_is_refused(client: Client, task_queue: str) -> None:
    handle = await client.start_workflow("not-ours", id=task_queue, task_queue=task_queue)
    await handle.terminate("it has no worker")
    wanted = await from_history(client, task_queue)
    assert wanted.ids == []  # no workflow task was completed: nothing is known of it

    async with Worker(client, task_queue=task_queue, workflows=[Foreign]):
        await client.execute_workflow(Foreign.run, id=f"{task_queue}-foreign", task_queue=task_queue)
    with pytest.raises(NotReplayable, match="cannot be replayed"):
        await from_history(client, f"{task_queue}-foreign")


@workflow.defn(name="foreign", sandboxed=False)
class Foreign:
    @workflow.run
    async def run(self) -> None:
        await asyncio.sleep(0.01)
