"""A run that went on as new Temporal runs: history and store rebuild each other over all of its links."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from agent_framework import Workflow, WorkflowBuilder
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter import BlobCheckpointStorage, BlobStore, calls, continuation, wire
from temporal_adapter.host import context
from temporal_adapter.recovery import adopt, rebuild, verify
from temporal_adapter.store.names import run_object, value_object
from temporal_adapter.wire.names import MIGRATED_FROM
from tests.support import renaming
from tests.support.differential import resume_in_process
from tests.support.graphs import Ask, Report, ask_twice, chain
from tests.support.links import links_of, rests_in_a_new_link
from tests.support.nested import three_levels
from tests.support.recovering import Gather, checkpoints_of, filling_child
from tests.support.running import pending, serving, until
from workers.dev_server import dev_server

GRAPHS = {"two requests": ask_twice, "sub-workflows": three_levels, "stowed sub-workflow": filling_child(16)}


def gathering_long_then_asking() -> Workflow:
    """Holds more than a snapshot may carry, in several supersteps; then asks."""
    executors = [*(Gather(id=f"gather {number}") for number in range(4)), Ask(id="ask"), Report("last")]
    return WorkflowBuilder(name="gathering-long-then-asking", start_executor=executors[0]).add_chain(executors).build()


GRAPHS["with a base"] = gathering_long_then_asking


@pytest.fixture(autouse=True)
def links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs go on as new Temporal runs at each chance, and take everything through the blob store."""
    monkeypatch.setattr(context, "DEFAULT_CONTINUES_AFTER", 1)
    monkeypatch.setattr(continuation, "_TAIL_BYTES", 0)
    monkeypatch.setattr(continuation, "_CARRIED_BYTES", 0)
    monkeypatch.setattr(continuation, "_PAGE_BYTES", 1500)
    monkeypatch.setattr(calls, "_PART_BYTES", 1500)
    monkeypatch.setattr(continuation, "_OPENING", 0)
    monkeypatch.setattr(continuation, "_PER_PART", 0)


async def paused(client: Client, id: str, build: Callable[[], Workflow], store: BlobStore) -> list[str]:
    """Run a graph up to its pause, in links; then its worker ends. Return the ids of its checkpoints."""
    async with serving(client, id, build, store=store) as durable:
        run = await durable.start(1, id=id)
        await pending(run)
        await until(lambda: rests_in_a_new_link(client, id))
        return [one.checkpoint_id for one in await run.checkpoints()]


async def answered(client: Client, id: str, build: Callable[[], Workflow], store: BlobStore) -> list[object]:
    """Answer all requests of the paused run, on a new worker; return the run's outputs."""
    async with serving(client, id, build, store=store) as durable:
        run = durable.get_run(id)
        for request in await pending(run):
            await run.respond(request.request_id, True)
        return (await run.result()).get_outputs()


async def pages_of(client: Client, id: str, what: str) -> list[wire.ArchivedPage]:
    """Return the pages that the last link of a run was left of its events, say."""
    history = await client.get_workflow_handle(id).fetch_history()
    arguments = history.events[0].workflow_execution_started_event_attributes.input.payloads
    carried = wire.load(wire.Carried, (await client.data_converter.decode(arguments))[2])
    assert carried.parts
    return getattr(carried.archived, what)


async def forget(client: Client, id: str, run_id: str) -> None:
    """Have the server forget a closed link, as it does by itself after its retention time."""
    link = WorkflowExecution(workflow_id=id, run_id=run_id)
    request = DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=link)
    await client.workflow_service.delete_workflow_execution(request)

    async def is_gone() -> bool:
        try:
            await client.get_workflow_handle(id, run_id=run_id).fetch_history()
        except RPCError as error:
            return error.status is RPCStatusCode.NOT_FOUND
        return False

    await until(is_gone)


@pytest.mark.parametrize("name", GRAPHS)
async def test_a_lost_store_is_rebuilt_from_the_histories_of_all_links_and_the_run_goes_on(
    client: Client, task_queue: str, tmp_path: Path, name: str
) -> None:
    build, place = GRAPHS[name], str(tmp_path / "store")
    await paused(client, task_queue, build, BlobStore(place))
    before = await verify(client, task_queue, place)
    shutil.rmtree(place)

    lost = await verify(client, task_queue, place)
    rebuilt = await rebuild(client, task_queue, place)

    assert before.same, before.differences
    assert len(before.run_ids) == len(await links_of(client, task_queue)) > 2
    assert {one.place for one in lost.differences} > {"run", ""}
    assert [one for one in lost.differences if one.place.startswith("events 0 to ")]
    assert rebuilt.complete, rebuilt
    assert sum(len(run.written) for run in rebuilt.runs) == before.checkpoints
    after = await verify(client, task_queue, place)
    assert after.same, after.differences
    assert await answered(client, task_queue, build, BlobStore(place))
    at_the_end = await verify(client, task_queue, place)
    assert at_the_end.same, at_the_end.differences
    assert at_the_end.checkpoints > before.checkpoints


