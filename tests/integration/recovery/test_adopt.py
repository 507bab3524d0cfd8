"""Runs that their server lost go on, on an empty one, from what the blob store has of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.service import RPCError
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobStore, DurableRun
from temporal_adapter.recovery import Adoption, adopt, rebuild, verify
from tests.support.graphs import ask_once, ask_twice, chain, several_messages
from tests.support.nested import three_levels
from tests.support.recovering import checkpoints_of, gathering_then_asking, reporting_at_length
from tests.support.running import failure_of, pending, serving, until
from tests.support.scripted import Script, failing, steps
from workers.dev_server import dev_server


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


async def paused(client: Client, id: str, store: BlobStore, build: Callable[[], Workflow] = ask_once) -> DurableRun:
    """Run a graph up to its pause; then its worker ends."""
    async with serving(client, id, build, store=store) as durable:
        run = await durable.start(1, id=id)
        await pending(run)
    return run


async def is_known(client: Client, id: str) -> bool:
    try:
        await client.get_workflow_handle(id).describe()
    except RPCError:
        return False
    return True


def state_of(reports: tuple[Adoption, ...]) -> dict[str, str]:
    return {report.workflow_id: report.state for report in reports}


@pytest.mark.parametrize(
    "build", [ask_once, ask_twice, gathering_then_asking, reporting_at_length(20_000), three_levels]
)
async def test_a_run_whose_server_was_killed_goes_on_with_its_pending_requests(
    client: Client, task_queue: str, tmp_path: Path, build: Callable[[], Workflow]
) -> None:
    place = str(tmp_path / "store")
    async with another_server() as killed, serving(killed, task_queue, build, store=BlobStore(place)) as durable:
        run = await durable.start(1, id=task_queue)
        asked = [request.request_id for request in await pending(run)]
        before = [header.checkpoint_id for header in await run.checkpoints()]

    [adopted] = await adopt(client, place)

    assert (adopted.state, adopted.workflow_id, adopted.checkpoint_id) == ("adopted", task_queue, before[-1])
    async with serving(client, task_queue, build, store=BlobStore(place)) as durable:
        run = durable.get_run(task_queue)
        assert [request.request_id for request in await pending(run)] == asked
        for request_id in asked:
            await run.respond(request_id, True)
        outputs = (await run.result()).get_outputs()
        headers = await run.checkpoints()
    assert outputs
    assert (await _undisturbed(client, f"{task_queue}-undisturbed", build))[-len(outputs) :] == outputs
    assert headers[0].checkpoint_id == before[-1]
    assert [header.previous_checkpoint_id for header in headers[1:]] == [one.checkpoint_id for one in headers[:-1]]
    told = await verify(client, task_queue, place)
    assert told.same, told.differences
    assert state_of(await adopt(client, place)) == {task_queue: "completed"}


async def _undisturbed(client: Client, id: str, build: Callable[[], Workflow]) -> list[Any]:
    async with serving(client, id, build) as durable:
        run = await durable.start(1, id=id)
        for request in await pending(run):
            await run.respond(request.request_id, True)
        return (await run.result()).get_outputs()


async def test_a_run_that_was_at_work_goes_on_with_what_was_in_flight(
    client: Client, lost: Client, task_queue: str
) -> None:
    store, script = BlobStore("memory://"), Script()
    script.hold("two")
    build = steps(script, "one", "two", "three")
    async with serving(lost, task_queue, build, store=store) as durable:
        await durable.start(1, id=task_queue)
        await script.entered("two")

    [adopted] = await adopt(client, store)
    script.release("two")

    assert adopted.state == "adopted"
    async with serving(client, task_queue, build, store=store) as durable:
        assert (await durable.get_run(task_queue).result()).get_outputs() == [1]
    assert script.calls == {"one": 1, "two": 2, "three": 1}


async def test_completed_and_ended_runs_are_not_adopted_and_it_is_said_why(
    client: Client, lost: Client, task_queue: str
) -> None:
    store, script = BlobStore("memory://"), Script()
    async with serving(lost, task_queue, chain, store=store) as durable:
        await (await durable.start(1, id=f"{task_queue}-completed")).result()
    fails, once = failing(lambda: ValueError("no")), ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))
    async with serving(lost, task_queue, fails, store=store, default_activity_options=once) as durable:
        await failure_of(await durable.start(1, id=f"{task_queue}-failed"))
    script.hold("one")
    async with serving(lost, task_queue, steps(script, "one", "two"), store=store) as durable:
        run = await durable.start(1, id=f"{task_queue}-cancelled")
        await script.entered("one")
        await run.handle.cancel()
        with pytest.raises(Exception):  # noqa: B017, PT011 - the client's business
            await run.result()

    reports = await adopt(client, store)

    assert [(one.workflow_id.removeprefix(f"{task_queue}-"), one.state) for one in reports] == [
        ("cancelled", "ended"),
        ("completed", "completed"),
        ("failed", "ended"),
    ]
    assert [one.reason for one in reports] == [
        "the run was cancelled",
        "in its last checkpoint no message is in flight and no request is pending",
        "the run failed",
    ]
    assert not any([await is_known(client, one.workflow_id) for one in reports])


async def test_a_dry_run_says_what_would_be_and_starts_nothing(client: Client, lost: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    await paused(lost, task_queue, store)

    [report] = await adopt(client, store, dry_run=True)

    assert report.state == "would adopt"
    assert report.checkpoint_id
    assert not await is_known(client, task_queue)


async def test_a_run_that_is_open_on_the_server_is_left_alone(client: Client, lost: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    await paused(lost, f"{task_queue}-lost", store)
    here = await paused(client, f"{task_queue}-here", store)

    first, second = await adopt(client, store), await adopt(client, store)

    assert state_of(first) == {f"{task_queue}-lost": "adopted", here.id: "open already"}
    assert state_of(second) == {f"{task_queue}-lost": "open already", here.id: "open already"}
    assert second[1].run_id == first[1].run_id


async def test_a_run_that_the_server_knows_to_have_been_terminated_stays_so(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    run = await paused(client, task_queue, store)
    await run.handle.terminate("no longer wanted")

    [report] = await adopt(client, store)

    assert (report.state, report.reason) == ("ended", "the server has this very run, and it is terminated")


async def test_of_several_runs_of_a_workflow_id_the_last_one_counts(
    client: Client, lost: Client, task_queue: str
) -> None:
    store, completed_last = BlobStore("memory://"), f"{task_queue}-completed-last"
    first = await paused(lost, task_queue, store)
    await first.handle.terminate("again")
    second = await paused(lost, task_queue, store)
    first = await paused(lost, completed_last, store)
    await first.handle.terminate("otherwise")
    async with serving(lost, task_queue, chain, store=store) as durable:
        await (await durable.start(1, id=completed_last)).result()
    async with serving(lost, task_queue, ask_once, store=store) as durable:
        head = (await durable.get_run(second.id).checkpoints())[-1].checkpoint_id

    reports = await adopt(client, store)

    assert state_of(reports) == {task_queue: "adopted", completed_last: "completed"}
    assert reports[0].checkpoint_id == head


async def test_one_that_cannot_be_adopted_does_not_stop_the_others(
    client: Client, lost: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(lost, task_queue, ask_once, store=store) as durable:
        runs = [await durable.start(1, id=f"{task_queue}-{number:02}") for number in range(12)]
        for run in runs:
            await pending(run)
        head = (await runs[3].checkpoints())[-1].checkpoint_id
    for name in await store.list(f"{client.namespace}/checkpoints"):
        if head in name:
            await store.put(name, b"{}")

    reports = await adopt(client, store)

    assert [one.state for one in reports] == ["adopted"] * 3 + ["failed"] + ["adopted"] * 8
    assert head in reports[3].reason
    assert not await is_known(client, runs[3].id)


async def test_a_run_whose_entry_is_damaged_is_told_and_does_not_stop_the_others(
    client: Client, lost: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    for number in range(3):
        await paused(lost, f"{task_queue}-{number}", store)
    damaged = (await store.list(f"{client.namespace}/runs"))[1]
    await store.put(damaged, b"{}")

    reports = await adopt(client, store)

    assert [one.state for one in reports] == ["adopted", "failed", "adopted"]
    assert damaged in reports[1].reason
    await rebuild(lost, f"{task_queue}-1", store)
    assert [one.state for one in await adopt(client, store)] == ["open already", "adopted", "open already"]


async def test_only_runs_of_a_workflow_on_another_task_queue(client: Client, lost: Client, task_queue: str) -> None:
    store, elsewhere = BlobStore("memory://"), f"{task_queue}-elsewhere"
    await paused(lost, f"{task_queue}-once", store, ask_once)
    await paused(lost, f"{task_queue}-twice", store, ask_twice)

    reports = await adopt(client, store, task_queue=elsewhere, workflow_name="ask-once")

    assert state_of(reports) == {f"{task_queue}-once": "adopted"}
    described = await client.get_workflow_handle(f"{task_queue}-once").describe()
    assert described.task_queue == elsewhere


async def test_options_of_the_run_are_those_it_had(client: Client, lost: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(lost, task_queue, ask_once, store=store) as durable:
        await pending(await durable.start(1, id=task_queue, stream=True, on_failure="wait"))
    await adopt(client, store)
    async with serving(client, task_queue, ask_once, store=store) as durable:
        await pending(durable.get_run(task_queue))

    [_, adopted] = await checkpoints_of(client, store).runs("ask-once", task_queue)

    assert (adopted.stream, adopted.on_failure, adopted.task_queue) == (True, "wait", task_queue)
    assert adopted.restored is not None
    assert adopted.restored.verb == "adopt"


async def test_checkpoints_of_no_run_are_not_adoptable(client: Client, lost: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    await paused(lost, task_queue, store)
    for name in await store.list(f"{client.namespace}/runs"):
        await store.delete(name)

    [report] = await adopt(client, store)

    assert report.state == "not adoptable"
    assert "no run" in report.reason


async def test_a_session_that_was_reset_begins_anew_unless_it_was_given_an_input_since(
    client: Client, lost: Client, task_queue: str
) -> None:
    store, pristine, since = BlobStore("memory://"), f"{task_queue}-pristine", f"{task_queue}-since"
    async with serving(lost, task_queue, several_messages, store=store) as durable:
        for id in (pristine, since):
            await durable.session(id).run(2)
            await durable.session(id).reset()
        await until(lambda: _is_marked(client, store, pristine))
        await durable.session(since).run(3)

    reports = await adopt(client, store)

    assert state_of(reports) == {pristine: "adopted", since: "adopted"}
    assert reports[0].checkpoint_id is None
    assert reports[1].checkpoint_id
    async with serving(client, task_queue, several_messages, store=store) as durable:
        anew = (await durable.session(pristine).run(1)).get_outputs()
        further = (await durable.session(since).run(1)).get_outputs()
    assert anew[0] == {"total": 0, "seen": [0], "shared": 0}
    assert further[0] == {"total": 3, "seen": [0, 1, 2, 0], "shared": 3}


async def _is_marked(client: Client, store: BlobStore, id: str) -> bool:
    [run] = await checkpoints_of(client, store).runs("several-messages", id)
    return run.ended is not None


async def test_a_session_goes_on_with_what_it_knew_and_a_closed_one_does_not(
    client: Client, lost: Client, task_queue: str
) -> None:
    store, open_id, closed_id = BlobStore("memory://"), f"{task_queue}-a-open", f"{task_queue}-closed"
    async with serving(lost, task_queue, chain, store=store) as durable:
        for id in (open_id, closed_id):
            await durable.session(id).run(1)
        await durable.session(closed_id).close()
        await durable.get_run(closed_id).handle.result()

    reports = await adopt(client, store)

    assert state_of(reports) == {open_id: "adopted", closed_id: "ended"}
    async with serving(client, task_queue, chain, store=store) as durable:
        session = durable.session(open_id)
        assert (await asyncio.wait_for(session.run(5), 90)).get_outputs() == [("last", 16)]
        headers = await session.durable_run.checkpoints()
    assert headers[0].checkpoint_id == reports[0].checkpoint_id
    assert headers[1].previous_checkpoint_id == reports[0].checkpoint_id
