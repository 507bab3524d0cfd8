from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from temporal_adapter import wire
from temporal_adapter.store import RECORDED_RANK, BlobStore, CheckpointStore, CorruptObject, attempt_rank

if TYPE_CHECKING:
    from tests.unit.store.conftest import MakeRecord

RANK = attempt_rank(datetime(2026, 1, 1, tzinfo=timezone.utc), 1)


async def test_checkpoints_are_listed_by_lineage_when_timestamps_are_equal(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    for checkpoint_id, parent in [("a", "b"), ("b", "c"), ("c", None), ("0", "c"), ("orphan", "gone")]:
        await checkpoints.commit(make_record(checkpoint_id, parent=parent), graph=graph, workflow_id="w", rank=RANK)
    expected = ["c", "0", "b", "a", "orphan"]
    assert await checkpoints.list_ids("expense") == expected
    assert [manifest.header.checkpoint_id for manifest in await checkpoints.list("expense")] == expected


async def test_a_list_is_of_one_workflow_or_one_workflow_id(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    for checkpoint_id, workflow_id in [("1", "w"), ("2", "w2"), ("3", "../w"), ("4", "x" * 1_000), ("5", "")]:
        await checkpoints.commit(make_record(checkpoint_id), graph=graph, workflow_id=workflow_id, rank=RANK)
        assert await checkpoints.list_ids("expense", workflow_id) == [checkpoint_id]
    assert await checkpoints.list_ids("expense") == ["1", "2", "3", "4", "5"]
    assert await checkpoints.list_ids("exp") == []
    assert await checkpoints.list("expense", "nobody") == []


async def test_checkpoint_ids_too_long_for_a_file_name_are_listed_in_full(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    ids = ["x" * 1_000 + "1", "x" * 1_000 + "2"]
    for checkpoint_id in ids:
        await checkpoints.commit(make_record(checkpoint_id), graph=graph, workflow_id="w", rank=RANK)
    assert await checkpoints.list_ids("expense") == ids
    assert [manifest.header.checkpoint_id for manifest in await checkpoints.list("expense")] == ids


async def test_more_checkpoints_than_are_read_at_once_are_listed_in_order(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    ids = [str(number) for number in range(100)]
    for checkpoint_id, parent in zip(ids, [None, *ids], strict=False):
        await checkpoints.commit(make_record(checkpoint_id, parent=parent), graph=graph, workflow_id="w", rank=RANK)
    assert [manifest.header.checkpoint_id for manifest in await checkpoints.list("expense")] == ids


async def test_an_index_entry_whose_manifest_was_never_written_makes_no_checkpoint(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("c"), graph=graph, workflow_id="w", rank=RANK)
    await blobs.delete(base.object)
    assert await checkpoints.list("expense") == []


async def test_a_damaged_index_entry_is_named(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    await checkpoints.commit(make_record("c"), graph=graph, workflow_id="w", rank=RANK)
    await blobs.put("default/workflows/expense/w/c", b"{}")
    with pytest.raises(CorruptObject, match="default/workflows/expense/w/c"):
        await checkpoints.list_ids("expense")


async def test_deleting_removes_a_checkpoint_whoever_wrote_it(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    for rank in (RANK, RECORDED_RANK):
        await checkpoints.commit(make_record("c"), graph=graph, workflow_id="w", rank=rank)
    await checkpoints.commit(make_record("other"), graph=graph, workflow_id="w", rank=RANK)
    assert await checkpoints.delete("c")
    assert not await checkpoints.delete("c")
    assert await checkpoints.load_by_id("c") is None
    assert await checkpoints.list_ids("expense") == ["other"]
    assert not [name for name in await blobs.list("default") if name.split("/")[-1] == "c"]


async def test_a_damaged_checkpoint_can_be_deleted(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base = await checkpoints.commit(make_record("c"), graph=graph, workflow_id="w", rank=RANK)
    await blobs.put(base.object, b"")
    assert await checkpoints.delete("c")
    assert await blobs.list("default") == []


async def test_a_deleted_checkpoint_is_gone_for_the_worker_that_wrote_it(
    blobs: BlobStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    checkpoints = CheckpointStore(blobs, "default")
    await checkpoints.commit(make_record("c"), graph=graph, workflow_id="w", rank=RANK)
    assert await checkpoints.delete("c")
    assert await checkpoints.load_by_id("c") is None
    assert await checkpoints.list("expense") == []
