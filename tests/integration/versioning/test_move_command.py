"""`temporal-adapter move`: what it says of runs that do not move, and which runs it takes."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import get_args

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from temporalio.client import Client

from temporal_adapter import BlobStore
from temporal_adapter.client.moving import MoveOutcome
from tests.integration.cli.runs.conftest import Desk
from tests.support.deployments import build, build_of, temporal
from tests.support.graphs import ask_once
from tests.support.releases import books, edited, first
from tests.support.running import pending, serving, until

HELD: dict[str, asyncio.Event] = {}


class Work(Executor):
    """Works until it is let go."""

    @handler
    async def work(self, name: str, ctx: WorkflowContext[str]) -> None:
        await HELD[name].wait()
        await ctx.send_message(name)


class Report(Executor):
    """Yields what it is given."""

    @handler
    async def report(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.yield_output(text)


def working() -> Workflow:
    work, report = Work(id="work"), Report(id="report")
    return WorkflowBuilder(name="working", start_executor=work).add_edge(work, report).build()


async def test_what_takes_no_moving_is_told_and_left_alone(client: Client, task_queue: str, desk: Desk) -> None:
    store = BlobStore("memory://")
    plain, over = f"{task_queue}-plain", f"{task_queue}-over"
    async with serving(client, plain, ask_once, store=store) as asking:
        unversioned = await asking.start(1, id=f"{task_queue}-unversioned")
        await pending(unversioned)
    options = {"store": store, "default_versioning_behavior": "auto_upgrade"}
    async with build(client, over, "1", first, **options) as letter:
        going = await letter.start("dear Eve", id=f"{task_queue}-going")
        await pending(going)
        async with build(client, over, "2", edited, **options):
            pass
    async with build(client, task_queue, "1", first, store=store) as letter:
        closed, waiting, pinned = [await letter.start("dear Ada", id=f"{task_queue}-{number}") for number in range(3)]
        await pending(closed)
        await closed.handle.terminate()
        await pending(pinned)
        there = (await desk.json("move", waiting.id))["runs"][0]
        by_hand = ["--versioning-override-behavior", "pinned", "--versioning-override-build-id", "1"]
        of = ["--versioning-override-deployment-name", task_queue]
        await temporal(client, "workflow", "update-options", "--workflow-id", pinned.id, *by_hand, *of)
        ids = [unversioned.id, going.id, closed.id, pinned.id, f"{task_queue}-unknown"]
        told = (await desk.json("move", *ids, code=1))["runs"]
        unknown = await desk.type("move", ids[-1])
        await temporal(client, *_unversioned(task_queue))
        no_target = (await desk.json("move", waiting.id, code=1))["runs"][0]

    assert [one["outcome"] for one in told] == ["unversioned", "by_itself", "closed", "pinned_by_hand", "unknown"]
    assert (there["outcome"], no_target["outcome"]) == ("there", "no_target")
    assert "temporal workflow update-options --workflow-id" in told[3]["detail"]
    assert "temporal worker deployment set-current-version" in no_target["detail"]
    assert unknown.code == 4


def _unversioned(deployment: str) -> list[str]:
    """Make no build of a deployment current."""
    name = ["--deployment-name", deployment, "--unversioned", "--ignore-missing-task-queues", "--allow-no-pollers"]
    return ["worker", "deployment", "set-current-version", *name, "--yes"]


async def test_a_run_at_work_moves_at_its_next_checkpoint_whoever_waits_for_it(
    client: Client, task_queue: str, desk: Desk
) -> None:
    store, HELD[task_queue] = BlobStore("memory://"), asyncio.Event()
    async with build(client, task_queue, "1", working, store=store) as durable:
        run = await durable.start(task_queue)

        async def at_work() -> bool:
            return bool((await run.handle.describe()).raw_description.pending_activities)

        await until(at_work)
        async with build(client, task_queue, "2", working, store=store):
            [told] = (await desk.json("move", run.id, "--wait", "0.1", code=1))["runs"]
            HELD.pop(task_queue).set()

            assert (await run.result()).get_outputs() == [task_queue]
            assert await build_of(client, run.id) == "2"

    assert told["outcome"] == "asked"
    assert told["detail"] == "not at rest yet: it moves to build '2' at its next checkpoint"


async def test_a_run_whose_build_has_no_worker_moves_once_it_has_one(
    client: Client, task_queue: str, desk: Desk
) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", first, store=store) as letter:
        run = await letter.start("dear Ada")
        [asked] = await pending(run)
    async with build(client, task_queue, "2", edited, store=store):
        [told] = (await desk.json("move", run.id, code=1))["runs"]
        async with build(client, task_queue, "1", first, store=store, current=False):
            await until(lambda: _is_on(client, run.id, "2"))
        await run.respond(asked.request_id, True)
        assert (await run.result()).get_outputs() == ["dear Ada: True, by release 1 edited"]

    assert told["outcome"] == "unserved"
    assert f"--deployment-name {task_queue} --build-id 1" in told["detail"]


async def _is_on(client: Client, workflow_id: str, build_id: str) -> bool:
    return await build_of(client, workflow_id) == build_id


async def test_a_run_that_cannot_go_on_says_why(client: Client, task_queue: str, desk: Desk) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", lambda: books("1"), store=store):
        # Given a session that had no input yet, and so has nothing to carry over
        handle = await client.start_workflow(
            "books", args=[None, {"session": True}], id=task_queue, task_queue=task_queue
        )
        assert await build_of(client, task_queue) == "1"
        async with build(client, task_queue, "2", lambda: books("2"), store=store):
            [told] = (await desk.json("move", task_queue, code=1))["runs"]
            await handle.terminate()

    assert told["outcome"] == "refused"
    assert told["detail"].startswith("The run cannot go on as a new Temporal run")


async def test_a_query_takes_the_open_runs_of_a_build_and_no_more_than_its_limit(
    client: Client, task_queue: str, desk: Desk
) -> None:
    store = BlobStore("memory://")
    query = ["--query", f"TemporalWorkerDeploymentVersion = '{task_queue}:1' OR WorkflowId = 'no-such-run'"]
    async with build(client, task_queue, "1", first, store=store) as letter:
        runs = [await letter.start("dear Ada") for _ in range(2)]
        for run in runs:
            await pending(run)

        async def listed() -> bool:
            found = [one async for one in client.list_workflows(query[1])]
            return len(found) == len(runs)

        await until(listed)
        async with build(client, task_queue, "2", edited, store=store):
            some = await desk.type("move", *query, "--limit", "1")
            rest = await desk.type("move", *[run.id for run in runs])
            builds = {await build_of(client, run.id) for run in runs}
            for run in runs:
                await run.handle.terminate()

    assert (some.code, some.out.count("moved")) == (0, 1)
    assert some.err == "There are more than 1: run it again once these have moved, or with --limit.\n"
    assert (rest.out.count("moved"), rest.out.count("there")) == (1, 1)
    assert builds == {"2"}


async def test_runs_are_named_or_queried(desk: Desk) -> None:
    neither = await desk.type("move")
    both = await desk.type("move", "some-run", "--query", "WorkflowType = 'letter'")

    assert [one.code for one in (neither, both)] == [2, 2]
    assert "give the WORKFLOW_IDs of runs, or --query" in neither.err


async def test_docs_have_the_keys_of_the_json(desk: Desk) -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| `move` | `namespace`"))
    document = await desk.json("move", "no-such-run", code=4)

    assert document.keys() | document["runs"][0].keys() | set(get_args(MoveOutcome)) == set(
        re.findall(r"`(\w+)`", row.split("|")[2])
    )
