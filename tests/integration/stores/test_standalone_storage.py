"""`BlobCheckpointStorage` without Temporal: on a laptop, with MAF's own runner, over several runs and processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowCheckpointException,
    register_checkpoint_type,
)
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from temporal_adapter import BlobCheckpointStorage, BlobStore
from temporal_adapter.store import CheckpointStore
from tests.conformance.samples import Invoice, checkpoint, lineage_of, nothing, sent
from tests.support.graphs import Ask, Order, Report, ask_once, chain
from tests.support.stores import Place

# --- runs -------------------------------------------------------------------------------------------------------


async def test_the_function_that_builds_a_workflow_may_give_it_the_storage(blobs: BlobStore) -> None:
    def build() -> Workflow:
        ask, last = Ask(id="ask"), Report("last")
        builder = WorkflowBuilder(name="asking", start_executor=ask, checkpoint_storage=storage)
        return builder.add_edge(ask, last).build()

    storage = BlobCheckpointStorage(blobs, workflow=build)
    paused = await build().run(1)
    latest = await storage.get_latest(workflow_name="asking")
    assert latest is not None

    [request] = paused.get_request_info_events()
    resumed = await build().run(checkpoint_id=latest.checkpoint_id, responses={request.request_id: True})

    assert resumed.get_outputs() == [("last", "ask: 1? True")]


async def test_a_paused_run_goes_on_in_another_process(place: Place) -> None:
    paused = await ask_once().run(1, checkpoint_storage=BlobCheckpointStorage(place.open(), workflow=ask_once))
    [request] = paused.get_request_info_events()

    storage = BlobCheckpointStorage(place.open(), workflow=ask_once())
    latest = await storage.get_latest(workflow_name="ask-once")
    assert latest is not None
    assert list(latest.pending_request_info_events) == [request.request_id]
    resumed = await ask_once().run(
        checkpoint_id=latest.checkpoint_id, responses={request.request_id: False}, checkpoint_storage=storage
    )

    assert resumed.get_outputs() == [("last", "ask: 1? False")]


async def test_runs_leave_their_lineage_for_a_run_on_temporal_to_start_from(blobs: BlobStore) -> None:
    storage = BlobCheckpointStorage(blobs, workflow=ask_once)
    for message in (1, 2):
        workflow = ask_once()
        paused = await workflow.run(message, checkpoint_storage=storage)
        [request] = paused.get_request_info_events()
        await workflow.run(responses={request.request_id: True}, checkpoint_storage=storage)

    entries = await CheckpointStore(blobs, "default").headers("ask-once")

    kinds = [entry.header.kind for entry in entries]
    assert kinds == ["entry", "superstep", "response", "superstep", "superstep"] * 2
    for run in (entries[:5], entries[5:]):
        parents = [None, *(entry.header.checkpoint_id for entry in run)]
        assert [entry.header.previous_checkpoint_id for entry in run] == parents[:-1]
    assert {(entry.workflow_name, entry.workflow_id) for entry in entries} == {("ask-once", "")}


async def test_checkpoints_of_a_workflow_id_are_apart(blobs: BlobStore) -> None:
    for workflow_id, message in (("one", 1), ("two", 2)):
        storage = BlobCheckpointStorage(blobs, workflow=chain, workflow_id=workflow_id)
        await chain().run(message, checkpoint_storage=storage)

    ids = [
        await BlobCheckpointStorage(blobs, workflow=chain, workflow_id=workflow_id).list_checkpoint_ids(
            workflow_name="chain"
        )
        for workflow_id in ("one", "two", None)
    ]
    assert [len(one) for one in ids] == [4, 4, 8]
    assert sorted(ids[0] + ids[1]) == sorted(ids[2])


# --- what may be stored -----------------------------------------------------------------------------------------


@dataclass
class Registered:
    """A class that is registered, as for MAF's files."""

    x: int


register_checkpoint_type(Registered)


@pytest.mark.parametrize(
    "value",
    [1, "text", (1, {2}), {"a": None}, Message("user", ["hi"]), Registered(1), ValueError("odd")],
    ids=lambda value: type(value).__name__,
)
async def test_without_a_workflow_it_keeps_what_mafs_files_keep(value: Any) -> None:
    storage = BlobCheckpointStorage(BlobStore("memory://"))
    await storage.save(checkpoint("one", state={"value": value}))

    loaded = (await storage.load("one")).state["value"]
    assert type(loaded) is type(value)
    assert repr(loaded) == repr(value) or loaded.to_dict() == value.to_dict()


