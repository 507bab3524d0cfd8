"""What MAF's `CheckpointStorage` promises, of every storage: MAF's memory, MAF's files, and the blob store's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import CheckpointStorage, WorkflowCheckpoint, WorkflowCheckpointException

from temporal_adapter.testing.comparing import first_difference
from tests.conformance.conftest import Subject
from tests.conformance.samples import STATE, checkpoint, lineage_of, nothing, sent
from tests.support.graphs import Order, Question

NAMES = ["sample", "Sample", "sample ", "sample/1", "../sample", "", "日本語", "%2F", "s" * 500]


def assert_equal(saved: Any, loaded: Any) -> None:
    difference = first_difference(saved, loaded, sides=("saved", "loaded"))
    assert difference is None, difference


# --- save, load -------------------------------------------------------------------------------------------------


async def test_save_returns_the_id_and_load_the_checkpoint(storage: CheckpointStorage) -> None:
    saved = checkpoint(
        "one",
        parent="zero",
        iteration_count=3,
        metadata={"why": "a test", "at": [1, 2]},
        state={"a": 1, "_executor_state": {"start": {"seen": [1]}, "end": {}}},
        messages={"start": [sent("start", 1), sent("start", None, "end")], "end": [sent("end", {"k": (1,)})]},
    )

    assert await storage.save(saved) == "one"
    assert_equal(saved, await storage.load("one"))


async def test_state_of_many_types_comes_back_from_another_storage_at_the_same_place(subject: Subject) -> None:
    saved = checkpoint("one", state=STATE)

    await subject.open(nothing).save(saved)

    assert_equal(saved, await subject.open(nothing).load("one"))


async def test_a_checkpoint_of_nothing_comes_back_as_nothing(storage: CheckpointStorage) -> None:
    saved = WorkflowCheckpoint(workflow_name="sample", graph_signature_hash="")

    await storage.save(saved)

    assert_equal(saved, await storage.load(saved.checkpoint_id))


async def test_messages_keep_their_order_and_types(storage: CheckpointStorage) -> None:
    messages = {
        "b": [sent("b", Order("o", {"z": 1, "a": 2})), sent("b", [Question(text="?")], "a")],
        "a": [sent("a", number) for number in range(20)],
    }

    await storage.save(checkpoint("one", messages=messages))

    loaded = (await storage.load("one")).messages
    assert_equal(messages, loaded)


async def test_what_is_loaded_is_a_copy(storage: CheckpointStorage) -> None:
    saved = checkpoint("one", state={"list": [1]})
    await storage.save(saved)

    saved.state["list"].append("after it was saved")
    first = await storage.load("one")
    first.state["list"].append("after it was loaded")

    assert (await storage.load("one")).state == {"list": [1]}
    [listed] = await storage.list_checkpoints(workflow_name="sample")
    assert listed.state == {"list": [1]}


async def test_an_id_that_was_never_saved_cannot_be_loaded(storage: CheckpointStorage) -> None:
    await storage.save(checkpoint("one"))

    for unknown in ("two", "on", "one.json", ""):
        with pytest.raises(WorkflowCheckpointException, match=f"No checkpoint found with ID {unknown}"):
            await storage.load(unknown)


async def test_saving_an_id_again_takes_the_place_of_the_first(storage: CheckpointStorage) -> None:
    await storage.save(checkpoint("one", state={"a": 1, "b": 1}))
    await storage.save(checkpoint("one", state={"a": 2}, at=5))

    assert (await storage.load("one")).state == {"a": 2}
    assert await storage.list_checkpoint_ids(workflow_name="sample") == ["one"]
    latest = await storage.get_latest(workflow_name="sample")
    assert latest is not None
    assert latest.state == {"a": 2}


async def test_saving_the_same_checkpoint_again_changes_nothing(storage: CheckpointStorage) -> None:
    saved = checkpoint("one", state=STATE)

    assert [await storage.save(saved), await storage.save(saved)] == ["one", "one"]
    assert_equal([saved], await storage.list_checkpoints(workflow_name="sample"))


async def test_checkpoints_that_are_saved_at_once_are_all_there(storage: CheckpointStorage) -> None:
    saved = lineage_of(40)

    await asyncio.gather(*map(storage.save, saved))

    assert set(await storage.list_checkpoint_ids(workflow_name="sample")) == {one.checkpoint_id for one in saved}
    assert_equal(saved, await asyncio.gather(*(storage.load(one.checkpoint_id) for one in saved)))


# --- list, latest -----------------------------------------------------------------------------------------------


async def test_a_workflow_without_checkpoints_lists_none(storage: CheckpointStorage) -> None:
    await storage.save(checkpoint("one"))

    assert await storage.list_checkpoints(workflow_name="another") == []
    assert await storage.list_checkpoint_ids(workflow_name="another") == []
    assert await storage.get_latest(workflow_name="another") is None


async def test_lists_hold_all_checkpoints_of_a_workflow(storage: CheckpointStorage) -> None:
    saved = lineage_of(5)
    for one in saved:
        await storage.save(one)

    listed = await storage.list_checkpoints(workflow_name="sample")

    assert_equal(saved, sorted(listed, key=lambda one: one.iteration_count))
    ids = await storage.list_checkpoint_ids(workflow_name="sample")
    assert sorted(ids) == [one.checkpoint_id for one in saved]


async def test_workflow_names_that_look_alike_are_apart(storage: CheckpointStorage) -> None:
    for number, name in enumerate(NAMES):
        await storage.save(checkpoint(f"id-{number}", name=name))

    for number, name in enumerate(NAMES):
        assert await storage.list_checkpoint_ids(workflow_name=name) == [f"id-{number}"]
        latest = await storage.get_latest(workflow_name=name)
        assert latest is not None
        assert latest.workflow_name == name


async def test_the_latest_is_the_last_of_a_lineage(storage: CheckpointStorage) -> None:
    saved = lineage_of(12)
    for one in reversed(saved):
        await storage.save(one)

    assert_equal(saved[-1], await storage.get_latest(workflow_name="sample"))


# --- delete -----------------------------------------------------------------------------------------------------


async def test_a_deleted_checkpoint_is_gone(storage: CheckpointStorage) -> None:
    for one in lineage_of(3):
        await storage.save(one)

    assert await storage.delete("sample-2")

    with pytest.raises(WorkflowCheckpointException, match="No checkpoint found with ID sample-2"):
        await storage.load("sample-2")
    assert sorted(await storage.list_checkpoint_ids(workflow_name="sample")) == ["sample-0", "sample-1"]
    assert len(await storage.list_checkpoints(workflow_name="sample")) == 2
    latest = await storage.get_latest(workflow_name="sample")
    assert latest is not None
    assert latest.checkpoint_id == "sample-1"


async def test_deleting_what_is_not_there_says_so(storage: CheckpointStorage) -> None:
    await storage.save(checkpoint("one"))

    assert await storage.delete("two") is False
    assert await storage.delete("one") is True
    assert await storage.delete("one") is False


async def test_a_deleted_id_can_be_saved_again(storage: CheckpointStorage) -> None:
    await storage.save(checkpoint("one", state={"a": 1}))
    await storage.delete("one")
    await storage.save(checkpoint("one", state={"a": 2}))

    assert (await storage.load("one")).state == {"a": 2}
    assert await storage.list_checkpoint_ids(workflow_name="sample") == ["one"]
