"""A lost, half lost or damaged store is rebuilt from the runs' histories, and open runs go on from what is rebuilt."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, WorkflowEvent, executor
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun
from temporal_adapter.recovery import rebuild, verify
from tests.support.differential import resume_in_process
from tests.support.graphs import Report, ask_once, ask_twice, chain
from tests.support.nested import three_levels
from tests.support.recovering import Gather, contents, filling_child, gathering_then_asking, reporting_at_length
from tests.support.running import failure_of, pending, serving, until
from tests.support.scripted import Script, failing, flaky_between

LARGE = 100_000
ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))
ASKING = {
    "small": ask_once,
    "two requests": ask_twice,
    "with a base": gathering_then_asking,
    "large values": reporting_at_length(LARGE),
    "sub-workflows": three_levels,
    "stowed sub-workflow": filling_child(16),
}


async def paused(client: Client, task_queue: str, build: Callable[[], Workflow], store: BlobStore) -> DurableRun:
    """Run a graph up to its pause; then its worker ends."""
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)
    return run


async def answered(client: Client, task_queue: str, build: Callable[[], Workflow], store: BlobStore) -> list[object]:
    """Answer all requests of the paused run, on a new worker; return the run's outputs."""
    async with serving(client, task_queue, build, store=store) as durable:
        run = durable.get_run(task_queue)
        for request in await pending(run):
            await run.respond(request.request_id, True)
        return (await run.result()).get_outputs()


@pytest.mark.parametrize("name", [name for name in ASKING if name != "large values"])
async def test_an_open_run_goes_on_after_the_whole_store_was_lost_and_rebuilt(
    client: Client, task_queue: str, tmp_path: Path, name: str
) -> None:
    build, place = ASKING[name], str(tmp_path / "store")
    await paused(client, task_queue, build, BlobStore(place))
    before = await verify(client, task_queue, place)
    shutil.rmtree(place)

    rebuilt = await rebuild(client, task_queue, BlobStore(place))

    assert before.same, before.differences
    assert rebuilt.complete, rebuilt
    [of_run] = rebuilt.runs
    assert len(of_run.written) == before.checkpoints
    assert bool(of_run.values) == (name == "stowed sub-workflow")
    after = await verify(client, task_queue, place)
    assert after.same, after.differences
    outputs = await answered(client, task_queue, build, BlobStore(place))
    assert outputs
    at_the_end = await verify(client, task_queue, place)
    assert at_the_end.same, at_the_end.differences
    assert at_the_end.checkpoints > before.checkpoints
    await _assert_each_opens(build, place, task_queue)


