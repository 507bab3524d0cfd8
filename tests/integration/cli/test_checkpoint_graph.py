"""`temporal-adapter checkpoint graph`: the lineage as a tree, also where other runs went on from it."""

from __future__ import annotations

from pathlib import Path

from temporal_adapter import BlobStore, wire
from temporal_adapter.store import RECORDED_RANK, CheckpointStore

from .conftest import Shell


def test_a_run_that_went_on_from_another_hangs_below_the_checkpoint_it_came_from(shell: Shell) -> None:
    ended = shell.run("checkpoint", "graph", "order-1")

    assert (ended.code, ended.err) == (0, "")
    title, *lines = ended.out.splitlines()
    assert title == "order-1 (order)"
    kinds = [line.partition("  ")[2].partition("  20")[0] for line in lines]
    assert kinds[:7] == ["entry", "superstep 1", "superstep 2", "superstep 3", "response", "superstep 4", "superstep 5"]
    assert lines[6].endswith("1 pending (manager)")
    assert lines[7].endswith("goes on as what-if (order)")
    assert [shell.id_of("what-if", place) in lines[8 + place] for place in range(3)] == [True] * 3
    assert shell.id_of("order-1", 7) in lines[11]
    assert [place for place, line in enumerate(lines) if line.endswith("head")] == [10, 13]


def test_a_run_that_came_from_another_shows_where(shell: Shell) -> None:
    of_the_branch = shell.run("checkpoint", "graph", "what-if")

    assert of_the_branch.out == shell.run("checkpoint", "graph", "order-1").out


def test_a_workflows_name_draws_all_its_runs(shell: Shell) -> None:
    ended = shell.run("checkpoint", "graph", "order")

    titles = [line for line in ended.out.splitlines() if not line.startswith(("├", "└", "│"))]
    assert titles == ["order-1 (order)", "order-2 (order)"]


def test_json_has_the_checkpoints_with_their_parents(shell: Shell) -> None:
    checkpoints = shell.json("checkpoint", "graph", "what-if")["checkpoints"]

    by_id = {one["checkpoint_id"]: one for one in checkpoints}
    first = by_id[shell.id_of("what-if", 0)]
    assert len(by_id) == 13
    assert first["previous_checkpoint_id"] == shell.id_of("order-1", 6)
    assert {one["workflow_id"] for one in checkpoints if one["head"]} == {"order-1", "what-if"}
    assert all(one["parent_in_store"] for one in checkpoints)


async def test_forks_of_one_run_and_long_lineages_and_lost_parents_are_drawn(shell: Shell, tmp_path: Path) -> None:
    # Given a lineage of 1,200 checkpoints whose parent is gone, with a branch in its middle and a fork at its end
    store = CheckpointStore(BlobStore(tmp_path / "store"), shell.env["TEMPORAL_NAMESPACE"])
    parents = {"c0000": "pruned", **{f"c{number:04}": f"c{number - 1:04}" for number in range(1, 1200)}}
    parents |= {"branch": "c0600", "edited": "c1199"}
    for number, (checkpoint_id, parent) in enumerate(parents.items()):
        await _commit(store, checkpoint_id, parent, number, kind="fork" if checkpoint_id == "edited" else "superstep")

    ended = shell.run("checkpoint", "graph", "long", "--checkpoint-store", str(tmp_path / "store"))

    lines = ended.out.splitlines()
    assert ended.code == 0
    assert lines[0] == "long (endless) after pruned, which is not in the store"
    assert lines[601].startswith("├── c0600  superstep 600")
    assert lines[602] == "│   └── branch long (endless)"
    assert lines[603].startswith("│       └── branch  superstep 1200")
    assert lines[-1].startswith("└── edited  fork")


async def _commit(store: CheckpointStore, checkpoint_id: str, parent: str, number: int, *, kind: str) -> None:
    header = wire.CheckpointHeader(
        checkpoint_id=checkpoint_id,
        previous_checkpoint_id=parent,
        iteration=number,
        timestamp=f"2026-01-01T00:00:00.{number:06}+00:00",
        kind=kind,  # type: ignore[arg-type]
    )
    record = wire.CheckpointRecord(header=header, snapshot=wire.Snapshot(changes=wire.Changes()))
    graph = wire.Graph(name="endless", signature="s", start_executor_id="a", executors=["a"], max_iterations=1)
    await store.commit(record, graph=graph, workflow_id="long", rank=RECORDED_RANK)


def test_an_unknown_workflow_is_not_found(shell: Shell) -> None:
    assert shell.run("checkpoint", "graph", "nobody").code == 4
