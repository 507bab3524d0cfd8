"""`temporal-adapter checkpoint show`: everything readable, without the code of the workflow."""

from __future__ import annotations

import shutil
from pathlib import Path

from .conftest import SENTENCES, Shell, Store


def test_it_shows_where_a_checkpoint_belongs_and_what_is_in_it(shell: Shell, store: Store) -> None:
    checkpoint_id = shell.id_of("order-1", 2)

    ended = shell.run("checkpoint", "show", checkpoint_id)

    assert (ended.code, ended.err) == (0, "")
    for line in [
        f"checkpoint {checkpoint_id}",
        "workflow_id: order-1",
        "kind: superstep",
        f"previous_checkpoint_id: {shell.id_of('order-1', 1)}",
        'stock: "reserved for Ada" (str)',
        "total: 3",
        'reserved: ["Ada"]',
        store.legal_request,
        "executor: legal",
        'asks: {"text": "May Ada buy?"} (shop:Question)',
        "wants: str",
        "legal: lawyers, iteration 1",
        "asked: true",
    ]:
        assert any(shown.endswith(line) for shown in ended.out.splitlines()), line


def test_json_has_it_all(shell: Shell, store: Store) -> None:
    entry = shell.json("checkpoint", "show", shell.id_of("order-1", 0))
    waiting = shell.json("checkpoint", "show", shell.id_of("order-1", 3))

    assert entry["messages"] == [
        {
            "source_id": "internal:intake",
            "target_id": "intake",
            "type": "standard",
            "request_id": None,
            "data_type": "shop:Order",
            "data": {"customer": "Ada", "amount": 3},
        }
    ]
    [[buffered]] = waiting["fan_in_buffers"].values()
    assert (buffered["source_id"], buffered["data"]) == ("stock", "reserved for Ada")
    assert waiting["executors"]["stock"]["attributes"] == {"reserved": ["Ada"]}
    assert waiting["pending_requests"] == {
        store.legal_request: {
            "executor_id": "legal",
            "request_type": "shop:Question",
            "response_type": "str",
            "data": {"text": "May Ada buy?"},
        }
    }
    assert waiting["sub_workflows"]["legal"]["state"]["asked"] is True
    assert waiting["missing"] == []


def test_the_modules_of_the_workflow_are_not_needed(shell: Shell) -> None:
    shutil.rmtree(shell.folder)
    shell.folder.mkdir()

    assert shell.json("checkpoint", "show", shell.id_of("order-1", 0))["messages"][0]["data_type"] == "shop:Order"


def test_a_response_in_flight_shows_the_request_it_answers(shell: Shell, store: Store) -> None:
    ended = shell.run("checkpoint", "show", shell.id_of("order-1", 7))

    assert f"response to {store.manager_request} for manager: true (bool)" in ended.out


def test_a_long_value_is_cut_with_a_note_unless_full(shell: Shell) -> None:
    checkpoint_id = shell.id_of("order-1", 4)

    cut = shell.run("checkpoint", "show", checkpoint_id)
    full = shell.run("checkpoint", "show", checkpoint_id, "--full")

    assert f"... ({len(SENTENCES) + 2:,} characters in all; --full shows them)" in cut.out
    assert SENTENCES not in cut.out
    assert SENTENCES in full.out


def test_a_value_missing_in_the_store_is_named_and_the_rest_shows(shell: Shell, copied: Path) -> None:
    # Given a store that lost its values
    shutil.rmtree(copied / shell.env["TEMPORAL_NAMESPACE"] / "values")
    checkpoint_id, elsewhere = shell.id_of("order-1", 6), ["--checkpoint-store", str(copied)]

    ended = shell.run("checkpoint", "show", checkpoint_id, *elsewhere)
    document = shell.json("checkpoint", "show", checkpoint_id, *elsewhere, code=1)

    assert ended.code == 1
    [missing] = document["missing"]
    assert missing["place"] == "state.opinions"
    assert document["state"]["opinions"]["$"] == "missing"
    assert document["state"]["opinions"]["object"] == missing["object"]
    assert f"opinions: missing in the store: object {missing['object']}" in ended.out
    assert "total: 4" in ended.out
    assert ended.err.startswith("Warning: state.opinions is missing: ")


def test_an_unknown_checkpoint_is_not_found(shell: Shell) -> None:
    ended = shell.run("checkpoint", "show", "../../etc/passwd")

    assert (ended.code, ended.out) == (4, "")
    assert ended.err.startswith("Error: there is no checkpoint '../../etc/passwd' in ")
