from __future__ import annotations

import asyncio
import hashlib
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import msgspec
import pytest

from temporal_adapter import wire
from temporal_adapter.store import (
    RECORDED_RANK,
    BlobStore,
    CheckpointStore,
    CorruptObject,
    MissingObject,
    StoreError,
    attempt_rank,
)
from temporal_adapter.store.names import manifest_object
from temporal_adapter.store.seal import seal

if TYPE_CHECKING:
    from tests.unit.store.conftest import MakeRecord

FIRST = attempt_rank(datetime(2026, 1, 1, tzinfo=timezone.utc), 1)
SECOND = attempt_rank(datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=9), 2)


def state(**numbers: int | None) -> wire.Changes:
    return wire.Changes(
        state={
            key: None if number is None else wire.Value(inline=number, size=len(str(number)))
            for key, number in numbers.items()
        }
    )


def numbers_in(manifest: wire.Manifest | None) -> dict[str, object]:
    assert manifest is not None
    return {key: value.inline for key, value in manifest.state.items()}


async def test_a_committed_checkpoint_loads_in_full(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    # given a record with something in every place, ids that are hostile, and a value by reference
    value = wire.Value(inline={"text": "\ud800", "n": 10**30}, size=40)
    request = wire.Request(
        request_id="q", source_executor_id="audit", data=value, request_type="str", response_type="bool"
    )
    message = wire.Message(source_id="intake", data=wire.Value(ref="0" * 64, size=10**6), request=request)
    changes = wire.Changes(
        state={"../": value},
        executors={"intake": wire.Value(inline=None, size=4)},
        attributes={"audit": value},
        buffers={"fan-in": [message], "empty": []},
        requests={"q": request},
    )
    record = make_record("../1", parent="0", changes=changes)
    record = msgspec.structs.replace(record, messages=[message])

    # when it is committed
    base = await checkpoints.commit(record, graph=graph, workflow_id="order/#1", rank=FIRST)

    # then it loads as it was, by place and by id
    expected = wire.Manifest(
        header=record.header,
        workflow_name="expense",
        workflow_id="order/#1",
        graph_signature="5167",
        executor_ids=["intake", "audit"],
        messages=[message],
        state={"../": value},
        executors={"intake": wire.Value(inline=None, size=4)},
        attributes={"audit": value},
        buffers={"fan-in": [message], "empty": []},
        requests={"q": request},
    )
    assert await checkpoints.load(base) == expected
    assert await checkpoints.load_by_id("../1") == expected


async def test_the_base_names_the_object_and_its_digest(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("c"), graph=graph, workflow_id="w", rank=FIRST)
    data = await blobs.get(f"default/checkpoints/c/{FIRST}.json")
    assert base == wire.Base(
        checkpoint_id="c", object=f"default/checkpoints/c/{FIRST}.json", digest=hashlib.sha256(data).hexdigest()
    )
    assert await checkpoints.object_size(base) == len(data)
    assert await blobs.list("default") == [base.object, "default/workflows/expense/w/c"]


async def test_changes_are_laid_over_the_base_and_none_deletes(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    first = await checkpoints.commit(
        make_record("c1", changes=state(a=1, b=2, c=3)), graph=graph, workflow_id="w", rank=FIRST
    )
    second = await checkpoints.commit(
        make_record("c2", parent="c1", base=first, changes=state(b=None, c=30, d=4)),
        graph=graph,
        workflow_id="w",
        rank=FIRST,
    )
    assert numbers_in(await checkpoints.load(second)) == {"a": 1, "c": 30, "d": 4}
    assert numbers_in(await checkpoints.load(first)) == {"a": 1, "b": 2, "c": 3}


async def test_a_checkpoint_loads_without_the_one_it_builds_on(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    first = await checkpoints.commit(make_record("c1", changes=state(a=1)), graph=graph, workflow_id="w", rank=FIRST)
    await checkpoints.commit(make_record("c2", parent="c1", base=first), graph=graph, workflow_id="w", rank=FIRST)
    await checkpoints.delete("c1")
    assert numbers_in(await checkpoints.load_by_id("c2")) == {"a": 1}


async def test_committing_again_gives_the_same_base_and_no_new_object(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    record = make_record("c", changes=state(a=1))
    bases = [await checkpoints.commit(record, graph=graph, workflow_id="w", rank=FIRST) for _ in range(2)]
    bases += await asyncio.gather(
        *(checkpoints.commit(record, graph=graph, workflow_id="w", rank=FIRST) for _ in range(10))
    )
    assert len(set(map(repr, bases))) == 1
    assert len(await blobs.list("default")) == 2


async def test_recorded_history_told_by_different_bases_is_one_checkpoint(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    # given the same outcome, once in full and once as a base and changes, so that keys come in another order
    older = await checkpoints.commit(make_record("c1", changes=state(b=2)), graph=graph, workflow_id="w", rank=FIRST)
    in_full = make_record("c2", parent="c1", changes=state(a=1, b=2))
    by_base = make_record("c2", parent="c1", base=older, changes=state(a=1))
    bases = [
        await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK)
        for record in (in_full, by_base)
    ]
    assert bases[0] == bases[1]
    assert numbers_in(await checkpoints.load(bases[1])) == {"a": 1, "b": 2}


async def test_a_different_outcome_under_the_same_rank_is_refused(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("c", changes=state(a=1)), graph=graph, workflow_id="w", rank=FIRST)
    with pytest.raises(StoreError, match=r"'c' cannot be written.*different outcome") as raised:
        await checkpoints.commit(make_record("c", changes=state(a=2)), graph=graph, workflow_id="w", rank=FIRST)
    assert base.object in str(raised.value)
    assert numbers_in(await checkpoints.load(base)) == {"a": 1}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
async def test_whatever_a_zombie_writes_and_when_recorded_history_is_what_readers_see(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord, order: tuple[int, ...]
) -> None:
    ranks = [FIRST, SECOND, RECORDED_RANK]
    bases = {
        index: await checkpoints.commit(
            make_record("c", changes=state(a=index)), graph=graph, workflow_id="w", rank=ranks[index]
        )
        for index in order
    }
    assert numbers_in(await checkpoints.load_by_id("c")) == {"a": 2}
    assert [numbers_in(manifest) for manifest in await checkpoints.list("expense")] == [{"a": 2}]
    for index, base in bases.items():
        assert numbers_in(await checkpoints.load(base)) == {"a": index}


async def test_before_history_has_its_say_the_latest_attempt_is_what_readers_see(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    for index, rank in enumerate([SECOND, FIRST]):
        await checkpoints.commit(make_record("c", changes=state(a=index)), graph=graph, workflow_id="w", rank=rank)
    assert numbers_in(await checkpoints.load_by_id("c")) == {"a": 0}


async def test_a_missing_base_stops_the_commit_and_both_are_named(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("c1"), graph=graph, workflow_id="w", rank=FIRST)
    await checkpoints.delete("c1")
    with pytest.raises(MissingObject, match="'c2' cannot be written") as raised:
        await checkpoints.commit(make_record("c2", base=base), graph=graph, workflow_id="w", rank=FIRST)
    assert "'c1'" in str(raised.value)
    assert base.object in str(raised.value)
    assert await checkpoints.list_ids("expense") == []


async def test_a_base_swapped_for_a_zombies_outcome_is_damage(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    one, other = [
        await checkpoints.commit(make_record("c", changes=state(a=index)), graph=graph, workflow_id="w", rank=rank)
        for index, rank in enumerate([FIRST, SECOND])
    ]
    await blobs.put(one.object, await blobs.get(other.object))
    with pytest.raises(CorruptObject, match="recorded digest") as raised:
        await checkpoints.commit(make_record("c2", base=one), graph=graph, workflow_id="w", rank=FIRST)
    assert one.object in str(raised.value)


async def test_a_base_that_names_another_checkpoints_object_is_refused(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("c1"), graph=graph, workflow_id="w", rank=FIRST)
    with pytest.raises(CorruptObject, match="it is checkpoint 'c1'"):
        await checkpoints.load(msgspec.structs.replace(base, checkpoint_id="c2"))


@pytest.mark.parametrize("damage", ["empty", "cut short", "one character", "other checkpoint"])
async def test_a_damaged_checkpoint_is_reported_and_no_lower_rank_stands_in(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord, damage: str
) -> None:
    await checkpoints.commit(make_record("c", changes=state(a=1)), graph=graph, workflow_id="w", rank=FIRST)
    base = await checkpoints.commit(
        make_record("c", changes=state(a=123)), graph=graph, workflow_id="w", rank=RECORDED_RANK
    )
    other = await checkpoints.commit(make_record("d"), graph=graph, workflow_id="w2", rank=FIRST)
    data = await blobs.get(base.object)
    damaged = {
        "empty": b"",
        "cut short": data[: len(data) // 2],
        "one character": data.replace(b"123", b"124"),
        "other checkpoint": await blobs.get(other.object),
    }
    await blobs.put(base.object, damaged[damage])

    for reading in (checkpoints.load_by_id("c"), checkpoints.list("expense", "w"), checkpoints.load(base)):
        with pytest.raises(CorruptObject, match="'c' is damaged") as raised:
            await reading
        assert base.object in str(raised.value)


async def test_a_checkpoint_cut_short_by_a_power_loss_is_made_whole_by_the_next_commit(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    record = make_record("c", changes=state(a=1))
    base = await checkpoints.commit(record, graph=graph, workflow_id="w", rank=FIRST)
    for name in await blobs.list("default"):
        await blobs.put(name, b"")
    assert await checkpoints.commit(record, graph=graph, workflow_id="w", rank=FIRST) == base
    assert numbers_in(await checkpoints.load(base)) == {"a": 1}
    assert await checkpoints.list_ids("expense") == ["c"]


async def test_a_checkpoint_of_a_later_release_is_refused_and_left_alone(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    name = manifest_object("default", "c", FIRST)
    later = seal({"v": wire.SCHEMA_VERSION + 1, "header": {"checkpoint_id": "c"}})
    await blobs.put(name, later)
    for action in (
        checkpoints.load_by_id("c"),
        checkpoints.commit(make_record("c"), graph=graph, workflow_id="w", rank=FIRST),
    ):
        with pytest.raises(StoreError, match="Upgrade this process") as raised:
            await action
        assert not isinstance(raised.value, CorruptObject)
        assert name in str(raised.value)
    assert await blobs.get(name) == later


async def test_a_worker_goes_on_from_its_own_checkpoint_without_reading_it(
    blobs: BlobStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    checkpoints = CheckpointStore(blobs, "default")
    numbers = {f"key-{number}": number for number in range(300)}  # too many to travel in history
    base = await checkpoints.commit(
        make_record("c1", changes=state(**numbers)), graph=graph, workflow_id="w", rank=FIRST
    )
    await blobs.delete(base.object)
    second = await checkpoints.commit(make_record("c2", base=base), graph=graph, workflow_id="w", rank=FIRST)
    assert numbers_in(await checkpoints.load(second)) == numbers


async def test_a_checkpoint_nobody_wrote_is_none(checkpoints: CheckpointStore) -> None:
    assert await checkpoints.load_by_id("nobody") is None
