"""`temporal-adapter checkpoint prune`: shown first, done when that is said, and never at the cost of an open run."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from temporal_adapter.retention import STATES
from tests.support.running import until

from .conftest import Shell, Store


@pytest.fixture(autouse=True)
async def other_tests_runs_are_over(client: Client, store: Store) -> None:
    """An open run that other tests made of the store's checkpoints, by a fork, say, would keep them."""

    async def none_is_open() -> bool:
        others = [one.id async for one in client.list_workflows('ExecutionStatus="Running"') if one.id not in known]
        for id in others:
            with contextlib.suppress(RPCError):  # it is over since it was listed
                await client.get_workflow_handle(id).terminate("the test that made it is over")
        return not others

    known = store.lineages
    await until(none_is_open)


def test_what_would_go_is_shown_and_nothing_is_deleted(online: Shell, store: Store, copied: Path) -> None:
    before = sorted(copied.rglob("*"))

    ended = online.run("checkpoint", "prune", "--keep-last", "2")

    assert (ended.code, ended.err) == (0, "Nothing was deleted; --yes does it.\n")
    heading, *rows, total = ended.out.splitlines()
    assert heading.split("  ")[0] == "WORKFLOW ID"
    assert [row.split()[:5] for row in rows] == [
        ["order-1", "order", "completed", "8", "2"],
        ["order-2", "order", "open", "0", str(len(store.lineages["order-2"]))],
        ["what-if", "order", "in-process", "0", str(len(store.lineages["what-if"]))],
    ]
    assert "it is among the last 2 of its lineage" in rows[0]
    assert "it is among the last 10 of an open run" in rows[1]
    assert total.startswith("8 checkpoints, 0 values and parts of values, 8 entries: ")  # values are too young yet
    assert total.endswith(" bytes would be deleted")
    assert sorted(copied.rglob("*")) == before


def test_said_so_it_is_done_as_it_was_shown(online: Shell, store: Store) -> None:
    shown = online.json("checkpoint", "prune", "--older-than", "0s", "--keep-last", "2", "--state", "completed")
    done = online.json("checkpoint", "prune", "--older-than", "0s", "--keep-last", "2", "--state", "completed", "--yes")

    assert shown == {**done, "dry_run": True}
    [order_1, *others] = done["workflows"]
    assert order_1["deleted"] == store.lineages["order-1"][:-2]
    assert [one["deleted"] for one in others] == [[], []]
    assert done["deleted"]["checkpoints"]["objects"] == 8
    assert [one["checkpoint_id"] for one in online.checkpoints("order-1")] == store.lineages["order-1"][-2:]
    again = online.run("checkpoint", "prune", "--keep-last", "2", "--yes")
    assert again.out.splitlines()[-1] == "0 checkpoints, 0 values and parts of values, 0 entries: 0 bytes deleted"


@pytest.mark.parametrize("age", ["30d", "12h", "1d12h", "2w", "90m"])
def test_what_is_not_that_old_stays(online: Shell, age: str) -> None:
    report = online.json("checkpoint", "prune", "--older-than", age, "--workflow-name", "order")

    assert [one["deleted"] for one in report["workflows"]] == [[], [], []]
    assert {kept["reason"] for kept in report["workflows"][0]["kept"]} == {"it is too young"}


def test_a_damaged_checkpoint_is_told_and_left(online: Shell, store: Store, copied: Path) -> None:
    [manifest, *_] = [path for path in copied.rglob("*.json") if store.lineages["order-1"][3] in str(path)]
    manifest.write_bytes(manifest.read_bytes()[:-20])

    ended = online.run("checkpoint", "prune", "--keep-last", "0", "--yes")

    assert ended.code == 1
    assert ended.err.startswith("Warning: ")
    assert store.lineages["order-1"][3] in ended.err
    assert manifest.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give --older-than, --keep-last, or both"),
        (["--older-than", "a while"], "'a while' is no age"),
        (["--older-than", ""], "'' is no age"),
        (["--older-than", f"{10**12}w"], "is no age"),
        (["--keep-last", "1", "--state", "finished"], "there is no state 'finished'"),
    ],
)
def test_what_makes_no_sense_is_refused(online: Shell, arguments: list[str], told: str) -> None:
    ended = online.run("checkpoint", "prune", *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_server_that_does_not_answer_is_told(online: Shell) -> None:
    ended = online.run("checkpoint", "prune", "--keep-last", "1", "--yes", TEMPORAL_ADDRESS="127.0.0.1:1")

    assert (ended.code, ended.out) == (3, "")
    assert "127.0.0.1:1" in ended.err


def test_pages_name_what_there_is(online: Shell) -> None:
    docs = Path(__file__).parents[3] / "docs"
    cli, retention = (docs / "cli.md").read_text(), (docs / "retention.md").read_text()
    [row] = [line for line in cli.splitlines() if line.startswith("| `prune` | `checkpoint_store`")]
    report = online.json("checkpoint", "prune", "--keep-last", "1")

    keys = {*report, *report["workflows"][0], *report["workflows"][0]["kept"][0], *report["deleted"], "objects"}
    assert set(re.findall(r"`(\w+)`", row)) == keys | {"prune"}
    assert all(f"`{state}`" in retention for state in STATES)
    options = re.findall(r"^  (?:-y, )?(--[a-z-]+)", online.run("checkpoint", "prune", "--help").out, re.MULTILINE)
    assert all(f"`{option}" in retention + cli for option in options)
