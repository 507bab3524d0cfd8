"""Pruning the store of real runs: what is over goes, and what an open run may need stays, whatever the policy says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, executor
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.converter import DataConverter
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage, BlobStore
from temporal_adapter.recovery import verify
from temporal_adapter.retention import STATES, HistoryUnreadable, Pruned, PruneRefused, prune, prune_offline
from temporal_adapter.retention.needs import read_histories
from temporal_adapter.store import CheckpointStore, ValueStore, contents, pruning
from tests.support import stores
from tests.support.differential import resume_in_process
from tests.support.graphs import Ask, Report, ask_once
from tests.support.recovering import Gather, filling_child, gathering_then_asking, reporting_at_length
from tests.support.running import failure_of, pending, serving, until
from tests.support.scripted import Script, failing, step
from tests.unit.retention.conftest import Filled
from tests.unit.store.codecs import EncryptingCodec
from workers.dev_server import dev_server

LARGE = 100_000
ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))
Build = Callable[[], Workflow]
HARSHEST: dict[str, Any] = {"older_than": timedelta(0), "states": STATES}


def in_two_days() -> datetime:
    """A clock for which all that is in a store is old."""
    return datetime.now(timezone.utc) + timedelta(days=2)


async def pruned(client: Client, store: BlobStore, **policy: Any) -> Pruned:
    """Prune for real what is old in two days, as a dry run said it would be."""
    policy.setdefault("clock", in_two_days)
    dry = await prune(client, store, **policy)
    before = set(await store.list(client.namespace))
    real = await prune(client, store, dry_run=False, **policy)
    assert real == replace(dry, dry_run=False)
    gone = before - set(await store.list(client.namespace))
    assert len(gone) == sum(one.objects for one in (real.checkpoints, real.values, real.chunks, real.records))
    return real


async def ids_of(client: Client, store: BlobStore, workflow_id: str) -> list[str]:
    checkpoints = CheckpointStore(store, client.namespace, cache_bytes=0)
    [name] = {name for name, id in await checkpoints.workflows() if id == workflow_id} or {""}
    return await checkpoints.list_ids(name, workflow_id)


async def assert_each_opens(build: Build, store: BlobStore, client: Client) -> None:
    """Assert that MAF goes on from every checkpoint that is left of a workflow."""
    storage = BlobCheckpointStorage(store, workflow=build(), namespace=client.namespace, read_only=True)
    for checkpoint_id in await storage.list_checkpoint_ids(workflow_name=build().name):
        resumed = await resume_in_process(
            build, storage, checkpoint_id, lambda requests: {one.request_id: True for one in requests}
        )
        assert resumed.error is None, resumed.error


def reporting(name: str) -> Build:
    """Return a factory of a graph that keeps a long report, which differs at its start, sends one on, and asks.

    The name is the test's own: a history of any run of a workflow may refer to what the store has.
    """

    def build() -> Workflow:
        @executor(id="write")
        async def write(value: int, ctx: WorkflowContext[str]) -> None:
            ctx.set_state("report", [f"report {value}", *(f"{name} {line}" for line in range(4000))])
            await ctx.send_message(f"{name} " + "m" * LARGE)

        @executor(id="pass")
        async def passes(text: str, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(len(text))

        chain = [write, passes, Ask(id="ask"), Report("last")]
        return WorkflowBuilder(name=name, start_executor=write).add_chain(chain).build()

    return build


OPEN = {"base": gathering_then_asking, "large": reporting_at_length(LARGE), "stowed": filling_child(16)}


@pytest.mark.parametrize("name", OPEN)
async def test_an_open_run_survives_the_harshest_policy_and_finishes(
    client: Client, task_queue: str, name: str
) -> None:
    build, store = OPEN[name], BlobStore("memory://")
    async with serving(client, task_queue, build, store=store) as durable:
        over = await durable.start(1, id=f"{task_queue}-over")
        [request] = await pending(over)
        await over.respond(request.request_id, True)
        outputs = (await over.result()).get_outputs()
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)

        report = await pruned(client, store, **HARSHEST)

        assert await ids_of(client, store, task_queue)
        assert await ids_of(client, store, f"{task_queue}-over") == []
        assert report.checkpoints.objects > 3
        await assert_each_opens(build, store, client)
    async with serving(client, task_queue, build, store=store) as durable:  # a worker with an empty cache
        run = durable.get_run(task_queue)
        await run.respond(request.request_id, True)
        assert (await run.result()).get_outputs() == outputs
    told = await verify(client, task_queue, store)
    assert told.same, told.differences


async def test_values_that_a_pruned_run_shares_with_a_kept_one_stay(client: Client, task_queue: str) -> None:
    build, store = reporting(task_queue), BlobStore("memory://")
    async with serving(client, task_queue, build, store=store) as durable:
        for id, message in (("one", 1), ("two", 1), ("other", 2)):
            run = await durable.start(message, id=f"{task_queue}-{id}")
            [request] = await pending(run)
            if id != "two":
                await run.respond(request.request_id, True)
                await run.result()

    report = await pruned(client, store, keep_last=0)

    assert {one.workflow_id for one in report.workflows if one.deleted} == {f"{task_queue}-one", f"{task_queue}-other"}
    assert (report.values.objects, report.chunks.objects) == (1, 1)  # the start of the report that only `other` has
    await assert_each_opens(build, store, client)


async def test_only_runs_in_the_given_states_are_pruned(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    id = {state: f"{task_queue}-{state}" for state in ("completed", "cancelled", "terminated", "closed", "open")}
    async with serving(client, task_queue, ask_once, store=store) as durable:
        runs = {state: await durable.start(1, id=id[state]) for state in id if state != "closed"}
        for state, run in runs.items():
            [request] = await pending(run)
            if state == "completed":
                await run.respond(request.request_id, True)
                await run.result()
            elif state == "cancelled":
                await run.handle.cancel()
            elif state == "terminated":
                await run.handle.terminate()
        session = durable.session(id["closed"])
        await session.run(1)
        await session.close()
    fails = failing(lambda: ValueError("no"))
    async with serving(client, task_queue, fails, store=store, default_activity_options=ONCE) as durable:
        await failure_of(await durable.start(1, id=f"{task_queue}-failed"))
    id["failed"] = f"{task_queue}-failed"

    async def settled() -> bool:
        handle = client.get_workflow_handle(id["cancelled"])
        return (await handle.describe()).close_time is not None

    await until(settled)
    told = await prune(client, store, keep_last=0, states=STATES, clock=in_two_days)
    assert {one.workflow_id: one.states for one in told.workflows} == {id[state]: (state,) for state in id}
    for state in ("completed", "cancelled", "terminated", "closed", "failed"):
        report = await pruned(client, store, keep_last=0, states=[state])
        assert [one.workflow_id for one in report.workflows if one.deleted] == [id[state]]
        assert await ids_of(client, store, id[state]) == []
    assert {entry.workflow_id for entry in await CheckpointStore(store, client.namespace).runs()} == {id["open"]}


async def test_a_completed_runs_outputs_are_readable_while_it_has_a_checkpoint(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="write")
        async def write(value: int, ctx: WorkflowContext[None, str]) -> None:
            await ctx.yield_output("o" * LARGE)

        return WorkflowBuilder(name="writes", start_executor=write).build()

    store = BlobStore("memory://")
    async with serving(client, task_queue, build, store=store) as durable:
        await (await durable.start(1, id=task_queue)).result()

        first = await pruned(client, store, keep_last=1)
        assert first.values.objects == 0
        assert (await durable.get_run(task_queue).result()).get_outputs() == ["o" * LARGE]
        second = await pruned(client, store, keep_last=0)

    assert second.values.objects == 1
    assert await store.list(client.namespace) == []


async def test_the_checkpoint_that_an_open_fork_builds_on_stays(client: Client, task_queue: str) -> None:
    store, build = BlobStore("memory://"), gathering_then_asking
    async with serving(client, task_queue, build, store=store) as durable:
        origin = await durable.start(1, id=task_queue)
        [request] = await pending(origin)
        await origin.respond(request.request_id, True)
        await origin.result()
        entry, first, *_ = await origin.checkpoints()
        replay = await durable.replay(first.checkpoint_id, id=f"{task_queue}-replay")
        await replay.result()
        fork = await durable.fork(first.checkpoint_id, id=f"{task_queue}-fork", state={"more": "m" * LARGE})
        [asked] = await pending(fork)

        await pruned(client, store, **HARSHEST)

        left = await ids_of(client, store, task_queue)
        assert entry.checkpoint_id in left  # among the last ten of the fork's lineage
        assert first.checkpoint_id in left
        assert await ids_of(client, store, f"{task_queue}-replay") == []
        await fork.respond(asked.request_id, True)
        await fork.result()
    await pruned(client, store, **HARSHEST)
    assert await store.list(client.namespace) == []


async def test_the_checkpoint_that_a_run_has_just_gone_on_from_stays(client: Client, task_queue: str) -> None:
    store, script = BlobStore("memory://"), Script()

    def build() -> Workflow:
        first, second = Gather(id="first"), step(script, "second")
        return WorkflowBuilder(name=task_queue, start_executor=first).add_edge(first, second).build()

    async with serving(client, task_queue, build, store=store) as durable:
        await (await durable.start(1, id=task_queue)).result()
        _, gathered, *_ = await durable.get_run(task_queue).checkpoints()
        script.hold("second")
        replay = await durable.replay(gathered.checkpoint_id, id=f"{task_queue}-replay")
        await until(lambda: _entered_twice(script))
        assert await ids_of(client, store, f"{task_queue}-replay") == []

        report = await pruned(client, store, **HARSHEST)

        [workflow] = report.workflows
        reasons = {one.checkpoint_id: one.reason for one in workflow.kept}
        assert reasons[gathered.checkpoint_id] == f"the open run '{task_queue}-replay' builds on it"
        script.release("second")
        assert (await replay.result()).get_outputs() == [2]
    await assert_each_opens(build, store, client)


async def _entered_twice(script: Script) -> bool:
    return script.calls["second"] == 2


async def test_a_long_run_keeps_its_end_and_goes_on(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")

    def build() -> Workflow:
        @executor(id="keep")
        async def keep(value: int, ctx: WorkflowContext[int]) -> None:
            ctx.set_state(f"note {value}", f"{value} " + "n" * 3000)
            await ctx.send_message(value + 1, target_id="keep" if value < 15 else "ask")

        ask = Ask(id="ask")
        builder = WorkflowBuilder(name="keeps", start_executor=keep).add_edge(keep, keep)
        return builder.add_edge(keep, ask).add_edge(ask, Report("last")).build()

    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(0, id=task_queue)
        [request] = await pending(run)
        before = await ids_of(client, store, task_queue)
        untouched = await pruned(client, store, keep_last=0)
        report = await pruned(client, store, keep_last=0, states=["open"])
        left = await ids_of(client, store, task_queue)
        await run.respond(request.request_id, True)
        outputs = (await run.result()).get_outputs()

    assert untouched.deleted == ()
    assert left == before[-10:]
    assert list(report.deleted) == before[:-10]
    assert report.values.objects > 0
    assert outputs == [("last", "ask: 16? True")]
    await assert_each_opens(build, store, client)


async def test_runs_that_the_server_no_longer_has_go_when_they_were_over_and_not_when_they_may_be_adopted(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, gathering_then_asking, store=store) as durable:
        for id in ("over", "waiting"):
            run = await durable.start(1, id=f"{task_queue}-{id}")
            [request] = await pending(run)
            if id == "over":
                await run.respond(request.request_id, True)
                await run.result()
    async with dev_server(arguments=["--namespace", client.namespace]) as server:
        empty = await Client.connect(server.address, namespace=client.namespace)
        report = await pruned(empty, store, **{**HARSHEST, "states": set(STATES) - {"lost"}})
        lost = await pruned(empty, store, **HARSHEST)

    assert [(one.workflow_id, one.states, bool(one.deleted)) for one in report.workflows] == [
        (f"{task_queue}-over", ("gone",), True),
        (f"{task_queue}-waiting", ("lost",), False),
    ]
    assert [one.workflow_id for one in lost.workflows] == [f"{task_queue}-waiting"]
    assert await store.list(client.namespace) == []


async def test_checkpoints_that_were_saved_in_process_stay_unless_named(client: Client) -> None:
    store = BlobStore("memory://")
    storage = BlobCheckpointStorage(store, workflow=ask_once(), namespace=client.namespace)
    await ask_once().run(1, checkpoint_storage=storage)

    untouched = await pruned(client, store, keep_last=0)
    offline = await prune_offline(store, namespace=client.namespace, keep_last=1, clock=in_two_days)
    report = await pruned(client, store, keep_last=0, states=["in-process"])

    assert untouched.deleted == ()
    assert len(offline.deleted) + 1 == len(report.deleted)
    assert await store.list(client.namespace) == []


async def test_a_run_that_temporals_reset_made_keeps_what_it_shares_with_the_one_before(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, gathering_then_asking, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        await run.respond(request.request_id, False)
        await run.result()
        history = await run.handle.fetch_history()
        point = [
            event.event_id for event in history.events if event.HasField("workflow_task_completed_event_attributes")
        ]
        await client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=task_queue),
                workflow_task_finish_event_id=point[3],
                request_id=str(uuid4()),
                reset_reapply_exclude_types=[1, 2],  # signals and updates
            )
        )
        again = durable.get_run(task_queue)
        [request] = await pending(again)

        await pruned(client, store, **HARSHEST)

        await again.respond(request.request_id, True)
        assert (await again.result()).get_outputs() == [("last", "ask: 3? True")]


# --- through a payload codec --------------------------------------------------------------------------------


async def test_an_encrypted_store_is_pruned_and_the_open_run_goes_on(
    connect: Callable[..., Awaitable[Client]], task_queue: str
) -> None:
    client = await connect(data_converter=DataConverter(payload_codec=EncryptingCodec()))
    plain = await connect()
    build, store = reporting(task_queue), BlobStore("memory://")
    async with serving(client, task_queue, build, store=store) as durable:
        over = await durable.start(1, id=f"{task_queue}-over")
        [request] = await pending(over)
        await over.respond(request.request_id, True)
        await over.result()
        run = await durable.start(2, id=task_queue)
        [request] = await pending(run)
        described = await run.handle.describe()
        with pytest.raises(HistoryUnreadable, match="payload codec"):
            await read_histories(plain, [(task_queue, described.run_id)])

        report = await pruned(client, BlobStore.of(store, EncryptingCodec()), **HARSHEST)

        assert (report.values.objects, report.chunks.objects) == (1, 1)
        await run.respond(request.request_id, True)
        await run.result()


# --- on a service ---------------------------------------------------------------------------------------------


async def test_a_bucket_is_pruned(client: Client, task_queue: str, request: pytest.FixtureRequest) -> None:
    place = stores.new_place("s3", request)
    store = place.open()
    async with serving(client, task_queue, reporting(task_queue), store=store) as durable:
        run = await durable.start(1, id=task_queue)
        [asked] = await pending(run)
        await run.respond(asked.request_id, True)
        await run.result()

    report = await pruned(client, place.open(), keep_last=0)

    assert report.chunks.objects > 3
    assert await store.list(client.namespace) == []


# --- beside runs at work --------------------------------------------------------------------------------------


def _sharing() -> Workflow:
    """Writes values that all runs share, values of its own, and reads both again after a request."""

    @executor(id="write")
    async def write(value: int, ctx: WorkflowContext[int]) -> None:
        ctx.set_state("shared", "s" * 30_000)
        ctx.set_state("own", f"{value} " + "o" * 30_000)
        for number in range(10):
            ctx.set_state(f"entry {number}", f"{number} " + "e" * 1000)
        await ctx.send_message(value)

    @executor(id="pass")
    async def passes(value: int, ctx: WorkflowContext[int]) -> None:
        ctx.set_state("entry 3", f"changed by {value}")
        await ctx.send_message(value)

    @executor(id="read")
    async def read(text: str, ctx: WorkflowContext[str]) -> None:
        assert ctx.get_state("shared") == "s" * 30_000
        await ctx.send_message(f"{text} {ctx.get_state('own').split()[0]} {ctx.get_state('entry 3')}")

    builder = WorkflowBuilder(name="sharing", start_executor=write)
    return builder.add_chain([write, passes, Ask(id="ask"), read, Report("last")]).build()


@pytest.fixture
def hours_are_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol between writers and prunes, with an hour in a fraction of a second."""
    monkeypatch.setattr(pruning, "KEPT_FOR", timedelta(seconds=4))
    monkeypatch.setattr(pruning, "_CLOCKS_DIFFER_BY", timedelta(0))
    monkeypatch.setattr(contents, "RENEWED_AFTER", timedelta(seconds=1.5))
    monkeypatch.setattr(contents, "TRUSTED_FOR", timedelta(seconds=0.7))


