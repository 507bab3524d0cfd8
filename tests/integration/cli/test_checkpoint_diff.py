"""`temporal-adapter checkpoint diff`: what changed, by place; 0 when nothing did, 1 when something did."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from .conftest import Shell, Store


def changes(shell: Shell, before: int, after: int, *options: str) -> dict[str, dict[str, Any]]:
    """Return the changes between two checkpoints of `order-1`, by place and kind of change."""
    ids = shell.id_of("order-1", before), shell.id_of("order-1", after)
    document = shell.json("checkpoint", "diff", *ids, *options, code=1)
    assert document["same"] is False
    return {f"{one['place']} {one['change']}": one for one in document["changes"]}


def test_it_tells_what_changed_in_lines_that_a_person_reads(shell: Shell, store: Store) -> None:
    ended = shell.run("checkpoint", "diff", shell.id_of("order-1", 5), shell.id_of("order-1", 6))

    assert (ended.code, ended.err) == (1, "")
    before, after, *lines = ended.out.splitlines()
    assert before.startswith(f"--- {shell.id_of('order-1', 5)}  order-1  superstep 4")
    assert after.startswith(f"+++ {shell.id_of('order-1', 6)}  order-1  superstep 5")
    assert "state.total: 3 -> 4" in lines
    assert "iteration: 4 -> 5" in lines
    asked = 'asked by manager: {"text": "Ship it?"} (shop:Question), wants bool'
    assert f"pending_requests.{store.manager_request}: {asked}" in lines
    assert any(line.startswith('state.opinions: added ["reserved for Ada", ') for line in lines)


def test_a_checkpoint_does_not_differ_from_itself(shell: Shell) -> None:
    checkpoint_id = shell.id_of("order-1", 3)

    ended = shell.run("checkpoint", "diff", checkpoint_id, checkpoint_id)

    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "no difference"
    assert shell.json("checkpoint", "diff", checkpoint_id, checkpoint_id)["changes"] == []


def test_messages_come_and_go_whole(shell: Shell) -> None:
    found = changes(shell, 0, 1)

    assert found["messages[0] removed"]["before"]["source_id"] == "internal:intake"
    assert found["messages[0] added"]["after"]["source_id"] == "intake"
    assert found["messages[0] added"]["after"]["data"] == {"customer": "Ada", "amount": 3}


def test_a_message_moves_into_a_fan_in_buffer(shell: Shell) -> None:
    found = changes(shell, 2, 3)

    [buffered] = [one for one in found.values() if one["path"][0] == "fan_in_buffers"]
    assert (buffered["change"], buffered["after"]["data"]) == ("added", "reserved for Ada")
    assert "messages[0] removed" in found


def test_a_key_with_a_dot_in_it_is_told_from_a_path(shell: Shell) -> None:
    found = changes(shell, 0, 1)

    assert found['state["odd.key"] added']["path"] == ["state", "odd.key"]


def test_attributes_of_executors_show_one_by_one(shell: Shell) -> None:
    assert changes(shell, 1, 2)["executors.stock.attributes.reserved added"]["after"] == ["Ada"]


def test_a_sub_workflow_has_places_of_its_own(shell: Shell) -> None:
    found = changes(shell, 1, 2)

    assert found["sub_workflows.legal.state.asked added"]["after"] is True
    assert found["sub_workflows.legal.iteration changed"]["after"] == 1


def test_an_answered_request_shows_its_answer_however_far_the_checkpoints_are_apart(shell: Shell, store: Store) -> None:
    near = changes(shell, 6, 7)[f"pending_requests.{store.manager_request} answered"]
    far = changes(shell, 6, 9)[f"pending_requests.{store.manager_request} answered"]

    assert near["before"]["data"] == {"text": "Ship it?"}
    assert near["after"] is True
    assert far == near


def test_checkpoints_of_different_runs_show_what_a_different_answer_made(shell: Shell) -> None:
    ended, other = shell.id_of("order-1", 9), shell.id_of("what-if", 2)

    document = shell.json("checkpoint", "diff", ended, other, code=1)

    decisions = [one for one in document["changes"] if one["place"] == "state.decision"]
    assert [(one["before"], one["after"]) for one in decisions] == [(True, False)]


def test_a_value_missing_on_both_sides_is_no_difference_by_itself(shell: Shell, copied: Path) -> None:
    shutil.rmtree(copied / shell.env["TEMPORAL_NAMESPACE"] / "values")

    found = changes(shell, 6, 9, "--checkpoint-store", str(copied))

    assert "state.decision added" in found
    assert not any(place.startswith("state.opinions") for place in found)
