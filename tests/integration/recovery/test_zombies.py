"""What an attempt writes to the store after it timed out changes nothing that verify, a reader or a resume sees."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, executor
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage
from temporal_adapter.recovery import rebuild, verify
from tests.support.graphs import Add
from tests.support.recovering import LateStore
from tests.support.running import serving
from tests.support.scripted import Script

ENTRY, START, CALL = 1, 2, 3  # the checkpoints of the graph below, in order


def attempts(script: Script) -> Callable[[], Workflow]:
    """Return a factory of a graph whose last executor keeps which attempt of it ran."""

    def build() -> Workflow:
        start = Add("start")

        @executor(id="call")
        async def call(value: int, ctx: WorkflowContext[int, int]) -> None:
            attempt = await script.enter("call")
            ctx.set_state("attempt", attempt)
            await ctx.yield_output(attempt)

        return WorkflowBuilder(name="attempts", start_executor=start).add_edge(start, call).build()

    return build


def soon(attempts: int) -> ActivityConfig:
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=1),
        retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=attempts),
    )


async def latest(store: LateStore, build: Callable[[], Workflow], workflow_id: str) -> Any:
    storage = BlobCheckpointStorage(store, workflow=build(), workflow_id=workflow_id)
    return await storage.get_latest(workflow_name="attempts")


async def test_a_zombie_that_writes_after_its_retry_was_recorded_is_not_seen(client: Client, task_queue: str) -> None:
    store, build = LateStore(), attempts(Script())
    store.delays("/checkpoints/", CALL)
    async with serving(client, task_queue, build, store=store, default_activity_options=soon(3)) as durable:
        run = await durable.start(1, id=task_queue)
        result = await run.result()
        recorded = [header.checkpoint_id for header in await run.checkpoints()]
        before = await verify(client, task_queue, store)

        await store.arrives()

        written = await store.list(f"{client.namespace}/checkpoints")
        after = await verify(client, task_queue, store)
        head = await latest(store, build, task_queue)
        rebuilt = await rebuild(client, task_queue, store)
    assert result.get_outputs() == [2]
    assert len(written) == CALL + 1, "the zombie wrote, too"
    assert before.same, before.differences
    assert after.same, after.differences
    assert (head.checkpoint_id, head.state["attempt"]) == (recorded[-1], 2)
    assert not rebuilt.runs[0].written


async def test_a_zombie_of_a_run_that_failed_leaves_no_checkpoint_and_a_resume_goes_on_before_it(
    client: Client, task_queue: str
) -> None:
    store, build = LateStore(), attempts(Script())
    store.delays("/checkpoints/", CALL)
    async with serving(client, task_queue, build, store=store, default_activity_options=soon(1)) as durable:
        run = await durable.start(1, id=task_queue)
        await store.waiting.wait()
        await _ended(run)
        recorded = [header.checkpoint_id for header in await run.checkpoints()]

        await store.arrives()

        told = await verify(client, task_queue, store)
        head = await latest(store, build, task_queue)
        assert told.same, told.differences
        assert len(recorded) == START
        assert head.checkpoint_id == recorded[-1]
        assert "attempt" not in head.state
        resumed = await durable.resume(task_queue)
        assert (await resumed.result()).get_outputs() == [2]
        assert (await resumed.checkpoints())[0].checkpoint_id == recorded[-1]
    both = await verify(client, task_queue, store)
    assert both.same, both.differences
    assert len(both.run_ids) == 2


async def test_what_an_executor_writes_after_its_run_was_terminated_is_told_and_a_rebuild_takes_it_out(
    client: Client, task_queue: str
) -> None:
    store, script = LateStore(), Script()
    build = attempts(script)
    script.hold("call")
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await script.entered("call")
        recorded = [header.checkpoint_id for header in await run.checkpoints()]
        store.delays("/checkpoints/", 1)
        script.release("call")
        await store.waiting.wait()
        await run.handle.terminate("by the test")

        await store.arrives()

    told = await verify(client, task_queue, store)
    [difference] = told.differences
    assert difference.kind == "unrecorded"
    assert difference.checkpoint_id not in recorded
    await rebuild(client, task_queue, store)
    assert (await verify(client, task_queue, store)).same
    assert (await latest(store, build, task_queue)).checkpoint_id == recorded[-1]


async def _ended(run: Any) -> None:
    try:
        await run.result()
    except Exception:
        return
    raise AssertionError("the run did not fail")