async def test_without_a_workflow_other_classes_are_refused_with_what_can_be_done() -> None:
    storage = BlobCheckpointStorage(BlobStore("memory://"))

    with pytest.raises(WorkflowCheckpointException) as raised:
        await storage.save(checkpoint("one", messages={"a": [sent("a", Order("o", {}))]}))

    message = str(raised.value)
    assert "Checkpoint one cannot be saved: message from 'a'" in message
    assert "tests.support.graphs:Order" in message
    assert "agent_framework.register_checkpoint_type" in message
    assert "workflow=" in message


async def test_classes_can_be_given_by_themselves() -> None:
    blobs, message = BlobStore("memory://"), Order("o", {"a": 1})
    await BlobCheckpointStorage(blobs, types=[Order]).save(checkpoint("one", messages={"a": [sent("a", message)]}))

    assert (await BlobCheckpointStorage(blobs, types=[Order]).load("one")).messages["a"][0].data == message
    with pytest.raises(WorkflowCheckpointException, match=r"Checkpoint one cannot be loaded: .*Order.*workflow="):
        await BlobCheckpointStorage(blobs).load("one")


# --- what it leaves alone ---------------------------------------------------------------------------------------


async def test_a_checkpoint_of_a_run_on_temporal_is_not_replaced(blobs: BlobStore) -> None:
    theirs = BlobCheckpointStorage(blobs, workflow=nothing, workflow_id="expense-1")
    await theirs.save(checkpoint("one", state={"a": 1}))

    with pytest.raises(WorkflowCheckpointException, match=r"Checkpoint one cannot be saved: .*'one'"):
        await BlobCheckpointStorage(blobs, workflow=nothing).save(checkpoint("one", state={"a": 2}))

    assert (await theirs.load("one")).state == {"a": 1}


async def test_a_read_only_storage_keeps_to_itself_what_it_is_given(blobs: BlobStore) -> None:
    for one in lineage_of(2):
        await BlobCheckpointStorage(blobs, workflow=nothing).save(one)
    before = await blobs.list("")
    storage = BlobCheckpointStorage(blobs, workflow=nothing, read_only=True)

    await storage.save(checkpoint("mine", parent="sample-1"))

    assert (await storage.load("mine")).previous_checkpoint_id == "sample-1"
    assert await storage.list_checkpoint_ids(workflow_name="sample") == ["sample-0", "sample-1", "mine"]
    assert [one.checkpoint_id for one in await storage.list_checkpoints(workflow_name="sample")][2:] == ["mine"]
    latest = await storage.get_latest(workflow_name="sample")
    assert latest is not None
    assert latest.checkpoint_id == "mine"
    with pytest.raises(WorkflowCheckpointException, match="read-only"):
        await storage.delete("sample-0")
    assert await blobs.list("") == before


# --- encryption -------------------------------------------------------------------------------------------------


class Rot(PayloadCodec):
    """Stands for an encrypting codec: no byte stays what it was."""

    async def encode(self, payloads: Any) -> list[Payload]:
        return [
            Payload(
                metadata={"encoding": b"binary/rot"},
                data=bytes((byte + 101) % 256 for byte in payload.SerializeToString()),
            )
            for payload in payloads
        ]

    async def decode(self, payloads: Any) -> list[Payload]:
        return [Payload.FromString(bytes((byte - 101) % 256 for byte in payload.data)) for payload in payloads]


async def test_with_a_payload_codec_nothing_is_on_disk_in_plain(tmp_path: Path) -> None:
    path = tmp_path / "store"
    storage = BlobCheckpointStorage(path, workflow=nothing, types=[Invoice], payload_codec=Rot())
    secret = "very secret text"
    saved = checkpoint("one", state={"small": secret, "large": secret * 10_000}, messages={"a": [sent("a", secret)]})

    await storage.save(saved)

    stored = [file.read_bytes() for file in path.rglob("*") if file.is_file()]
    assert len(stored) >= 3
    assert not [data for data in stored if b"secret" in data or b"signature" in data]
    reopened = BlobCheckpointStorage(path, workflow=nothing, payload_codec=Rot())
    assert (await reopened.load("one")).state == saved.state
    with pytest.raises(WorkflowCheckpointException, match="codec"):
        await BlobCheckpointStorage(path, workflow=nothing).load("one")
