"""`temporal-adapter checkpoint graph`: the lineage as a tree, also where other runs went on from it."""

from __future__ import annotations

from pathlib import Path

from .conftest import Shell, commit


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
    parents = {"c0000": "pruned", **{f"c{number:04}": f"c{number - 1:04}" for number in range(1, 1200)}}
    parents |= {"branch": "c0600", "edited": "c1199"}
    for number, (checkpoint_id, parent) in enumerate(parents.items()):
        kind = "fork" if checkpoint_id == "edited" else "superstep"
        await commit(tmp_path, checkpoint_id, parent, workflow_id="long", number=number, kind=kind)

    ended = shell.run("checkpoint", "graph", "long", "--checkpoint-store", str(tmp_path), "--namespace", "default")

    lines = ended.out.splitlines()
    assert ended.code == 0
    assert lines[0] == "long (made) after pruned, which is not in the store"
    assert lines[601].startswith("├── c0600  superstep 600")
    assert lines[602] == "│   └── branch long (made)"
    assert lines[603].startswith("│       └── branch  superstep 1200")
    assert lines[-1].startswith("└── edited  fork")


def test_an_unknown_workflow_is_not_found(shell: Shell) -> None:
    assert shell.run("checkpoint", "graph", "nobody").code == 4


async def test_a_lineage_that_goes_round_in_a_circle_is_drawn_once(shell: Shell, tmp_path: Path) -> None:
    await commit(tmp_path, "first", "second", workflow_id="circle")
    await commit(tmp_path, "second", "first", workflow_id="circle")

    ended = shell.run("checkpoint", "graph", "circle", "--checkpoint-store", str(tmp_path), "--namespace", "default")

    assert ended.code == 0
    assert [ended.out.count(one) for one in ("── first ", "── second ")] == [1, 1]
