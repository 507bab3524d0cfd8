"""`temporal-adapter checkpoint migrate`: what it prints, writes and refuses, without a server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Shell

NEW = """
import shop
from temporal_adapter.migration import renamed, unchanged
from shop import *


def build_order() -> Workflow:
    lawyer = WorkflowBuilder(name="lawyers", start_executor=Lawyer(id="counsel")).build()
    intake, stock, manager, ship = Intake(id="reception"), Stock(), Manager(id="manager"), Ship(id="ship")
    legal = WorkflowExecutor(lawyer, id="legal", propagate_request=True)
    builder = WorkflowBuilder(name="order", start_executor=intake)
    builder = builder.add_fan_out_edges(intake, [stock, legal]).add_fan_in_edges([stock, legal], manager)
    return builder.add_edge(manager, ship).build()


def migrate(checkpoint, workflow):
    renamed(checkpoint, {"intake": "reception"})
    return renamed(checkpoint, {"lawyer": "counsel"}, within=["legal"])


def forgets_the_lawyer(checkpoint, workflow):
    return renamed(checkpoint, {"intake": "reception"})


def raises(checkpoint, workflow):
    raise LookupError("no such ledger")
"""

TO = ("--workflow", "new_shop:build_order")
BY = ("--function", "new_shop:migrate")


@pytest.fixture
def changed(shell: Shell, copied: Path) -> Shell:
    """A shell whose folder has the next release of the shop, and whose store may be changed."""
    (shell.folder / "new_shop.py").write_text(NEW)
    shell.env["TEMPORAL_ADAPTER_CHECKPOINT_STORE"] = str(copied)
    return shell


def test_it_prints_what_changed_the_new_checkpoint_and_what_goes_on_from_it(changed: Shell, copied: Path) -> None:
    head = changed.id_of("order-2", -1)

    ended = changed.run("checkpoint", "migrate", head, *TO, *BY)

    what, new, resume, fork = ended.out.splitlines()
    listed = changed.checkpoints("order-2")
    assert (ended.code, ended.err) == (0, "")
    assert what == (
        "What has changed: executors removed: 'intake'; executors added: 'reception'. In sub-workflow 'legal': "
        "executors removed: 'lawyer'; executors added: 'counsel'. Not compared: edges and executors' classes."
    )
    assert (listed[-1]["checkpoint_id"], listed[-1]["previous_checkpoint_id"]) == (new, head)
    where = f"--checkpoint-store {copied}"
    assert resume == (
        "The run goes on, once it is cancelled or terminated: "
        f"temporal-adapter checkpoint resume order-2 --checkpoint {new} {where}"
    )
    assert fork == f"Another run from it: temporal-adapter checkpoint fork {new} {where}"


def test_it_says_the_same_in_json(changed: Shell) -> None:
    head = changed.id_of("order-2", -1)

    told = changed.json("checkpoint", "migrate", head, *TO, *BY)

    shown = changed.json("checkpoint", "show", told["checkpoint_id"])
    assert told["migrated_from"] == head
    assert (told["workflow_name"], told["workflow_id"], told["dry_run"]) == ("order", "order-2", False)
    assert shown["metadata"]["migrated_from"] == {
        "checkpoint_id": head,
        "graph_signature": changed.json("checkpoint", "show", head)["graph_signature"],
        "to_graph_signature": told["graph_signature"],
        "function": "new_shop:migrate",
    }


def test_a_workflow_id_in_place_of_a_checkpoint_is_told_with_its_newest_checkpoint(changed: Shell) -> None:
    ended = changed.run("checkpoint", "migrate", "order-2", *TO, *BY, "--dry-run")

    assert (ended.code, ended.out) == (4, "")
    assert "'order-2' is a workflow id" in ended.err
    assert (
        f"its newest is {changed.id_of('order-2', -1)}. `temporal-adapter checkpoint list order-2` shows" in ended.err
    )


def test_a_dry_run_says_whether_it_fits_and_writes_nothing(changed: Shell) -> None:
    head, before = changed.id_of("order-2", -1), changed.checkpoints("order-2")

    fits = changed.run("checkpoint", "migrate", head, *TO, *BY, "--dry-run")
    told = changed.json("checkpoint", "migrate", head, *TO, *BY, "--dry-run")

    assert (fits.code, fits.out.splitlines()[-1]) == (0, f"{head} fits. Nothing was written.")
    assert (told["dry_run"], told["checkpoint_id"]) == (True, None)
    assert changed.checkpoints("order-2") == before


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            "forgets_the_lawyer",
            "what the migration made does not fit the graph: request ",
        ),
        ("raises", "the migration raised LookupError: no such ledger ("),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line_and_nothing_is_written(
    changed: Shell, function: str, told: str
) -> None:
    head, before = changed.id_of("order-2", -1), changed.checkpoints("order-2")

    ended = changed.run("checkpoint", "migrate", head, *TO, "--function", f"new_shop:{function}")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"Error: checkpoint '{head}' cannot be migrated: {told}")
    assert ended.err.count("\n") == 1
    assert changed.checkpoints("order-2") == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--workflow", "shop:build_order", *BY), "builds the graph that checkpoint "),
        (("--workflow", "shop:nothing", *BY), "--workflow: module 'shop' has no 'nothing'"),
        ((*TO, "--function", "new_shop:nothing"), "--function: module 'new_shop' has no 'nothing'"),
        ((*TO, "--function", "new_shop:shop"), "--function: 'new_shop:shop' is of type module, and no function."),
        ((*TO, *BY, "--type", "new_shop:shop"), "--type: 'new_shop:shop' is of type module, and no class."),
    ],
)
def test_a_wrong_option_is_named(changed: Shell, arguments: tuple[str, ...], told: str) -> None:
    ended = changed.run("checkpoint", "migrate", changed.id_of("order-2", -1), *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert ended.err.count("\n") == 1


def test_a_checkpoint_that_is_not_there_is_told(changed: Shell) -> None:
    assert changed.run("checkpoint", "migrate", "no-such", *TO, *BY).code == 4


def test_the_page_lists_the_keys_of_the_json(changed: Shell) -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    [row] = [line for line in page.splitlines() if line.startswith("| `migrate` | `checkpoint_store`")]

    told = changed.json("checkpoint", "migrate", changed.id_of("order-2", -1), *TO, *BY, "--dry-run")

    assert set(re.findall(r"`(\w+)`", row.split("|")[2])) == told.keys()
