"""`temporal-adapter checkpoint list`: what the store has, found again by a person and by a program."""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.client import Client

from .conftest import Shell, Store, commit

KINDS = ["entry", *("superstep",) * 3, "response", "superstep", "superstep", "response", "superstep", "superstep"]


def test_it_lists_all_workflow_ids_youngest_first(shell: Shell) -> None:
    ended = shell.run("checkpoint", "list")

    assert (ended.code, ended.err) == (0, "")
    heading, *rows = [line.split() for line in ended.out.splitlines()]
    assert heading == ["WORKFLOW", "ID", "WORKFLOW", "CHECKPOINTS", "LATEST", "AT", "PENDING", "QUEUED"]
    assert [row[:3] for row in rows] == [
        ["what-if", "order", "3"],
        ["order-2", "order", "4"],
        ["order-1", "order", "10"],
    ]
    assert [row[-2] for row in rows] == ["0", "1", "0"]  # pending requests of the latest


def test_json_says_more_of_each_workflow_id(shell: Shell, store: Store, client: Client) -> None:
    listed = shell.json("checkpoint", "list")

    assert listed["checkpoint_store"] == str(store.folder)
    assert listed["namespace"] == client.namespace
    waiting = next(one for one in listed["workflows"] if one["workflow_id"] == "order-2")
    assert waiting["latest"]["pending_requests"] == [store.waiting_request]
    assert waiting["heads"] == [waiting["latest"]["checkpoint_id"]]


def test_it_lists_the_checkpoints_of_a_workflow_id_in_the_order_of_their_lineage(shell: Shell, store: Store) -> None:
    checkpoints = shell.checkpoints("order-1")

    assert [one["kind"] for one in checkpoints] == KINDS
    parents = [one["previous_checkpoint_id"] for one in checkpoints]
    assert parents == [None, *(one["checkpoint_id"] for one in checkpoints[:-1])]
    assert [one["head"] for one in checkpoints] == [False] * 9 + [True]
    assert checkpoints[3]["pending_requests"] == [store.legal_request]
    assert checkpoints[0]["in_flight"] == 1


def test_piped_output_has_whole_ids_and_no_colours_at_80_columns(shell: Shell) -> None:
    ended = shell.run("checkpoint", "list", "order-1", COLUMNS="80")

    _, *rows = ended.out.splitlines()
    assert [row.split()[0] for row in rows] == [one["checkpoint_id"] for one in shell.checkpoints("order-1")]
    assert "\x1b" not in ended.out
    assert rows[0].split()[1] == "entry"
    assert rows[-1].split()[-1] == "head"


def test_limit_keeps_the_youngest(shell: Shell) -> None:
    everything = shell.checkpoints("order-1")

    last = shell.json("checkpoint", "list", "order-1", "--limit", "2")["checkpoints"]
    youngest = shell.json("checkpoint", "list", "--limit", "1")["workflows"]

    assert last == everything[-2:]
    assert [one["workflow_id"] for one in youngest] == ["what-if"]


def test_it_can_be_narrowed_to_a_workflow_name(shell: Shell) -> None:
    of_order = shell.json("checkpoint", "list", "--workflow-name", "order")["workflows"]
    of_another = shell.json("checkpoint", "list", "--workflow-name", "another")["workflows"]

    assert {one["workflow_id"] for one in of_order} == {"order-1", "order-2", "what-if"}
    assert of_another == []


def test_a_damaged_checkpoint_is_told_and_the_others_are_listed(shell: Shell, copied: Path) -> None:
    # Given a checkpoint that was cut short on disk
    damaged = shell.id_of("order-1", 5)
    for path in (copied / shell.env["TEMPORAL_NAMESPACE"] / "checkpoints" / damaged).iterdir():
        path.write_bytes(path.read_bytes()[:-20])

    ended = shell.run("checkpoint", "list", "order-1", "--checkpoint-store", str(copied))

    assert ended.code == 1
    assert damaged in ended.err
    assert "damaged" in ended.err
    rows = ended.out.splitlines()[1:]
    assert len(rows) == 10
    assert rows[5].split()[-2:] == ["?", "?"]


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_an_unknown_workflow_id_is_not_found(shell: Shell, extra: list[str]) -> None:
    ended = shell.run("checkpoint", "list", "nobody", *extra)

    assert (ended.code, ended.out) == (4, "")
    assert ended.err.startswith("Error: there are no checkpoints of 'nobody' in ")
    assert len(ended.err.splitlines()) == 1


def test_another_namespace_has_none(shell: Shell) -> None:
    ended = shell.run("checkpoint", "list", "--namespace", "another")

    assert (ended.code, ended.out) == (0, "")
    assert "no checkpoints in" in ended.err
    assert "'another'" in ended.err


def test_the_namespace_is_that_of_the_profile(shell: Shell, tmp_path: Path) -> None:
    config = tmp_path / "temporal.toml"
    config.write_text('[profile.there]\naddress = "127.0.0.1:1"\nnamespace = "of-the-profile"\n')
    del shell.env["TEMPORAL_NAMESPACE"]
    shell.env["TEMPORAL_CONFIG_FILE"] = str(config)

    assert shell.json("checkpoint", "list", "--profile", "there")["namespace"] == "of-the-profile"


def test_at_a_terminal_each_id_is_in_one_line_to_be_copied(shell: Shell) -> None:
    lines = shell.at_terminal("checkpoint", "list", "order-1", width=80)

    ids = [one["checkpoint_id"] for one in shell.checkpoints("order-1")]
    assert [line.split()[0] for line in lines if line[:36] in ids] == ids
    assert all(len(line) <= 80 for line in lines)


def test_at_a_narrow_terminal_ids_go_over_several_lines_and_are_not_cut(shell: Shell) -> None:
    lines = shell.at_terminal("checkpoint", "list", "order-1", width=40)

    first_column = "".join(line.split()[0] for line in lines if not line.startswith(" "))
    assert first_column == "CHECKPOINT" + "".join(one["checkpoint_id"] for one in shell.checkpoints("order-1"))


async def test_odd_workflow_ids_are_shown_so_that_they_can_be_told_apart(shell: Shell, tmp_path: Path) -> None:
    # Given one of MAF's own storage, without a workflow id, one that steers terminals, and a lineage in a circle
    await commit(tmp_path, "plain", workflow_id="")
    await commit(tmp_path, "hostile", workflow_id="\x1b[2J\nid")
    await commit(tmp_path, "first", "second", workflow_id="circle")
    await commit(tmp_path, "second", "first", workflow_id="circle")
    there = ["--checkpoint-store", str(tmp_path), "--namespace", "default"]

    ended = shell.run("checkpoint", "list", *there)
    plain = shell.json("checkpoint", "list", "", *there)

    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert len(ended.out.splitlines()) == 4
    assert "\\x1b[2J\\nid" in ended.out
    assert [one["checkpoint_id"] for one in plain["checkpoints"]] == ["plain"]
