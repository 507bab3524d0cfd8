from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from temporal_adapter import wire
from temporal_adapter.store import (
    RECORDED_RANK,
    BlobStore,
    CheckpointStore,
    CorruptObject,
    MissingObject,
    StoreError,
    ValueStore,
    attempt_rank,
)
from tests.unit.store.counting import CountingStore

if TYPE_CHECKING:
    from tests.unit.store.conftest import MakeRecord

RANK = attempt_rank(datetime(2026, 1, 1, tzinfo=timezone.utc), 1)
RECORDED = Path(__file__).with_name("recorded")


def text(number: int) -> wire.Value:
    return wire.Value(inline=f"{number:0100}", size=102)


def state(count: int, **other: int | None) -> wire.Changes:
    numbers: dict[str, Any] = {**{f"key-{number}": number for number in range(count)}, **other}
    return wire.Changes(state={key: None if number is None else text(number) for key, number in numbers.items()})


async def run_of(
    store: CheckpointStore, graph: wire.Graph, make_record: MakeRecord, count: int, supersteps: int
) -> list[wire.Base]:
    """Commit a checkpoint with so many keys, then one for each superstep; in each, one key changes."""
    record = make_record("0", changes=state(count))
    bases = [await store.commit(record, graph=graph, workflow_id="w", rank=RANK)]
    for number in range(1, supersteps + 1):
        changes = state(0, **{f"key-{number * 37 % count}": 10_000 + number})
        record = make_record(str(number), parent=str(number - 1), base=bases[-1], changes=changes)
        bases.append(await store.commit(record, graph=graph, workflow_id="w", rank=RANK))
    return bases


async def test_a_superstep_that_changes_one_key_of_a_thousand_writes_about_one_key(
    graph: wire.Graph, make_record: MakeRecord
) -> None:
    blobs = CountingStore()
    store = CheckpointStore(blobs, "default")
    base = await store.commit(make_record("0", changes=state(1_000)), graph=graph, workflow_id="w", rank=RANK)
    blobs.take()
    record = make_record("1", base=base, changes=state(0, **{"key-500": 7}))
    await store.commit(record, graph=graph, workflow_id="w", rank=RANK)
    written = blobs.take()
    assert len(written) == 2  # manifest and index entry
    assert sum(written.values()) < 1_200


async def test_bytes_per_superstep_do_not_grow_with_the_state(graph: wire.Graph, make_record: MakeRecord) -> None:
    costs: dict[int, float] = {}
    for count in (500, 5_000):
        blobs = CountingStore()
        store = CheckpointStore(blobs, "default")
        await run_of(store, graph, make_record, count, 0)
        first = sum(blobs.take().values())
        await run_of(store, graph, make_record, count, 100)
        costs[count] = (sum(blobs.take().values()) - first) / 100
    assert costs[500] < 6_000
    assert costs[5_000] < 2 * costs[500]


async def test_every_checkpoint_of_a_run_reads_back_in_full(
    blobs: BlobStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    bases = await run_of(CheckpointStore(blobs, "default"), graph, make_record, 300, 80)
    expected = {f"key-{number}": text(number) for number in range(300)}
    cold = CheckpointStore(blobs, "default")
    for number, base in enumerate(bases):
        if number:
            expected[f"key-{number * 37 % 300}"] = text(10_000 + number)
        manifest = await cold.load(base)
        assert list(manifest.state.items()) == list(expected.items())
        assert manifest == await cold.load_by_id(str(number))
    assert [manifest.header.checkpoint_id for manifest in await cold.list("expense")] == [str(n) for n in range(81)]


async def test_a_paged_checkpoint_needs_neither_its_base_nor_its_parents(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    bases = await run_of(checkpoints, graph, make_record, 300, 60)
    for number in range(60):
        await checkpoints.delete(str(number))
    assert len((await checkpoints.load(bases[-1])).state) == 300


async def test_entries_that_become_few_are_stored_in_one_piece_again(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("0", changes=state(300)), graph=graph, workflow_id="w", rank=RANK)
    gone = wire.Changes(state={f"key-{number}": None for number in range(299)})
    base = await checkpoints.commit(make_record("1", base=base, changes=gone), graph=graph, workflow_id="w", rank=RANK)
    assert b'"pages"' not in await blobs.get(base.object)
    assert list((await checkpoints.load(base)).state) == ["key-299"]


async def test_what_a_large_graph_is_like_is_written_once(graph: wire.Graph, make_record: MakeRecord) -> None:
    blobs = CountingStore()
    store = CheckpointStore(blobs, "default", cache_bytes=0)
    child = wire.Graph(name="inner", signature="7", start_executor_id="a", executors=["a"], max_iterations=1)
    large = wire.replace(graph, executors=[f"executor-{number}" for number in range(500)], children={"audit": child})
    base = (await run_of(store, large, make_record, 300, 3))[-1]
    assert max(size for name, size in blobs.take().items() if "/checkpoints/" in name) < 2_000
    manifest = await store.load(base)
    assert manifest.executor_ids == large.executors
    assert manifest.outlines["audit"].workflow_name == "inner"


async def test_two_writers_of_one_outcome_agree_however_each_stores_it(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    # given the same outcome, once all anew and once as a change to another checkpoint, written by different runs
    older = await checkpoints.commit(make_record("1", changes=state(300)), graph=graph, workflow_id="w", rank=RANK)
    by_base = make_record("2", base=older, changes=state(0, **{"key-7": 70}))
    in_full = make_record("2", changes=state(300, **{"key-7": 70}))
    bases = [
        await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK, run_id=run_id)
        for record, run_id in [(by_base, "one"), (in_full, "other")]
    ]
    assert bases[0] == bases[1]
    assert (await checkpoints.load(bases[0])).run_id == "one"
    with pytest.raises(StoreError, match="different outcome"):
        await checkpoints.commit(make_record("2", changes=state(300)), graph=graph, workflow_id="w", rank=RECORDED_RANK)


async def test_when_the_very_object_is_gone_recorded_history_stands_in(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    record = make_record("c", changes=state(2))
    base = await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RANK)
    await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK)
    await blobs.delete(base.object)
    assert len((await checkpoints.load(base)).state) == 2


async def test_when_the_very_object_is_damaged_nothing_stands_in(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    record = make_record("c", changes=state(2))
    base = await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RANK)
    await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK)
    await blobs.put(base.object, b"")
    with pytest.raises(CorruptObject, match="'c' is damaged"):
        await checkpoints.load(base)


