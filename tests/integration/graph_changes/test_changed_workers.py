"""Runs whose workers come back with another graph: they wait, fail, or are migrated, as the workers are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowCheckpoint, WorkflowContext, handler
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobStore, DurableRun, ResponseRefused, graph_changes
from temporal_adapter.migration import renamed
from temporal_adapter.pool import GraphPool
from tests.support import renaming
from tests.support.graphs import Add, Report
from tests.support.links import links_of
from tests.support.renaming import OUTER, after, before
from tests.support.running import failure_of, pending, serving, until

SOON = ActivityConfig(
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=1))
)


async def waiting(client: Client, task_queue: str, store: BlobStore) -> tuple[DurableRun, Any]:
    """Return a run that waits for its first response, with the request; it has no worker any more."""
    async with serving(client, task_queue, before, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        return run, request


async def told(run: DurableRun, text: str) -> str:
    """Await the warning that has this text."""
    warnings = (str(event.data) async for event in run.events() if event.type == "warning")
    return await anext(one async for one in warnings if text in one)


async def answered_to_its_end(run: DurableRun, times: int) -> list[Any]:
    for _ in range(times):
        [request] = await pending(run)
        await run.respond(request.request_id, True)
    return (await run.result()).get_outputs()


async def test_a_response_waits_says_what_differs_and_is_healed_by_a_rollback(
    client: Client, task_queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = BlobStore("memory://")
    run, request = await waiting(client, task_queue, store)
    async with serving(client, task_queue, after, store=store):
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        warning = await told(run, "A response waits, and is tried again")
        assert "executors removed: 'start', 'left', 'right', 'longer', 'join' and 3 more" in warning
    logged = [one for one in caplog.records if one.levelname != "DEBUG" and "GraphChanged" in (one.exc_text or one.msg)]
    assert all(one.name == "temporalio.workflow" for one in logged), logged  # one line; no stack trace for each try

    async with serving(client, task_queue, before, store=store):

        async def is_taken() -> bool:
            return [one.request_id for one in await run.pending_requests()] != [request.request_id]

        await until(is_taken)
        outputs = await answered_to_its_end(run, 3)

    assert outputs == [12]


# --- a delivery that comes back to a worker with another graph ----------------------------------------------


class Trips(Executor):
    """Fails as long as the release is faulty."""

    def __init__(self, id: str, faulty: bool) -> None:
        super().__init__(id=id)
        self._faulty = faulty

    @handler
    async def trip(self, value: int, ctx: WorkflowContext[int]) -> None:
        if self._faulty:
            raise ApplicationError("tripped", type="Tripped")
        await ctx.send_message(value + 1)


def tripping(id: str, *, faulty: bool, last: str = "last") -> Callable[[], Workflow]:
    def build() -> Workflow:
        first, end = Trips(id, faulty), Report(last)
        return WorkflowBuilder(name="tripping", start_executor=first).add_edge(first, end).build()

    return build


FAULTY, MENDED = tripping("first", faulty=True), tripping("first", faulty=False)
RENAMED, REWIRED = tripping("other", faulty=False), tripping("first", faulty=False, last="end")


async def tripped(
    client: Client, task_queue: str, store: BlobStore, faulty: Callable[[], Workflow] = FAULTY, **options: Any
) -> DurableRun:
    """Return a run whose executor has failed once and will be tried again; it has no worker any more."""
    async with serving(client, task_queue, faulty, store=store, default_activity_options=SOON, **options) as durable:
        run = await durable.start(1, id=task_queue)

        async def has_failed() -> bool:
            description = (await run.handle.describe()).raw_description
            return any(one.attempt > 1 for one in description.pending_activities)

        await until(has_failed)
        return run


async def test_a_delivery_waits_for_a_rollback_also_where_its_executor_is_called_otherwise(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    run = await tripped(client, task_queue, store)
    async with serving(client, task_queue, RENAMED, store=store):
        warning = await told(run, "Executor 'first' waits, and is tried again")
        assert "executors removed: 'first'; executors added: 'other'" in warning

    async with serving(client, task_queue, MENDED, store=store):
        assert (await run.result()).get_outputs() == [("last", 2)]


async def test_a_run_fails_with_the_difference_where_workers_are_told_so(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    run = await tripped(client, task_queue, store)
    async with serving(client, task_queue, REWIRED, store=store, on_graph_change="fail"):
        failure = await failure_of(run)

    assert failure.type == "GraphRefused"
    assert 'on_graph_change="fail"' in failure.message
    assert "executors removed: 'last'; executors added: 'end'; edges removed: 'first' -> 'last'" in failure.message


async def test_a_run_that_waits_for_people_fails_when_it_is_answered_where_workers_are_told_so(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    run, request = await waiting(client, task_queue, store)
    async with serving(client, task_queue, after, store=store, on_graph_change="fail") as durable:
        with pytest.raises(ResponseRefused, match="the run failed"):
            await durable.get_run(task_queue).respond(request.request_id, True)
        failure = await failure_of(run)

    assert failure.type == "GraphRefused"
    assert "executors removed: " in failure.message


async def test_a_delivery_that_waits_for_its_graph_does_not_make_history_long(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    run = await tripped(client, task_queue, store, continue_as_new_after=10)
    async with serving(client, task_queue, RENAMED, store=store, continue_as_new_after=10):
        await until(lambda: several_links(client, task_queue))

    async with serving(client, task_queue, MENDED, store=store):
        result = await run.result()
    assert result.get_outputs() == [("last", 2)]
    assert [event.iteration for event in result if event.type == "superstep_started"] == [1, 2]


async def several_links(client: Client, workflow_id: str) -> bool:
    return len(await links_of(client, workflow_id)) > 2


async def test_a_delivery_is_migrated_to_an_executor_that_is_called_otherwise(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    await tripped(client, task_queue, store)

    def migrate(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
        return renamed(checkpoint, {"first": "other"})

    async with serving(client, task_queue, RENAMED, store=store, on_graph_change={"tripping": migrate}) as durable:
        assert (await durable.get_run(task_queue).result()).get_outputs() == [("last", 2)]


async def test_a_run_that_waits_for_people_is_migrated_when_it_is_answered(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    run, request = await waiting(client, task_queue, store)
    async with serving(client, task_queue, after, store=store, on_graph_change=renaming.migrate) as durable:
        run = durable.get_run(task_queue)
        await run.respond(request.request_id, True)
        outputs = await answered_to_its_end(run, 3)
        checkpoints = await run.checkpoints()

    assert outputs == [12]
    parents = [one.previous_checkpoint_id for one in checkpoints]
    assert parents == [None, *(one.checkpoint_id for one in checkpoints[:-1])]


async def test_a_migration_that_cannot_be_made_leaves_the_run_to_a_better_release(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    run, request = await waiting(client, task_queue, store)

    def forgets(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
        return renamed(checkpoint, OUTER)

    async with serving(client, task_queue, after, store=store, on_graph_change=forgets) as durable:
        run = durable.get_run(task_queue)
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        assert "which the graph has not" in await told(run, "cannot be migrated to this worker's graph")

    async with serving(client, task_queue, after, store=store, on_graph_change=renaming.migrate) as durable:
        run = durable.get_run(task_queue)

        async def is_taken() -> bool:
            return [one.request_id for one in await run.pending_requests()] != [request.request_id]

        await until(is_taken)
        assert await answered_to_its_end(run, 3) == [12]


# --- sessions -----------------------------------------------------------------------------------------------


async def test_an_input_of_a_session_waits_for_a_worker_with_its_graph(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, tripping("first", faulty=False), store=store) as durable:
        assert (await durable.session(task_queue).run(1)).get_outputs() == [("last", 2)]

    async with serving(client, task_queue, REWIRED, store=store) as durable:
        turn = asyncio.ensure_future(durable.session(task_queue).run(2))
        warning = await told(durable.get_run(task_queue), "The input waits, and is tried again")
        assert "executors removed: 'last'; executors added: 'end'" in warning

    async with serving(client, task_queue, MENDED, store=store):
        assert (await turn).get_outputs() == [("last", 3)]


async def test_a_session_that_is_reset_begins_anew_with_the_workers_graph(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, MENDED, store=store) as durable:
        await durable.session(task_queue).run(1)

    async with serving(client, task_queue, REWIRED, store=store) as durable:
        session = durable.session(task_queue)
        await session.reset()
        assert (await session.run(2)).get_outputs() == [("end", 3)]
        await session.close()


def long_tripping(*, faulty: bool, last: str) -> Callable[[], Workflow]:
    def build() -> Workflow:
        executors: list[Executor] = [Trips("first", faulty), *(Add(f"a-step-of-many-{number}") for number in range(70))]
        return (
            WorkflowBuilder(name="tripping", start_executor=executors[0]).add_chain([*executors, Report(last)]).build()
        )

    return build


async def test_what_differs_of_a_large_graph_is_told_too(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    run = await tripped(client, task_queue, store, long_tripping(faulty=True, last="last"))
    changed = long_tripping(faulty=False, last="end")
    assert len(str(graph_changes.details(GraphPool(changed).build().description()))) > 8 * 1024

    async with serving(client, task_queue, changed, store=store, on_graph_change="fail"):
        failure = await failure_of(run)

    assert "executors removed: 'last'; executors added: 'end'; edges removed: " in failure.message