@pytest.mark.usefixtures("hours_are_seconds")
async def test_runs_work_while_a_prune_follows_the_other(client: Client, task_queue: str, tmp_path: Path) -> None:
    store, over = BlobStore(tmp_path / "store"), asyncio.Event()
    deleted: list[str] = []
    swept = 0

    async def prune_and_prune() -> None:
        nonlocal swept
        while not over.is_set():
            report = await prune(client, store, dry_run=False, **HARSHEST)
            deleted.extend(report.deleted)
            swept += report.values.objects + report.chunks.objects
            await asyncio.sleep(0.3)  # else writers that wait for the end of a prune never see one

    async with serving(client, task_queue, _sharing, store=store) as durable:

        async def work(number: int) -> None:
            for turn in range(2):
                value = number * 2 + turn
                run = await durable.start(value, id=f"{task_queue}-{value}")
                [request] = await pending(run)
                await asyncio.sleep(number * 0.5)  # so that values get old while others begin
                await run.respond(request.request_id, True)
                outputs = (await run.result()).get_outputs()
                assert outputs == [("last", f"ask: {value}? True {value} changed by {value}")]

        async def talk() -> None:
            session = durable.session(f"{task_queue}-session")
            for value in range(2):
                asked = await session.run(value)
                [request] = asked.get_request_info_events()
                answered = await session.run(responses={request.request_id: True})
                assert answered.get_outputs() == [("last", f"ask: {value}? True {value} changed by {value}")]
            await session.close()

        pruning_on = asyncio.create_task(prune_and_prune())
        await asyncio.wait_for(asyncio.gather(talk(), *map(work, range(4))), 60)
        last = await durable.start(99, id=f"{task_queue}-last")
        await pending(last)
        over.set()
        await pruning_on

    assert len(deleted) > 8
    assert swept > 0
    await assert_each_opens(_sharing, store, client)


