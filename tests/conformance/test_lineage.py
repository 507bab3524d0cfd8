"""Where the blob store knows better than MAF: the lineage says what is latest, and what comes first."""

from __future__ import annotations

import random

import pytest
from agent_framework import WorkflowCheckpoint

from temporal_adapter import BlobCheckpointStorage, BlobStore
from tests.conformance.samples import checkpoint, lineage_of, nothing
from tests.support.differential import resume_in_process, run_in_process
from tests.support.graphs import chain, loop


@pytest.fixture
def storage(blobs: BlobStore) -> BlobCheckpointStorage:
    return BlobCheckpointStorage(blobs, workflow=nothing)


async def saved(storage: BlobCheckpointStorage, *checkpoints: WorkflowCheckpoint) -> None:
    """Save checkpoints in no order."""
    for one in random.Random(7).sample(checkpoints, len(checkpoints)):
        await storage.save(one)


async def latest(storage: BlobCheckpointStorage) -> str:
    found = await storage.get_latest(workflow_name="sample")
    assert found is not None
    return found.checkpoint_id


@pytest.mark.parametrize("seconds", [0, -1, -0.000001], ids=["equal timestamps", "a clock going back", "a little"])
async def test_the_head_is_the_latest_whatever_the_clock_says(storage: BlobCheckpointStorage, seconds: float) -> None:
    parents = [None, *(f"c{number}" for number in range(11))]
    lineage = [
        checkpoint(f"c{number}", parent=parent, at=number * seconds, iteration_count=number // 2)
        for number, parent in enumerate(parents)
    ]
    await saved(storage, *lineage)

    assert await latest(storage) == "c11"
    ids = [one.checkpoint_id for one in lineage]
    assert await storage.list_checkpoint_ids(workflow_name="sample") == ids
    assert [one.checkpoint_id for one in await storage.list_checkpoints(workflow_name="sample")] == ids


async def test_of_a_resumed_lineage_the_youngest_head_is_the_latest(storage: BlobCheckpointStorage) -> None:
    await saved(storage, *lineage_of(5))  # one a second
    await saved(
        storage, checkpoint("again-2", parent="sample-1", at=10), checkpoint("again-3", parent="again-2", at=11)
    )

    assert await latest(storage) == "again-3"
    assert await storage.list_checkpoint_ids(workflow_name="sample") == [
        *("sample-0", "sample-1", "sample-2", "sample-3", "sample-4"),
        *("again-2", "again-3"),
    ]


async def test_a_checkpoint_that_others_build_on_is_not_the_latest_though_its_clock_ran_ahead(
    storage: BlobCheckpointStorage,
) -> None:
    first, *rest = lineage_of(4)
    ahead = checkpoint("sample-0", at=1_000_000)
    await saved(storage, ahead, *rest, checkpoint("other", at=2))

    assert await latest(storage) == "sample-3"
    assert first.checkpoint_id == ahead.checkpoint_id


async def test_a_deleted_head_leaves_its_parent_as_the_latest(storage: BlobCheckpointStorage) -> None:
    await saved(storage, *lineage_of(3))

    await storage.delete("sample-2")

    assert await latest(storage) == "sample-1"


async def test_a_lineage_whose_root_is_gone_is_still_in_order(storage: BlobCheckpointStorage) -> None:
    await saved(storage, *lineage_of(4))

    await storage.delete("sample-0")
    await storage.delete("sample-2")

    assert await latest(storage) == "sample-3"
    assert await storage.list_checkpoint_ids(workflow_name="sample") == ["sample-1", "sample-3"]


async def test_a_resumed_run_makes_the_latest_checkpoint(blobs: BlobStore) -> None:
    storage = BlobCheckpointStorage(blobs, workflow=loop)
    await run_in_process(loop, 0, storage=storage)
    [entry, *_] = await storage.list_checkpoints(workflow_name="loop")
    before = await storage.list_checkpoint_ids(workflow_name="loop")

    await resume_in_process(loop, storage, entry.checkpoint_id)

    found = await storage.get_latest(workflow_name="loop")
    assert found is not None
    assert found.checkpoint_id not in before
    after = {one.checkpoint_id: one for one in await storage.list_checkpoints(workflow_name="loop")}
    parent = found
    while parent.checkpoint_id not in before:
        parent = after[parent.previous_checkpoint_id or ""]
    assert parent.checkpoint_id == entry.checkpoint_id


async def test_of_several_runs_the_last_ones_head_is_the_latest(blobs: BlobStore) -> None:
    storage = BlobCheckpointStorage(blobs, workflow=chain)
    heads: list[str] = []
    for message in (1, 2, 3):
        await chain().run(message, checkpoint_storage=storage)
        found = await storage.get_latest(workflow_name="chain")
        assert found is not None
        heads.append(found.checkpoint_id)

    assert len(set(heads)) == 3
    parents = [one.previous_checkpoint_id for one in await storage.list_checkpoints(workflow_name="chain")]
    assert parents.count(None) == 3
    assert not set(heads).intersection(parents)