async def test_one_link_alone_can_be_verified_and_rebuilt(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    await paused(client, task_queue, gathering_long_then_asking, store)
    whole = await verify(client, task_queue, store)
    third = whole.run_ids[2]
    one = await verify(client, task_queue, store, third)
    [recorded] = [entry for entry in await checkpoints_of(client, store).runs() if entry.run_id == third]
    await checkpoints_of(client, store).delete(recorded.ended.checkpoint_id if recorded.ended else "")

    rebuilt = await rebuild(client, task_queue, store, third)

    assert one.same, one.differences
    assert one.run_ids == (third,)
    assert [len(run.written) for run in rebuilt.runs] == [1]
    assert (await verify(client, task_queue, store)).same


async def test_a_page_of_the_events_that_is_lost_or_damaged_is_told_of_and_rebuilt(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    await paused(client, task_queue, ask_twice, store)
    first, second, *_ = await pages_of(client, task_queue, "events")
    damaged = value_object(client.namespace, second.page.ref or "")
    await store.delete(value_object(client.namespace, first.page.ref or ""))
    await store.put(damaged, (await store.get(damaged))[:-3])

    told = await verify(client, task_queue, store)
    rebuilt = await rebuild(client, task_queue, store)

    assert [(one.kind, one.place) for one in told.differences] == [
        ("value lost", f"events 0 to {first.next - 1}"),
        ("value damaged", f"events {second.first} to {second.next - 1}"),
    ]
    assert rebuilt.complete
    assert (await verify(client, task_queue, store)).same


async def test_of_links_that_the_server_has_forgotten_it_is_told_what_is_lost_and_all_else_is_there(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    ids = await paused(client, task_queue, gathering_long_then_asking, store)
    first, second, *_ = (await verify(client, task_queue, store)).run_ids
    await forget(client, task_queue, first)

    still = await verify(client, task_queue, store)
    page = (await pages_of(client, task_queue, "events"))[0]
    await store.delete(value_object(client.namespace, page.page.ref or ""))
    await checkpoints_of(client, store).delete(ids[0])
    told = await verify(client, task_queue, store)
    rebuilt = await rebuild(client, task_queue, store)

    assert still.same, still.differences
    assert still.gone == (first,)
    assert [(one.run_id, one.kind, one.checkpoint_id, one.place) for one in told.differences] == [
        (second, "value lost", "", f"events 0 to {page.next - 1}"),
        (second, "unknown", ids[0], ""),
    ]
    assert not rebuilt.complete
    assert [one.checkpoint_id for run in rebuilt.runs for one in run.failed] == [ids[0]]
    assert [one.place for run in rebuilt.runs for one in run.lost] == [f"events 0 to {page.next - 1}"]
    async with serving(client, task_queue, gathering_long_then_asking, store=store) as durable:  # it goes on to its end
        run = durable.get_run(task_queue)
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        assert (await run.handle.result())["state"] == "IDLE"


# --- checkpoints of earlier links ---------------------------------------------------------------------------


async def test_each_checkpoint_of_each_link_opens_in_process_and_can_be_replayed_and_forked(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    ids = await paused(client, task_queue, gathering_long_then_asking, store)
    outputs = await answered(client, task_queue, gathering_long_then_asking, store)
    graph = gathering_long_then_asking()
    storage = BlobCheckpointStorage(
        store, workflow=graph, workflow_id=task_queue, namespace=client.namespace, read_only=True
    )

    opened = [
        await resume_in_process(
            gathering_long_then_asking, storage, one, lambda asked: {request.request_id: True for request in asked}
        )
        for one in ids
    ]
    async with serving(client, task_queue, gathering_long_then_asking, store=store) as durable:
        replayed = await (await durable.replay(ids[0])).result()
        forked = await durable.fork(ids[1], state={"noted": "by the fork"})
        [asked] = await pending(forked)
        await forked.respond(asked.request_id, True)
        of_fork = await forked.result()

    assert [one.error for one in opened] == [None] * len(ids)
    assert replayed.get_outputs() == of_fork.get_outputs() == outputs


# --- adopting -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def another_server() -> AsyncIterator[Client]:
    """An empty server serves while the block is open, and is killed then; yields a client of it."""
    async with dev_server() as server:
        yield await Client.connect(server.address)


@pytest.fixture(scope="module")
async def lost() -> AsyncIterator[Client]:
    """A client of a server whose runs those of the tests' own server do not know of."""
    async with another_server() as client:
        yield client


async def link_entries(client: Client, store: BlobStore, id: str) -> list[wire.RunEntry]:
    """Return the entries of a run's links in order."""
    entries = {entry.run_id: entry for entry in await checkpoints_of(client, store).runs() if entry.workflow_id == id}
    [at] = [entry for entry in entries.values() if entry.continued is None]
    way = [at]
    while following := [one for one in entries.values() if one.continued and one.continued.run_id == way[-1].run_id]:
        way += following
    assert len(way) == len(entries)
    return way


@pytest.mark.parametrize("crash", ["", "before the last link was entered", "with clocks that differ"])
async def test_a_run_whose_server_was_lost_is_adopted_from_its_last_link(
    client: Client, lost: Client, task_queue: str, crash: str
) -> None:
    store = BlobStore("memory://")
    ids = await paused(lost, task_queue, ask_twice, store)
    *_, last_but_one, last = await link_entries(lost, store, task_queue)
    if crash.startswith("before"):
        await store.delete(run_object(lost.namespace, last.workflow_name, task_queue, last.run_id))
        await checkpoints_of(lost, store).put_run(wire.replace(last_but_one, ended=None))
    elif crash:
        await checkpoints_of(lost, store).put_run(wire.replace(last, at="1999-01-01T00:00:00+00:00"))

    [adopted] = await adopt(client, store)

    assert (adopted.state, adopted.checkpoint_id) == ("adopted", ids[-1])
    assert await answered(client, task_queue, ask_twice, store)
    [after] = await adopt(client, store)
    assert after.state == "completed"


async def test_a_run_whose_later_link_the_server_knows_is_not_adopted(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    await paused(client, task_queue, ask_twice, store)
    last = (await link_entries(client, store, task_queue))[-1]
    await client.get_workflow_handle(task_queue).terminate()
    await store.delete(run_object(client.namespace, last.workflow_name, task_queue, last.run_id))

    [report] = await adopt(client, store)

    assert (report.state, report.reason) == ("ended", "the server has this very run, and it is terminated")


async def test_a_session_that_was_reset_in_an_earlier_link_begins_anew(
    client: Client, lost: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(lost, task_queue, chain, store=store) as durable:
        session = durable.session(task_queue)
        await session.run(1)
        before = (await run_id_of(lost, task_queue),)
        await session.reset()

        async def went_on() -> bool:
            return await run_id_of(lost, task_queue) not in before

        await until(went_on)
        await until(lambda: entered(lost, store, task_queue))
    assert (await verify(lost, task_queue, store)).same

    [adopted] = await adopt(client, store)

    assert (adopted.state, adopted.checkpoint_id) == ("adopted", None)
    async with serving(client, task_queue, chain, store=store) as durable:
        assert (await durable.session(task_queue).run(1)).get_outputs()


async def run_id_of(client: Client, id: str) -> str:
    return (await client.get_workflow_handle(id).describe()).run_id


async def entered(client: Client, store: BlobStore, id: str) -> bool:
    """Whether the store knows the last link."""
    known = [entry.run_id for entry in await checkpoints_of(client, store).runs()]
    return await run_id_of(client, id) in known


# --- migrations ---------------------------------------------------------------------------------------------


async def test_a_checkpoint_that_a_migration_made_is_verified_and_named_where_it_is_lost(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    await paused(client, task_queue, renaming.before, store)
    migrating = {"on_graph_change": renaming.migrate}
    async with serving(client, task_queue, renaming.after, store=store, **migrating) as durable:
        run = durable.get_run(task_queue)
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        await pending(run)
    told = await verify(client, task_queue, store)
    entries = await checkpoints_of(client, store).headers("renaming", task_queue)
    [migrated] = [one.header for one in entries if MIGRATED_FROM in one.header.metadata]

    await checkpoints_of(client, store).delete(migrated.checkpoint_id)
    lost = await verify(client, task_queue, store)
    rebuilt = await rebuild(client, task_queue, store)

    assert told.same, told.differences
    assert [one.checkpoint_id for one in lost.differences if one.kind == "unknown"][:1] == [migrated.checkpoint_id]
    assert "A migration made it" in lost.differences[0].detail
    assert not rebuilt.complete