async def test_no_attempt_stands_in_for_an_object_that_is_gone(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    record = make_record("c", changes=state(2))
    await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RANK)
    base = await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK)
    await blobs.delete(base.object)
    with pytest.raises(MissingObject, match="'c' is missing"):
        await checkpoints.load(base)


async def test_a_checkpoint_is_found_with_where_it_is(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("c", changes=state(300)), graph=graph, workflow_id="w", rank=RANK)
    assert await checkpoints.find("c") == (base, await checkpoints.load(base))
    assert await checkpoints.find("nobody") is None


async def test_a_fold_on_a_cold_worker_that_lacks_a_page_names_both_checkpoints_and_the_page(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("1", changes=state(300)), graph=graph, workflow_id="w", rank=RANK)
    page = (await blobs.list("default/values"))[0]
    await blobs.delete(page)
    changes = wire.Changes(state={f"key-{number}": text(-number) for number in range(200)})
    with pytest.raises(MissingObject, match=r"'2' cannot be written.*'1' it builds on cannot be read") as raised:
        await checkpoints.commit(make_record("2", base=base, changes=changes), graph=graph, workflow_id="w", rank=RANK)
    assert page in str(raised.value)


async def test_what_the_first_release_wrote_is_readable_and_can_be_built_on(
    tmp_path: Path, graph: wire.Graph, make_record: MakeRecord
) -> None:
    # given a store that was recorded with the release before pages and parts
    shutil.copytree(RECORDED / "first_release", tmp_path / "store")
    blobs = BlobStore(tmp_path / "store")
    checkpoints, values = CheckpointStore(blobs, "default"), ValueStore(blobs, "default")

    # when its checkpoint is read
    found = await checkpoints.find("c1")
    assert found is not None
    base, manifest = found

    # then everything is there
    assert base.digest == "23320471383ac0c56f45883dd5651f842bc49204e32ea9fb2bb353c5085e39bf"
    assert (manifest.workflow_id, manifest.header.metadata, manifest.run_id) == ("order/1", {"note": "recorded"}, "")
    assert list(manifest.state) == [*(f"key-{number:03}" for number in range(200)), "../"]
    assert manifest.state["../"].inline == "Ünïcode \ud800"
    assert manifest.children["audit"].iteration == 3
    assert manifest.outlines["audit"].executor_ids == ["a"]
    assert manifest.buffers["empty"] == []
    assert len((await values.resolve(manifest.executors["intake"]))["items"]) == 60
    assert await values.resolve(manifest.messages[0].data) == await values.resolve(manifest.buffers["fan-in"][0].data)
    assert await checkpoints.list_ids("expense", "order/1") == ["c1"]

    # and a checkpoint can build on it
    record = make_record("c2", parent="c1", base=base, changes=state(0, new=1))
    base = await checkpoints.commit(record, graph=graph, workflow_id="order/1", rank=RECORDED_RANK, run_id="r")
    assert list((await checkpoints.load(base)).state) == [*manifest.state, "new"]
