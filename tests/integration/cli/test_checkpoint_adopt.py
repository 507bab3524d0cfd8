"""`temporal-adapter checkpoint adopt`: the open runs of a store, on a server that does not know them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from workers.dev_server import dev_server

from .conftest import QUEUE, Shell, Store


@pytest.fixture
async def empty(client: Client, online: Shell) -> AsyncIterator[Client]:
    """A client of an empty server, which the shell reaches instead."""
    async with dev_server(arguments=["--namespace", client.namespace]) as server:
        online.env["TEMPORAL_ADDRESS"] = server.address
        yield await Client.connect(server.address, namespace=client.namespace)


async def is_known(client: Client, id: str) -> bool:
    try:
        await client.get_workflow_handle(id).describe()
    except RPCError:
        return False
    return True


async def test_open_runs_are_started_again_once_that_is_said(online: Shell, store: Store, empty: Client) -> None:
    unsaid = online.run("checkpoint", "adopt")
    nothing_yet = await is_known(empty, "order-2")
    document = online.json("checkpoint", "adopt", "--yes")
    again = online.run("checkpoint", "adopt", "--dry-run", "--workflow-name", "order")

    assert (unsaid.code, unsaid.out, nothing_yet) == (2, "", False)
    assert "--dry-run" in unsaid.err
    adopted = {one["workflow_id"]: one for one in document["workflows"]}
    states = {workflow_id: one["state"] for workflow_id, one in adopted.items()}
    assert states == {"order-1": "completed", "order-2": "adopted", "what-if": "not adoptable"}
    assert adopted["order-2"]["checkpoint_id"] == store.lineages["order-2"][-1]
    described = await empty.get_workflow_handle("order-2").describe()
    assert (described.status, described.run_id) == (WorkflowExecutionStatus.RUNNING, adopted["order-2"]["run_id"])
    assert described.task_queue == QUEUE
    assert again.code == 0
    heading, *rows = again.out.splitlines()
    assert heading.split() == ["WORKFLOW", "ID", "WORKFLOW", "STATE", "CHECKPOINT", "WHY"]
    assert "open already" in next(row for row in rows if row.startswith("order-2 "))


async def test_at_a_terminal_the_person_is_shown_what_would_be_and_asked(online: Shell, empty: Client) -> None:
    declined = online.at_terminal("checkpoint", "adopt", width=200, typed="\n")
    unstarted = await is_known(empty, "order-2")
    agreed = online.at_terminal("checkpoint", "adopt", "--task-queue", "elsewhere", width=200, typed="y\n")

    assert "would adopt" in next(line for line in declined if line.startswith("order-2"))
    assert any(line.startswith("Start 1 on 127.0.0.1:") for line in declined)
    assert "Nothing was started." in declined[-1]
    assert not unstarted
    assert " adopted " in [line for line in agreed if line.startswith("order-2")][-1]
    assert (await empty.get_workflow_handle("order-2").describe()).task_queue == "elsewhere"


def test_a_store_without_runs_is_told(online: Shell, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()

    bare = online.run("checkpoint", "adopt", "--yes", "--checkpoint-store", str(tmp_path / "bare"))

    assert (bare.code, bare.out) == (0, "")
    assert bare.err.startswith("There are no runs in ")