async def _assert_each_opens(build: Callable[[], Workflow], place: str, workflow_id: str) -> None:
    storage = BlobCheckpointStorage(place, workflow=build(), workflow_id=workflow_id, read_only=True)
    ids = await storage.list_checkpoint_ids(workflow_name=build().name)
    assert ids
    for checkpoint_id in ids:
        resumed = await resume_in_process(
            build, storage, checkpoint_id, lambda requests: {one.request_id: True for one in requests}
        )
        assert resumed.error is None, resumed.error


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("name", ["two requests", "with a base", "stowed sub-workflow"])
async def test_half_of_the_objects_are_deleted(
    client: Client, task_queue: str, tmp_path: Path, name: str, half: int
) -> None:
    build, store = ASKING[name], BlobStore(tmp_path / "store")
    await paused(client, task_queue, build, store)
    for object_name in (await store.list(""))[half::2]:
        await store.delete(object_name)

    lacking = await verify(client, task_queue, store)
    rebuilt = await rebuild(client, task_queue, store)

    assert not lacking.same
    assert rebuilt.complete, rebuilt
    after = await verify(client, task_queue, store)
    assert after.same, after.differences
    assert await answered(client, task_queue, build, BlobStore(tmp_path / "store"))


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: data[::-1]])
@pytest.mark.parametrize("name", ["two requests", "with a base", "stowed sub-workflow"])
async def test_all_objects_are_damaged(
    client: Client, task_queue: str, tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    build, store = ASKING[name], BlobStore(tmp_path / "store")
    await paused(client, task_queue, build, store)
    for object_name, data in (await contents(store)).items():
        await store.put(object_name, damage(data))

    lacking = await verify(client, task_queue, store)
    rebuilt = await rebuild(client, task_queue, store)

    assert not lacking.same
    assert rebuilt.complete, rebuilt
    after = await verify(client, task_queue, store)
    assert after.same, after.differences
    assert await answered(client, task_queue, build, BlobStore(tmp_path / "store"))


async def test_values_that_were_in_the_store_alone_are_named_as_lost_and_all_else_is_there(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    build, place = ASKING["large values"], str(tmp_path / "store")
    await paused(client, task_queue, build, BlobStore(place))
    shutil.rmtree(place)

    rebuilt = await rebuild(client, task_queue, place)

    [run] = rebuilt.runs
    assert not rebuilt.complete
    assert not run.failed
    entry, after_write, after_pass, _ = run.written
    lost = {(one.checkpoint_id, one.place) for one in run.lost}
    assert (after_write, "state['report']") in lost
    assert (after_write, "messages[0].data") in lost
    assert (after_pass, "state['report']") in lost
    assert all(one.size > LARGE and len(one.reference) == 64 for one in run.lost)
    assert {id for id, _ in lost} == {*run.written} - {entry}
    assert {one.place for one in run.lost} == {"state['report']", "messages[0].data"}
    told = await verify(client, task_queue, place)
    assert {one.kind for one in told.differences} == {"value lost"}
    assert {(one.checkpoint_id, one.place) for one in told.differences} == lost


async def test_rebuilding_an_intact_store_changes_nothing(client: Client, task_queue: str, tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "store")
    await paused(client, task_queue, gathering_then_asking, store)
    before = await contents(store)

    rebuilt = await rebuild(client, task_queue, store)

    assert await contents(store) == before
    [run] = rebuilt.runs
    assert not run.written
    assert len(run.kept) == 4


async def test_rebuilding_again_changes_nothing(client: Client, task_queue: str, tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "store")
    await paused(client, task_queue, gathering_then_asking, BlobStore("memory://"))
    first = await rebuild(client, task_queue, store)
    before = await contents(store)

    second = await rebuild(client, task_queue, store)

    assert await contents(store) == before
    assert second.runs[0].kept == first.runs[0].written


async def test_a_checkpoint_that_says_otherwise_is_put_right(client: Client, task_queue: str, tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "store")
    await paused(client, task_queue, gathering_then_asking, store)
    names = await store.list(f"{client.namespace}/checkpoints")
    await store.put(names[0], await store.get(names[1]))

    lacking = await verify(client, task_queue, store)
    rebuilt = await rebuild(client, task_queue, store)

    assert [one.kind for one in lacking.differences] == ["damaged"]
    assert len(rebuilt.runs[0].written) == 1
    assert (await verify(client, task_queue, store)).same


async def test_failed_and_retried_runs_are_rebuilt(client: Client, task_queue: str, tmp_path: Path) -> None:
    store, script = BlobStore("memory://"), Script()
    flaky = flaky_between(script, 1, lambda: ConnectionError("away"))
    async with serving(client, task_queue, flaky, store=store) as durable:
        await (await durable.start(1, id=f"{task_queue}-retried")).result()
    fails = failing(lambda: ValueError("no"))
    async with serving(client, task_queue, fails, store=store, default_activity_options=ONCE) as durable:
        await failure_of(await durable.start(1, id=f"{task_queue}-failed"))

    for id in (f"{task_queue}-retried", f"{task_queue}-failed"):
        intact = await verify(client, id, store)
        assert intact.same, intact.differences
        lost = BlobStore("memory://")
        rebuilt = await rebuild(client, id, lost)
        assert rebuilt.complete
        assert len(rebuilt.runs[0].written) == intact.checkpoints
        again = await verify(client, id, lost)
        assert again.same, again.differences


async def test_all_runs_of_a_workflow_id_are_rebuilt(client: Client, task_queue: str) -> None:
    store, lost, id = BlobStore("memory://"), BlobStore("memory://"), f"it's {task_queue}"
    async with serving(client, task_queue, chain, store=store) as durable:
        for message in (1, 2):
            await (await durable.start(message, id=id)).result()

    rebuilt = await rebuild(client, id, lost)

    assert len(rebuilt.runs) == 2
    assert all(len(run.written) == 4 for run in rebuilt.runs)
    assert (await verify(client, id, lost)).same


async def test_the_worker_that_was_there_before_goes_on_with_what_is_rebuilt(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    place = str(tmp_path / "store")
    async with serving(client, task_queue, gathering_then_asking, store=BlobStore(place)) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        shutil.rmtree(place)
        await rebuild(client, task_queue, place)
        await run.respond(request.request_id, True)
        outputs = (await run.result()).get_outputs()

    assert outputs == [("last", "ask: 3? True")]
    told = await verify(client, task_queue, place)
    assert told.same, told.differences
    await _assert_each_opens(gathering_then_asking, place, task_queue)


async def test_an_open_run_that_waits_for_the_lost_store_goes_on_by_itself_once_it_is_rebuilt(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    place = str(tmp_path / "store")
    await paused(client, task_queue, gathering_then_asking, BlobStore(place))
    shutil.rmtree(place)
    async with serving(client, task_queue, gathering_then_asking, store=BlobStore(place)) as durable:
        run = durable.get_run(task_queue)
        [request] = await run.pending_requests()
        await run.respond(request.request_id, True)

        async def waits() -> bool:
            return any(event.type == "warning" for event in [event async for event in _so_far(run)])

        await until(waits)
        await rebuild(client, task_queue, place)
        outputs = (await run.result()).get_outputs()

    assert outputs == [("last", "ask: 3? True")]
    told = await verify(client, task_queue, place)
    assert told.same, told.differences


async def _so_far(run: DurableRun) -> AsyncIterator[WorkflowEvent[Any]]:
    count = (await run.status()).events
    async for event in run.events():
        yield event
        count -= 1
        if not count:
            return


async def test_a_resumed_run_is_rebuilt_after_the_one_that_it_goes_on_from(client: Client, task_queue: str) -> None:
    store, lost, fails = BlobStore("memory://"), BlobStore("memory://"), [True]

    def build() -> Workflow:
        @executor(id="once")
        async def once(value: int, ctx: WorkflowContext[int]) -> None:
            if fails[0]:
                raise ValueError("not yet")
            await ctx.send_message(value)

        first, second, last = Gather(id="first"), Gather(id="second"), Report("last")
        builder = WorkflowBuilder(name="resumed", start_executor=first)
        return builder.add_chain([first, second, once, last]).build()

    async with serving(client, task_queue, build, store=store, default_activity_options=ONCE) as durable:
        await failure_of(await durable.start(1, id=task_queue))
        fails[0] = False
        resumed = await durable.resume(task_queue)
        await resumed.result()
    intact = await verify(client, task_queue, store)

    only_the_last = await rebuild(client, task_queue, lost, run_id=intact.run_ids[1])
    both = await rebuild(client, task_queue, lost)

    assert intact.same, intact.differences
    assert not only_the_last.complete
    assert both.complete, both
    again = await verify(client, task_queue, lost)
    assert again.same, again.differences
    assert again.checkpoints == intact.checkpoints
