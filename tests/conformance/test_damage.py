"""What is damaged in the blob store is an error that names checkpoint and object: never skipped, never another's."""

from __future__ import annotations

import pytest
from agent_framework import WorkflowCheckpointException

from temporal_adapter import BlobCheckpointStorage, BlobStore
from temporal_adapter.store.names import manifest_prefix
from tests.conformance.samples import checkpoint, lineage_of, nothing


@pytest.mark.parametrize("damage", ["truncated", "emptied", "swapped", "not ours"])
async def test_a_damaged_checkpoint_is_an_error_that_names_it_and_never_another(blobs: BlobStore, damage: str) -> None:
    storage = BlobCheckpointStorage(blobs, workflow=nothing)
    for one in lineage_of(3):
        await storage.save(one)
    [name] = await blobs.list(manifest_prefix("default", "sample-1"))
    [other] = await blobs.list(manifest_prefix("default", "sample-2"))
    whole = await blobs.get(name)
    damaged = {"truncated": whole[:-20], "emptied": b"", "swapped": await blobs.get(other), "not ours": b"{}"}

    await blobs.put(name, damaged[damage])

    fresh = BlobCheckpointStorage(blobs, workflow=nothing)
    for reading in (fresh.list_checkpoints(workflow_name="sample"), fresh.load("sample-1")):
        with pytest.raises(WorkflowCheckpointException) as raised:
            await reading
        assert "Checkpoint sample-1 cannot be loaded" in str(raised.value)
        assert name in str(raised.value)
        assert blobs.url in str(raised.value)
    assert len(await fresh.list_checkpoint_ids(workflow_name="sample")) == 3
    assert (await fresh.load("sample-0")).state == {"number": 0}
    latest = await fresh.get_latest(workflow_name="sample")
    assert latest is not None
    assert latest.state == {"number": 2}
    assert await fresh.delete("sample-1")
    assert len(await fresh.list_checkpoints(workflow_name="sample")) == 2


async def test_a_missing_value_is_an_error_that_names_checkpoint_and_object(blobs: BlobStore) -> None:
    await BlobCheckpointStorage(blobs, workflow=nothing).save(checkpoint("one", state={"large": "x" * 50_000}))
    [value] = [name for name in await blobs.list("default") if "/values/" in name]
    await blobs.delete(value)

    with pytest.raises(WorkflowCheckpointException, match=f"Checkpoint one cannot be loaded: .*{value}"):
        await BlobCheckpointStorage(blobs, workflow=nothing).load("one")
