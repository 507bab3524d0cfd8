"""What only a newer release reads is refused by the words of who must be upgraded, and is never taken for damage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.activity_errors import will_pass
from temporal_adapter.store import (
    RECORDED_RANK,
    BlobStore,
    CheckpointStore,
    CorruptObject,
    StoreError,
    ValueStore,
    unstowed,
)
from temporal_adapter.wire import schema
from temporal_adapter.wire.names import NEWER_SCHEMA

GRAPH = wire.Graph(
    name="flow",
    signature="s",
    start_executor_id="a",
    executors=[f"a{number}" for number in range(3000)],
    max_iterations=1,
)
HEADER = wire.CheckpointHeader(checkpoint_id="c", iteration=1, timestamp="2026-01-01T00:00:00+00:00", kind="superstep")
RUN = wire.RunEntry(workflow_name="flow", workflow_id="w", run_id="r", task_queue="q", at=HEADER.timestamp)
SMALL = {"key": wire.Value(inline=1, size=1)}
LARGE = {f"key-{number}": wire.Value(inline="x" * 500, size=502) for number in range(3000)}  # in pages

Read = Callable[[CheckpointStore, ValueStore], Awaitable[Any]]


@contextmanager
def newer_release() -> Iterator[None]:
    """Write as a release would that has a newer schema."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "SCHEMA_VERSION", wire.SCHEMA_VERSION + 1)
        yield


async def written(state: dict[str, wire.Value]) -> tuple[CheckpointStore, ValueStore]:
    blobs = BlobStore("memory://")
    checkpoints, values = (kind(blobs, "default", cache_bytes=0) for kind in (CheckpointStore, ValueStore))
    with newer_release():
        record = wire.CheckpointRecord(header=HEADER, snapshot=wire.Snapshot(changes=wire.Changes(state={**state})))
        await checkpoints.commit(record, graph=GRAPH, workflow_id="w", rank=RECORDED_RANK, run_id="r")
        await checkpoints.put_run(RUN)
    return checkpoints, values


async def of_a_sub_workflow(checkpoints: CheckpointStore, values: ValueStore) -> Any:
    with newer_release():
        entries = wire.dump(wire.SnapshotEntries(state=SMALL))
    ref = await values.put(entries)
    stowed = wire.Changes(stowed=wire.Value(ref=ref, size=9))
    return await unstowed(wire.Changes(children={"review": stowed}), values.resolve)


async def in_chunks(checkpoints: CheckpointStore, values: ValueStore) -> Any:
    with newer_release():
        ref = await values.put("x" * 200_000)
    return await values.get(ref)


READS: dict[str, tuple[dict[str, wire.Value], Read]] = {
    "checkpoint": (SMALL, lambda checkpoints, values: checkpoints.load_by_id("c")),
    "checkpoint in pages": (LARGE, lambda checkpoints, values: checkpoints.load_by_id("c")),
    "index": (SMALL, lambda checkpoints, values: checkpoints.headers("flow", "w")),
    "run": (SMALL, lambda checkpoints, values: checkpoints.runs("flow", "w")),
    "stowed sub-workflow": (SMALL, of_a_sub_workflow),
    "value in chunks": (SMALL, in_chunks),
}


@pytest.mark.parametrize("what", READS)
async def test_what_a_newer_release_has_stored_names_who_reads_it(what: str) -> None:
    state, read = READS[what]
    stores = await written(state)

    with pytest.raises((StoreError, wire.NewerSchema)) as refused:
        await read(*stores)

    assert not isinstance(refused.value, CorruptObject)
    newer = f"was written by a newer release of agent-framework-temporal (schema version {wire.SCHEMA_VERSION + 1})."
    this = f"This is release {wire.release()}, which reads schema versions up to {wire.SCHEMA_VERSION}."
    assert f"{newer} {this} Upgrade this process to the release that wrote it, or a newer one." in str(refused.value)


@pytest.mark.parametrize("shape", ["PageList", "GraphOutline"])
async def test_parts_of_a_checkpoint_that_only_a_newer_release_reads_are_not_damaged_either(shape: str) -> None:
    # Given a checkpoint of this release, with parts that a newer one has written
    with pytest.MonkeyPatch.context() as patch:
        dump = wire.dump

        def newer(part: Any) -> dict[str, Any]:
            return {**dump(part), "v": wire.SCHEMA_VERSION + 1} if type(part).__name__ == shape else dump(part)

        patch.setattr(wire, "dump", newer)
        checkpoints = CheckpointStore(BlobStore("memory://"), "default", cache_bytes=0)
        record = wire.CheckpointRecord(header=HEADER, snapshot=wire.Snapshot(changes=wire.Changes(state={**LARGE})))
        await checkpoints.commit(record, graph=GRAPH, workflow_id="w", rank=RECORDED_RANK)

    with pytest.raises(StoreError, match=f"{shape} was written by a newer release") as refused:
        await checkpoints.load_by_id("c")
    assert not isinstance(refused.value, CorruptObject)


@pytest.mark.parametrize("read", [wire.parse_options, wire.parse_session_input, wire.parse_responses])
def test_what_callers_send_is_refused_likewise(read: Callable[[Any], Any]) -> None:
    with pytest.raises(wire.WireError, match="was written by a newer release of agent-framework-temporal"):
        read({"v": wire.SCHEMA_VERSION + 1, "request_id": "r", "response": 1})


def test_options_of_a_newer_release_are_told_from_wrong_ones() -> None:
    with pytest.raises(wire.NewerSchema):
        wire.parse_options({"v": wire.SCHEMA_VERSION + 1})
    with pytest.raises(wire.WireError) as wrong:
        wire.parse_options({"session": "yes"})
    assert not isinstance(wrong.value, wire.NewerSchema)


def test_an_activity_that_only_a_newer_worker_can_do_is_waited_for() -> None:
    assert will_pass(ApplicationError("newer", type=NEWER_SCHEMA))
