"""Verify says exactly where the store is not what history says, and nothing where all is well."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobStore, wire
from temporal_adapter.recovery import Difference, RunNotOnServer, rebuild, verify
from temporal_adapter.recovery.expected import Expected
from temporal_adapter.store import RECORDED_RANK, attempt_rank
from tests.support import nested
from tests.support.faulty import FaultyStore
from tests.support.graphs import chain
from tests.support.recovering import (
    checkpoints_of,
    from_history,
    gathering_then_asking,
    reporting_at_length,
    values_of,
)
from tests.support.running import failure_of, pending, serving, until
from tests.support.scripted import Script, asking_beside_work, steps

ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))
LATER = attempt_rank(datetime(2999, 1, 1, tzinfo=timezone.utc), 1)


async def completed(client: Client, id: str, store: BlobStore) -> Expected:
    """Run the chain; return what its history says."""
    async with serving(client, id, chain, store=store) as durable:
        await (await durable.start(1, id=id)).result()
    return await from_history(client, id)


async def overwrite(client: Client, store: BlobStore, wanted: Expected, index: int, **fields: Any) -> str:
    """Write another outcome of a checkpoint, one that outranks what is there; return the checkpoint's id."""
    checkpoint = wanted.checkpoints[index]
    whole = wire.Changes(
        state={**checkpoint.manifest.state, **fields.pop("state", {})},
        executors={**checkpoint.manifest.executors},
        attributes={**checkpoint.manifest.attributes},
    )
    header = wire.replace(checkpoint.manifest.header, **fields.pop("header", {}))
    record = wire.CheckpointRecord(
        header=header, snapshot=wire.Snapshot(changes=whole), messages=checkpoint.manifest.messages
    )
    await checkpoints_of(client, store).commit(
        wire.replace(record, **fields),
        graph=checkpoint.graph,
        workflow_id=wanted.run.workflow_id,
        rank=LATER,
        run_id=wanted.run.run_id,
    )
    return checkpoint.id


async def one_difference(client: Client, id: str, store: BlobStore) -> Difference:
    told = await verify(client, id, store)
    assert len(told.differences) == 1, told.differences
    return told.differences[0]


def inline(value: Any) -> wire.Value:
    return wire.Value(inline=value, size=len(wire.to_bytes(value)))


async def test_nothing_differs_when_all_is_well(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)

    told = await verify(client, task_queue, store)

    assert told.same, told.differences
    assert told.checkpoints == len(wanted.checkpoints) == 4
    assert told.run_ids == (wanted.run.run_id,)