async def test_of_two_prunes_at_once_the_second_refuses(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    await pruning.announce(store, client.namespace, since=pruning.present(), at=pruning.present())
    with pytest.raises(PruneRefused, match=f"{client.namespace}/pruning"):
        await prune(client, store, keep_last=0, dry_run=False)


async def test_states_and_ages_that_make_no_sense_are_refused(client: Client) -> None:
    with pytest.raises(ValueError, match="older_than, keep_last"):
        await prune(client, "memory://")
    with pytest.raises(ValueError, match="'finished'"):
        await prune(client, "memory://", keep_last=1, states=["finished"])


async def test_a_store_of_many_lineages_is_pruned(client: Client, task_queue: str, tmp_path: Path) -> None:
    filled = Filled(BlobStore(tmp_path / "store"))
    filled.checkpoints = CheckpointStore(filled.blobs, client.namespace, cache_bytes=0)
    filled.values = ValueStore(filled.blobs, client.namespace, cache_bytes=0)

    async def lineage(number: int) -> None:
        parent = None
        for place in range(10):
            id = f"{number}-{place}"
            await filled.put(
                id, parent, state={"n": f"{number} {place}"}, workflow_id=f"w{number}", run_id=str(uuid4())
            )
            parent = id

    for start in range(0, 40, 20):
        await asyncio.gather(*(lineage(start + number) for number in range(20)))

    report = await prune(client, filled.blobs, keep_last=3, clock=in_two_days, dry_run=False)

    assert len(report.deleted) == 40 * 7
    assert report.values.objects == 40 * 7
