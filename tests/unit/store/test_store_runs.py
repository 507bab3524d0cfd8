from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from temporal_adapter import wire
from temporal_adapter.store import RECORDED_RANK, BlobStore, CheckpointStore, CorruptObject

if TYPE_CHECKING:
    from tests.unit.store.conftest import MakeRecord

LONG = "x" * 1_000


def entry(run_id: str, at: str, workflow_id: str = "w", workflow_name: str = "expense") -> wire.RunEntry:
    return wire.RunEntry(
        workflow_name=workflow_name, workflow_id=workflow_id, run_id=run_id, task_queue="reviews", at=at
    )


async def test_runs_are_read_oldest_first_by_workflow_and_workflow_id(checkpoints: CheckpointStore) -> None:
    entries = [
        entry("z", "2026-01"),
        entry("y", "2026-02"),
        entry("x", "2026-03", LONG),
        entry("w", "2026-04", "w", "../"),
    ]
    for one in reversed(entries):
        await checkpoints.put_run(one)
    assert await checkpoints.runs() == entries
    assert await checkpoints.runs("expense") == entries[:3]
    assert await checkpoints.runs("expense", "w") == entries[:2]
    assert await checkpoints.runs("../") == entries[3:]
    assert await checkpoints.runs(workflow_id="w") == [entries[0], entries[1], entries[3]]
    assert await checkpoints.runs("expense", "nobody") == []


async def test_a_run_is_written_again_when_it_ends(checkpoints: CheckpointStore) -> None:
    await checkpoints.put_run(entry("r", "2026"))
    ended = wire.replace(entry("r", "2026"), ended=wire.Ended(state="failed", checkpoint_id="c", at="2027"))
    await checkpoints.put_run(ended)
    assert await checkpoints.runs("expense", "w") == [ended]


@pytest.mark.parametrize("other", [entry("other", "2026"), entry("r", "2026", "w2"), entry("r", "2026", "w", "e2")])
async def test_the_entry_of_another_run_is_never_taken_for_it(
    blobs: BlobStore, checkpoints: CheckpointStore, other: wire.RunEntry
) -> None:
    await checkpoints.put_run(entry("r", "2026"))
    await checkpoints.put_run(other)
    names = await blobs.list("default/runs")
    (swapped,) = [name for name in names if name != "default/runs/expense/w/r"]
    await blobs.put("default/runs/expense/w/r", await blobs.get(swapped))
    with pytest.raises(CorruptObject, match="default/runs/expense/w/r"):
        await checkpoints.runs("expense", "w")


async def test_workflows_and_workflow_ids_with_checkpoints_are_told(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    pairs = [("expense", "../w"), ("expense", ""), ("expense", "w"), ("other", LONG), ("ünï", "\ud800")]
    for number, (workflow_name, workflow_id) in enumerate(pairs):
        for checkpoint_id in (f"{number}", f"{number}-next"):
            await checkpoints.commit(
                make_record(checkpoint_id),
                graph=wire.replace(graph, name=workflow_name),
                workflow_id=workflow_id,
                rank=RECORDED_RANK,
            )
    assert await checkpoints.workflows() == sorted(pairs)


async def test_headers_come_in_lineage_order_without_discarded_checkpoints(
    checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    for checkpoint_id, parent in [("a", "b"), ("b", "c"), ("c", None), ("0", "c")]:
        await checkpoints.commit(
            make_record(checkpoint_id, parent=parent), graph=graph, workflow_id=f"w-{checkpoint_id}", rank=RECORDED_RANK
        )
    await checkpoints.discard("0")
    found = await checkpoints.headers("expense")
    assert [one.header.checkpoint_id for one in found] == ["c", "b", "a"]
    assert [one.workflow_id for one in found] == ["w-c", "w-b", "w-a"]
    assert [one.header.checkpoint_id for one in await checkpoints.headers("expense", "w-b")] == ["b"]


async def test_an_index_entry_of_another_checkpoint_is_damage(
    blobs: BlobStore, checkpoints: CheckpointStore, graph: wire.Graph, make_record: MakeRecord
) -> None:
    for checkpoint_id in "ab":
        await checkpoints.commit(make_record(checkpoint_id), graph=graph, workflow_id="w", rank=RECORDED_RANK)
    await blobs.put("default/workflows/expense/w/a", await blobs.get("default/workflows/expense/w/b"))
    for reading in (checkpoints.list_ids("expense"), checkpoints.headers("expense"), checkpoints.list("expense", "w")):
        with pytest.raises(CorruptObject, match=r"default/workflows/expense/w/a.*entry of checkpoint 'b'"):
            await reading