async def test_an_entry_that_differs_is_told_by_place_with_both_values(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    id = await overwrite(client, store, wanted, 2, state={"first": inline({"$": "tuple", "items": [1, "one"]})})

    difference = await one_difference(client, task_queue, store)

    assert (difference.kind, difference.checkpoint_id, difference.place) == ("differs", id, "state['first']")
    assert (difference.recorded, difference.stored) == (1, [1, "one"])
    assert str(difference) == f"checkpoint {id}: differs at state['first']: history has 1, the store [1, 'one']"


async def test_an_entry_that_only_one_side_has_is_told(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    await overwrite(client, store, wanted, 1, state={"more": inline("x")})

    difference = await one_difference(client, task_queue, store)

    assert (difference.place, difference.recorded, difference.stored) == ("state['more']", None, "x")


async def test_a_value_of_another_type_that_is_equal_in_python_differs(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    await overwrite(client, store, wanted, 1, state={"first": inline(True)})

    difference = await one_difference(client, task_queue, store)

    assert (difference.place, difference.recorded, difference.stored) == ("state['first']", 1, True)
    assert difference.stored is True


async def test_messages_that_differ_are_told(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    await overwrite(client, store, wanted, 1, messages=[])

    difference = await one_difference(client, task_queue, store)

    assert difference.place == "messages[0]"
    assert difference.recorded["data"] == 2
    assert difference.stored is None


async def test_a_value_by_reference_is_the_same_as_one_that_is_inline(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    reference = await values_of(client, store).put(1)
    await overwrite(client, store, wanted, 1, state={"first": wire.Value(ref=reference, size=1)})

    assert (await verify(client, task_queue, store)).same


async def test_another_parent_is_told_in_the_checkpoint_and_in_the_index(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    await overwrite(client, store, wanted, 3, header={"previous_checkpoint_id": wanted.checkpoints[0].id})

    told = await verify(client, task_queue, store)

    assert {one.place for one in told.differences} == {"previous_checkpoint_id", "index.previous_checkpoint_id"}
    assert {one.recorded for one in told.differences} == {wanted.checkpoints[2].id}
    assert {one.stored for one in told.differences} == {wanted.checkpoints[0].id}
    await rebuild(client, task_queue, store)
    assert (await verify(client, task_queue, store)).same


async def test_a_checkpoint_that_is_missing_is_told(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    await checkpoints_of(client, store).delete(wanted.checkpoints[1].id)

    difference = await one_difference(client, task_queue, store)

    assert (difference.kind, difference.checkpoint_id) == ("missing", wanted.checkpoints[1].id)


async def test_a_checkpoint_that_is_not_in_the_index_is_told(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    [name] = [one for one in await store.list(f"{client.namespace}/workflows") if wanted.checkpoints[1].id in one]
    await store.delete(name)

    difference = await one_difference(client, task_queue, store)

    assert (difference.kind, difference.place) == ("missing", "index")
    await rebuild(client, task_queue, store)
    assert (await verify(client, task_queue, store)).same


async def test_a_damaged_checkpoint_is_told(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    [name] = [one for one in await store.list(f"{client.namespace}/checkpoints") if wanted.checkpoints[1].id in one]
    await store.put(name, (await store.get(name))[:-40])

    difference = await one_difference(client, task_queue, store)

    assert (difference.kind, difference.checkpoint_id) == ("damaged", wanted.checkpoints[1].id)
    assert name in difference.detail


@pytest.mark.parametrize("kind", ["value lost", "value damaged"])
async def test_a_value_that_cannot_be_read_is_told_by_place(client: Client, task_queue: str, kind: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, reporting_at_length(20_000), store=store) as durable:
        await pending(await durable.start(1, id=task_queue))
    wanted = await from_history(client, task_queue)
    report = wanted.checkpoints[1].manifest.state["report"]
    [name] = [one for one in await store.list(f"{client.namespace}/values") if one.endswith(report.ref or "none")]
    await (store.delete(name) if kind == "value lost" else store.put(name, b"{}"))

    told = await verify(client, task_queue, store)

    with_report = [one.id for one in wanted.checkpoints[1:]]
    assert [(one.kind, one.checkpoint_id, one.place) for one in told.differences] == [
        (kind, id, "state['report']") for id in with_report
    ]
    assert told.differences[0].recorded == {"ref": report.ref, "size": report.size}


async def test_a_checkpoint_that_history_never_recorded_is_told(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    last = wanted.checkpoints[-1]
    header = wire.CheckpointHeader(
        checkpoint_id="stranger", previous_checkpoint_id=last.id, iteration=9, timestamp="2026-01-01", kind="superstep"
    )
    record = wire.CheckpointRecord(header=header, snapshot=wire.Snapshot(changes=wire.Changes()))

    async def write(run_id: str) -> None:
        stores = checkpoints_of(client, store)
        await stores.commit(
            wire.replace(record, header=wire.replace(header, checkpoint_id=f"of {run_id}")),
            graph=last.graph,
            workflow_id=task_queue,
            rank=RECORDED_RANK,
            run_id=run_id,
        )

    await write(wanted.run.run_id)
    await write("another run")

    difference = await one_difference(client, task_queue, store)

    assert (difference.kind, difference.checkpoint_id) == ("unrecorded", f"of {wanted.run.run_id}")


async def test_what_the_store_knows_of_the_run_is_verified(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    wanted = await completed(client, task_queue, store)
    stores = checkpoints_of(client, store)
    await stores.put_run(wire.replace(wanted.run, task_queue="elsewhere"))

    difference = await one_difference(client, task_queue, store)

    assert (difference.place, difference.recorded, difference.stored) == ("run.task_queue", task_queue, "elsewhere")
    await rebuild(client, task_queue, store)
    assert (await verify(client, task_queue, store)).same


async def test_nothing_differs_while_an_executor_is_at_work(client: Client, task_queue: str) -> None:
    store, script = BlobStore("memory://"), Script()
    script.hold("two")
    async with serving(client, task_queue, steps(script, "one", "two", "three"), store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await script.entered("two")

        told = await verify(client, task_queue, store)
        rebuilt = await rebuild(client, task_queue, store)

        script.release("two")
        await run.result()
    assert told.same, told.differences
    assert len(told.in_flight) == 1, "the checkpoint that `two` makes"
    assert rebuilt.runs[0].in_flight == told.in_flight
    assert len(rebuilt.runs[0].kept) == told.checkpoints == 2
    after = await verify(client, task_queue, store)
    assert after.same, after.differences


async def test_nothing_differs_while_the_store_is_yet_to_get_a_checkpoint(client: Client, task_queue: str) -> None:
    store, script = FaultyStore(), Script()
    script.hold("work")
    async with serving(client, task_queue, asking_beside_work(script), store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await script.entered("work")
        store.away = True
        script.release("work")

        async def paused_without() -> bool:
            status = await run.status()
            return bool(status.state.value == "IDLE_WITH_PENDING_REQUESTS" and status.unmirrored_checkpoints)

        await until(paused_without)
        told = await verify(client, task_queue, store)
        store.away = False
        for request in await pending(run):
            await run.respond(request.request_id, True)
        await run.result()

    assert told.same, told.differences
    assert told.in_flight
    after = await verify(client, task_queue, store)
    assert after.same, after.differences


async def test_a_run_that_the_server_does_not_have_is_an_error_that_says_so(client: Client) -> None:
    with pytest.raises(RunNotOnServer, match=r"no run 'never started'.*retention"):
        await verify(client, "never started", "memory://")
    with pytest.raises(RunNotOnServer, match="no run 'never started'"):
        await rebuild(client, "never started", "memory://")


async def test_an_empty_store_lacks_everything(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, gathering_then_asking) as durable:
        await pending(await durable.start(1, id=task_queue))

    told = await verify(client, task_queue, "memory://")

    assert [one.kind for one in told.differences] == ["missing"] * 5
    assert [one.place for one in told.differences] == ["run", "", "", "", ""]


class SlowToKnowRuns(BlobStore):
    """Takes its time with what it is told of runs, after it has it."""

    async def put(self, name: str, data: bytes) -> None:
        await super().put(name, data)
        if "/runs/" in name:
            await asyncio.sleep(0.5)


async def test_a_run_that_is_just_ending_is_no_difference(client: Client, task_queue: str) -> None:
    store = SlowToKnowRuns("memory://")
    async with serving(client, task_queue, nested.fails, store=store, default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=task_queue)
        ending = asyncio.ensure_future(failure_of(run))
        told: list[Difference] = []
        while not ending.done():
            told += (await verify(client, task_queue, store)).differences
        await ending
        told += (await verify(client, task_queue, store)).differences

    assert [one for one in told if one.place.startswith("run")] == []
