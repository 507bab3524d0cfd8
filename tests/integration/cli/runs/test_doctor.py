"""`temporal-adapter doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from tests.support.graphs import ask_once
from tests.support.running import pending, until

from .conftest import Desk, Serve

GRAPH = "tests.support.graphs:ask_once"


def by_subject(document: dict[str, Any]) -> dict[str, tuple[str, str, str | None]]:
    return {one["subject"]: (one["result"], one["detail"], one["fix"]) for one in document["checks"]}


async def test_all_is_well_where_a_worker_serves_a_known_workflow(
    desk: Desk, serve: Serve, client: Client, task_queue: str, tmp_path: Path
) -> None:
    words = ["--task-queue", task_queue, "--workflows", GRAPH, "--checkpoint-store", str(tmp_path)]
    async with serve(ask_once) as durable:
        await pending(await durable.start(1, id=task_queue))

        async def listed() -> dict[str, Any] | None:
            document = await desk.json("doctor", *words)
            return document if f"runs of {task_queue!r}" in by_subject(document) else None

        document = await until(listed)
        shown = await desk.type("doctor", *words)

    found = by_subject(document)
    assert document["ok"] is True
    assert found[f"graph {GRAPH!r}"][:2] == ("ok", "workflow 'ask-once', of 2 executors.")
    assert found["checkpoint store"][0] == "ok"
    assert found["server"][0] == "ok"
    assert found[f"namespace {client.namespace!r}"][0] == "ok"
    assert found[f"task queue {task_queue!r}"][0] == "ok"
    assert found[f"workflow 'ask-once' on {task_queue!r}"][:2] == ("ok", "the workers have it.")
    assert found[f"runs of {task_queue!r}"][1] == "open: 1; their requests that wait for a response: 1."
    assert (shown.code, shown.err) == (0, "")
    assert "ok       checkpoint store: " in shown.out
    assert await asyncio.to_thread(lambda: list(tmp_path.rglob("*probe*"))) == []


async def test_a_task_queue_without_workers_is_a_problem_with_its_fix(desk: Desk, task_queue: str) -> None:
    document = await desk.json("doctor", "--task-queue", task_queue, code=1)

    result, detail, fix = by_subject(document)[f"task queue {task_queue!r}"]
    assert document["ok"] is False
    assert (result, detail) == ("problem", "no worker serves it.")
    assert fix == f"Start a worker: python -m workers --task-queue {task_queue} --workflow package.module:factory"


async def test_a_workflow_that_the_workers_do_not_have_is_a_problem(
    desk: Desk, serve: Serve, client: Client, task_queue: str
) -> None:
    async with serve(ask_once):
        handle = await client.start_workflow("unheard-of", 1, id=task_queue, task_queue=task_queue)

        async def told() -> str | None:
            found = by_subject(await desk.json("doctor", "--task-queue", task_queue, code=1))
            return found.get(f"workflow 'unheard-of' on {task_queue!r}", (None, None, None))[1]

        async def failing() -> bool:
            return (await handle.describe()).raw_description.pending_workflow_task.attempt > 1

        await until(failing)
        detail = await until(told)
        await handle.terminate()

    reason = f"the workers of task queue {task_queue!r} have no workflow 'unheard-of' (they have 'ask-once')"
    assert detail == f"its run {task_queue!r} could not be asked: {reason}."


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tests.support.graphs:nothing", "has no 'nothing'"),
        ("tests.support.graphs", "not of the form package.module:factory"),
        ("tests.support.graphs:Order", "is a class"),
    ],
)
async def test_a_graph_that_cannot_be_built_is_a_problem(desk: Desk, name: str, told: str) -> None:
    document = await desk.json("doctor", "--workflows", name, "--task-queue", "none", code=1)

    result, detail, _ = by_subject(document)[f"graph {name!r}"]
    assert result == "problem"
    assert told in detail


async def test_a_server_that_does_not_answer_is_a_problem_and_the_rest_is_looked_at(desk: Desk, tmp_path: Path) -> None:
    nowhere = Desk({**desk.env, "TEMPORAL_ADDRESS": "127.0.0.1:1"})

    document = await nowhere.json("doctor", "--checkpoint-store", str(tmp_path), code=1)

    checks = [(one["subject"], one["result"]) for one in document["checks"]]
    assert checks == [("checkpoint store", "ok"), ("server", "problem")]
    assert "no Temporal server answers at 127.0.0.1:1" in document["checks"][1]["detail"]


async def test_a_store_that_is_not_there_is_a_problem_only_where_it_was_named(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nowhere = Desk({**desk.env, "TEMPORAL_ADDRESS": "127.0.0.1:1"})
    named = await nowhere.json("doctor", "--checkpoint-store", "elsewhere", code=1)
    default = await nowhere.json("doctor", code=1)

    assert by_subject(named)["checkpoint store"][0] == "problem"
    assert by_subject(default)["checkpoint store"][0] == "warning"
    assert await asyncio.to_thread(lambda: list(tmp_path.iterdir())) == []
