"""Responses outlive workers, come twice, come early, meet workers that know nothing of the run: each counts once."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun, DurableWorkflow, ResponseRefused, pool
from tests.support.commands import environment, line_with, started
from tests.support.histories import count, scheduled
from tests.support.killable import BRISK, HELD, account
from tests.support.replaying import assert_replays
from tests.support.roles import deciding_or_acting
from tests.support.running import pending, serving, until
from tests.support.scripted import Script, asking, asking_beside_work

ANSWERED = [("entry", 0), ("superstep", 1), ("response", 1), ("superstep", 2)]


@pytest.mark.parametrize("door", ["signal", "update"])
async def test_a_worker_is_killed_between_a_response_and_its_checkpoint(
    client: Client, task_queue: str, tmp_path: Path, door: str
) -> None:
    build, store = account(tmp_path), BlobStore(str(tmp_path / "store"))
    async with serving(client, task_queue, build, store=store, default_activity_options=BRISK) as durable:
        run = await durable.start(500, id=task_queue)
        [request] = await pending(run)

    # Given a worker that has the response, and is killed before anything of it is in the store or in history
    with killable(client, task_queue, tmp_path) as process:
        await asyncio.to_thread(line_with, process, "ready")
        (tmp_path / "hold-writes").touch()
        answering = asyncio.create_task(send(run, door, answer(request, True, responder="ada")))
        await asyncio.to_thread(line_with, process, f"{HELD}writes")
        os.kill(process.pid, signal.SIGKILL)
    (tmp_path / "hold-writes").unlink()
    stored = BlobCheckpointStorage(store, workflow=build(), workflow_id=task_queue)
    assert len(await stored.list_checkpoint_ids(workflow_name="account")) == len(ANSWERED[:2])

    # Then it counts at the next worker, once, and is in one checkpoint
    async with serving(client, task_queue, build, store=store, default_activity_options=BRISK):
        accepted = await asyncio.wait_for(answering, 90)
        assert (await run.result()).get_outputs() == [500]
        assert await kinds(run) == ANSWERED
        response = (await run.checkpoints())[2]
        assert door == "signal" or accepted["responses"][0]["checkpoint_id"] == response.checkpoint_id
        await assert_replays(run)
    checkpoint = await stored.load(response.checkpoint_id)
    assert [one.data for one in checkpoint.messages["internal:account"]] == [True]
    assert [one["responder"] for one in checkpoint.metadata["responses"]] == ["ada"]


async def test_a_worker_is_killed_between_the_checkpoint_of_a_response_and_its_delivery(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    build, store = account(tmp_path), BlobStore(str(tmp_path / "store"))
    async with serving(client, task_queue, build, store=store, default_activity_options=BRISK) as durable:
        run = await durable.start(500)
        [request] = await pending(run)

    with killable(client, task_queue, tmp_path) as process:
        await asyncio.to_thread(line_with, process, "ready")
        (tmp_path / "hold-executor").touch()
        accepted = await send(run, "update", answer(request, True))
        await asyncio.to_thread(line_with, process, f"{HELD}executor")
        os.kill(process.pid, signal.SIGKILL)
    (tmp_path / "hold-executor").unlink()

    async with serving(client, task_queue, build, store=store, default_activity_options=BRISK):
        again = await send(run, "update", answer(request, True))
        with pytest.raises(ResponseRefused, match="already answered, with a different response"):
            await run.respond(request.request_id, False)
        assert (await run.result()).get_outputs() == [500]
        assert await kinds(run) == ANSWERED
        await assert_replays(run)
    assert again == accepted


@pytest.mark.parametrize("doors", [("signal", "update"), ("update", "signal"), ("update", "update")], ids="-".join)
async def test_the_same_response_by_two_doors_at_once_counts_once(
    client: Client, task_queue: str, doors: tuple[str, str]
) -> None:
    script = Script()
    async with serving(client, task_queue, asking(script)) as durable:
        for _ in range(4):
            run = await durable.start(7)
            [request] = await pending(run)

            await asyncio.gather(*(send(run, door, answer(request, True)) for door in doors))

            assert (await run.result()).get_outputs() == [("last", "0.5: True")]
            assert await warnings(run) == []
            assert [kind for kind, _ in await kinds(run)].count("response") == 1
    assert script.calls["ask answered"] == 4


async def test_of_two_different_responses_at_once_one_counts_and_the_other_is_told(
    client: Client, task_queue: str
) -> None:
    script = Script()
    script.hold("ask answered")
    async with serving(client, task_queue, asking(script)) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        answers = [run.respond(request.request_id, one, responder=str(one)) for one in (True, False, True, False)]
        outcomes = await asyncio.gather(*answers, return_exceptions=True)

        refused = [one for one in outcomes if isinstance(one, ResponseRefused)]
        [*_, accepted] = [one for one in outcomes if not isinstance(one, Exception)]
        assert len(refused) == 2
        assert all("already answered, with a different response" in str(one) for one in refused)
        script.release("ask answered")
        answer_ = not isinstance(outcomes[0], Exception)
        assert (await run.result()).get_outputs() == [("last", f"0.5: {answer_}")]
        trail = [(one.outcome, one.responder) for one in await run.responses()]
        await assert_replays(run)
    assert accepted.checkpoint_id is not None
    assert [one for one in trail if one[0] == "accepted"] == [("accepted", str(answer_))]


@pytest.mark.parametrize("door", ["signal", "update"])
async def test_a_worker_without_a_cache_and_without_graphs_takes_a_response(
    client: Client, task_queue: str, door: str
) -> None:
    store, build = BlobStore("memory://"), asking(Script(), 1.0, 2.0)
    with patch.object(pool, "_IDLE_GRAPHS", 0):
        async with serving(client, task_queue, build, store=store, max_cached_workflows=0) as durable:
            run = await durable.start(7)
            await pending(run, 2)
        for left in (2, 1):
            async with serving(client, task_queue, build, store=store, max_cached_workflows=0):
                request = (await pending(run, left))[-1]
                await send(run, door, answer(request, left == 1))
                await until(lambda left=left: has_left(run, left - 1))
        async with serving(client, task_queue, build, store=store, max_cached_workflows=0):
            outputs = (await run.result()).get_outputs()
            await assert_replays(run)
    assert outputs == [("last", "2.0: False"), ("last", "1.0: True")]


async def test_a_fresh_process_takes_a_response(client: Client, task_queue: str, tmp_path: Path) -> None:
    build, store = account(tmp_path), BlobStore(str(tmp_path / "store"))
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(500)
        [request] = await pending(run)

    with killable(client, task_queue, tmp_path):
        mine = DurableWorkflow(client, "account", task_queue=task_queue, checkpoint_store=store)
        await mine.get_run(run.id).respond(request.request_id, True)
        assert (await run.result()).get_outputs() == [500]


@pytest.mark.parametrize("door", ["signal", "update"])
async def test_a_response_that_a_worker_is_given_together_with_its_request_counts(
    client: Client, task_queue: str, door: str
) -> None:
    store, script = BlobStore("memory://"), Script()
    build = asking(script)
    durable = DurableWorkflow(client, "asking", task_queue=task_queue, checkpoint_store=store)

    # Given a run that no worker decides for, while its executor makes a request of which only history knows
    run = await durable.start(7)
    for done in range(2):  # the input is taken, then the executor works
        async with deciding_or_acting(client, task_queue, build, store=store, only="workflows"):
            await until(lambda done=done: has_scheduled(run, done + 1))
        async with deciding_or_acting(client, task_queue, build, store=store, only="activities"):
            await until(lambda done=done: has_completed(run, done + 1))
    request_id = await request_made(run)

    # When the response comes before any worker has seen the request
    answering = asyncio.create_task(send(run, door, {"request_id": request_id, "response": True}))
    await until(lambda: is_on_its_way(run, door, answering))

    # Then it counts
    async with serving(client, task_queue, build, store=store):
        await answering
        assert (await run.result()).get_outputs() == [("last", "0.5: True")]
        assert await warnings(run) == []
        await assert_replays(run)


async def test_responses_during_a_superstep_are_durable_at_once_and_delivered_at_its_end_in_order(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    script, store = Script(), BlobStore("memory://")
    script.hold("work")
    build = asking_beside_work(script)
    async with serving(client, task_queue, build, store=store, max_cached_workflows=0) as durable:
        run = await durable.start(7)
        await script.entered("work")
        [request] = await until(run.pending_requests)
        before = (await run.handle.describe()).history_length

        accepted = await run.respond(request.request_id, True, responder="ada", comment="while it works")

        # In history at once, which is what a worker goes by that knows nothing else
        assert (await run.handle.describe()).history_length > before
        assert [(one.outcome, one.responder, one.comment) for one in await run.responses()] == [
            ("accepted", "ada", "while it works")
        ]
        assert script.calls["ask answered"] == 0
        script.release("work")
        assert ("last", "0.5: True") in (await run.result()).get_outputs()
        [response] = [one for one in await run.checkpoints() if one.kind == "response"]
        await assert_replays(run)
    assert accepted.checkpoint_id == response.checkpoint_id


def killable(client: Client, task_queue: str, directory: Path) -> Any:
    """Return a worker process with the graph `account`, as a context."""
    arguments = [client.service_client.config.target_host, client.namespace, task_queue, str(directory)]
    return started("-m", "tests.support.killable", *arguments, env=environment())


def answer(request: Any, response: Any, **more: str) -> dict[str, Any]:
    return {"request_id": request.request_id, "response": response, **more}


async def send(run: DurableRun, door: str, data: Any) -> Any:
    if door == "signal":
        return await run.handle.signal("respond", data)
    return await run.handle.execute_update("respond", data)


async def kinds(run: DurableRun) -> list[tuple[str, int]]:
    return [(one.kind, one.iteration) for one in await run.checkpoints()]


async def warnings(run: DurableRun) -> list[Any]:
    return [event.data async for event in run.events() if event.type == "warning"]


async def has_left(run: DurableRun, count: int) -> bool:
    return len(await run.pending_requests()) == count


async def has_scheduled(run: DurableRun, times: int) -> bool:
    return len(scheduled(await run.handle.fetch_history())) == times


async def has_completed(run: DurableRun, times: int) -> bool:
    history = await run.handle.fetch_history()
    return count(history, EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED) == times


async def request_made(run: DurableRun) -> str:
    """Return the id of the request in the result of the run's executor, its last activity."""
    [*_, result] = [
        event.activity_task_completed_event_attributes.result
        for event in (await run.handle.fetch_history()).events
        if event.HasField("activity_task_completed_event_attributes")
    ]
    [data] = await run.handle._client.data_converter.decode(result.payloads)
    [request_id] = [event["request"]["request_id"] for event in data["events"] if event["type"] == "request_info"]
    return request_id


async def is_on_its_way(run: DurableRun, door: str, sent: asyncio.Task[Any]) -> bool:
    """Whether the server has what was sent: a signal in history, an update in a workflow task that waits."""
    history = await run.handle.fetch_history()
    if door == "signal":
        return any(event.HasField("workflow_execution_signaled_event_attributes") for event in history.events)
    await asyncio.sleep(0.3)  # an update that no worker has seen is nowhere to be looked up
    return not sent.done()
