"""Lists over a whole namespace: runs of the adapter among those of others, and the requests that wait in them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowBuilder
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from temporal_adapter.client.kinds import Kinds
from temporal_adapter.client.listing import Listing, adapter_runs, open_requests, states_of
from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE
from tests.support.graphs import Ask, Report, ask_once, ask_twice, chain
from tests.support.running import pending, serving, until
from workers.dev_server import dev_server


@workflow.defn(name="of-others", sandboxed=False)
class OfOthers:
    """Another team's workflow in the same namespace. It would fail if it were asked for requests."""

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.query(name="pending_requests")
    def asked(self, offset: int = 0) -> list[Any]:
        raise AssertionError("this is nobody's affair")


@pytest.fixture(scope="module")
async def namespace() -> AsyncIterator[Client]:
    """A client of a namespace for these tests alone, which has the search attribute."""
    async with dev_server(arguments=["--search-attribute", f"{PENDING_REQUESTS_ATTRIBUTE}=Int"]) as server:
        yield await Client.connect(server.address)


async def settled(listed: Callable[[], Awaitable[Any]], met: Callable[[Any], bool]) -> Any:
    """Await until a list is as it will be: visibility is a moment behind."""

    async def look() -> Any:
        found = await listed()
        return (found,) if met(found) else None

    [found] = await until(look)
    return found


async def requests(client: Client, task_queue: str, count: int, **chosen: Any) -> Listing:
    return await settled(
        lambda: open_requests(client, task_queue=task_queue, **chosen), lambda found: len(found.requests) == count
    )


async def test_requests_come_with_their_run_newest_first_and_the_limit_says_how_many_more(
    namespace: Client, task_queue: str
) -> None:
    async with serving(namespace, task_queue, ask_once) as durable:
        older, newer = [await durable.start(1, id=f"{task_queue}-{name}") for name in ("older", "newer")]
        for run in (older, newer):
            await pending(run)
        await newer.handle.describe()

        found = await requests(namespace, task_queue, 2)
        cut = await requests(namespace, task_queue, 1, limit=1)
        old = await open_requests(namespace, task_queue=task_queue, older_than=timedelta(days=1))

    by_age = sorted(found.requests, key=lambda one: one.asked_at, reverse=True)
    assert found.requests == by_age
    assert {one.workflow_id for one in found.requests} == {older.id, newer.id}
    first = found.requests[0]
    assert (first.workflow_name, first.task_queue, first.request.executor_id) == ("ask-once", task_queue, "ask")
    assert first.run_id == (await namespace.get_workflow_handle(first.workflow_id).describe()).run_id
    assert (found.more, cut.more, cut.requests) == (0, 1, found.requests[:1])
    assert (old.requests, old.more) == ([], 0)


async def test_workflows_of_others_are_neither_listed_nor_asked(namespace: Client, task_queue: str) -> None:
    async with (
        serving(namespace, f"{task_queue}-ours", ask_once) as durable,
        Worker(namespace, task_queue=f"{task_queue}-theirs", workflows=[OfOthers]),
    ):
        theirs = await namespace.start_workflow(OfOthers.run, id=f"{task_queue}-1", task_queue=f"{task_queue}-theirs")
        ours = await durable.start(1, id=f"{task_queue}-2")
        await pending(ours)

        async def at_work() -> bool:
            return (await theirs.describe()).history_length >= 4  # a workflow task is completed

        await until(at_work)
        [run] = await settled(
            lambda: adapter_runs(namespace, task_queue=f"{task_queue}-ours", state="open"),
            lambda found: len(found) == 1,
        )
        runs = await adapter_runs(namespace, task_queue=f"{task_queue}-theirs")
        listing = await open_requests(namespace, task_queue=f"{task_queue}-theirs")
        about = await theirs.describe()
        is_ours = await Kinds(namespace).is_ours("of-others", theirs.id, about.run_id)
        await theirs.terminate()

    assert run.workflow_id == ours.id
    assert (runs, listing) == ([], Listing([], []))
    assert is_ours is False


async def test_the_search_attribute_spares_runs_that_wait_for_nothing(namespace: Client, task_queue: str) -> None:
    # Given an open run that keeps the attribute, waits for nothing, and whose worker is gone
    async with serving(namespace, task_queue, ask_once, search_attributes=True) as durable:
        session = durable.session(task_queue)
        await session.run(1)
        [request] = await session.durable_run.open_requests()
        await settled(
            lambda: adapter_runs(namespace, task_queue=task_queue),
            lambda found: [run.pending_requests for run in found] == [1],
        )
        await session.run(responses={request.request_id: True})
        await settled(
            lambda: adapter_runs(namespace, task_queue=task_queue),
            lambda found: [run.pending_requests for run in found] == [0],
        )

    listed = await open_requests(namespace, task_queue=task_queue)

    # Then nobody asked it, and so nobody waited for its answer
    assert listed == Listing([], [])
    await session.durable_run.handle.terminate()


async def test_a_run_whose_workers_never_came_is_listed_and_has_no_requests(namespace: Client, task_queue: str) -> None:
    handle = await namespace.start_workflow("ask-once", 1, id=task_queue, task_queue=task_queue)

    [run] = await settled(lambda: adapter_runs(namespace, task_queue=task_queue), lambda found: len(found) == 1)
    listing = await open_requests(namespace, task_queue=task_queue)
    [state] = await states_of(namespace, [run])
    await handle.terminate()

    assert (run.workflow_id, run.status, run.closed_at) == (task_queue, "RUNNING", None)
    assert listing == Listing([], [])
    assert state is not None
    assert state.reason == f"no worker serves its task queue {task_queue!r}"


async def test_a_name_with_quotes_is_found(namespace: Client, task_queue: str) -> None:
    name = 'it\'s "quoted" 100% and \\ too'

    def quoted() -> Workflow:
        ask, last = Ask(id="ask"), Report("last")
        return WorkflowBuilder(name=name, start_executor=ask).add_edge(ask, last).build()

    async with serving(namespace, f"{task_queue}'s", quoted) as durable:
        await pending(await durable.start(1, id=task_queue))
        found = await requests(namespace, f"{task_queue}'s", 1, workflow_name=name)
        none = await open_requests(namespace, task_queue=f"{task_queue}'s", workflow_name="another")

    assert [one.workflow_id for one in found.requests] == [task_queue]
    assert none.requests == []


async def test_runs_are_told_by_state(namespace: Client, task_queue: str) -> None:
    async with (
        serving(namespace, task_queue, ask_twice) as waiting,
        serving(namespace, f"{task_queue}-2", chain) as quick,
    ):
        opened = await waiting.start(1, id=f"{task_queue}-open")
        await pending(opened, 2)
        over = await quick.start(1, id=f"{task_queue}-over")
        await over.result()
        closed = await settled(
            lambda: adapter_runs(namespace, task_queue=f"{task_queue}-2", state="closed"), lambda found: len(found) == 1
        )
        running = await settled(
            lambda: adapter_runs(namespace, task_queue=task_queue, state="open"), lambda found: len(found) == 1
        )
        states = await states_of(namespace, [*running, *closed])

    assert (closed[0].status, running[0].status) == ("COMPLETED", "RUNNING")
    assert closed[0].closed_at is not None
    assert states[1] is None
    assert (states[0].state, states[0].pending_requests) == ("IDLE_WITH_PENDING_REQUESTS", 2)
