"""`temporal-adapter checkpoint fork`: a run from a checkpoint, but otherwise; and how forks and replays are drawn."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import ModuleType

import pytest
from agent_framework import WorkflowBuilder, WorkflowContext, executor
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableWorkflow
from temporal_adapter.cli.checkpoints.given import given_responses, given_state
from temporal_adapter.cli.running import CliError, ExitCode
from tests.support.running import serving

from .conftest import QUEUE, Shell, Store

PAUSE = 6  # of `order-1`, before its last answer


async def test_other_responses_and_state_make_another_run_that_says_why(
    worked: Shell, store: Store, client: Client, shop: ModuleType, copied: Path, task_queue: str
) -> None:
    ended = await worked.serve(
        "checkpoint", "fork", worked.id_of("order-1", PAUSE), "--id", task_queue, "--wait",
        "--respond", f"{store.manager_request}=false", "--state", "total=7", "--state", "odd.key={\"$\": \"a=b\"}",
        "--delete-state", "opinions", "--reason", "what if not",
    )  # fmt: skip

    assert (ended.code, ended.err) == (0, "")
    assert f"fork: of checkpoint {worked.id_of('order-1', PAUSE)}" in ended.out
    assert 'output "kept"' in ended.out
    storage = BlobCheckpointStorage(
        BlobStore(copied), workflow=shop.build_order(), namespace=client.namespace, workflow_id=task_queue
    )
    fork, *_, last = await storage.list_checkpoints(workflow_name="order")
    assert fork.previous_checkpoint_id == worked.id_of("order-1", PAUSE)
    assert "what if not" in str(fork.metadata)
    assert (last.state["total"], last.state["odd.key"], "opinions" in last.state) == (7, {"$": "a=b"}, False)


async def test_a_response_in_flight_can_be_given_otherwise(worked: Shell, store: Store) -> None:
    answered = worked.id_of("order-1", PAUSE + 1)

    ended = await worked.serve("checkpoint", "fork", answered, "--respond", f"{store.manager_request}=false", "--wait")

    assert ended.code == 0
    assert 'output "kept"' in ended.out


async def test_an_open_request_is_shown_with_how_to_answer_it(worked: Shell, store: Store, task_queue: str) -> None:
    ended = await worked.serve("checkpoint", "fork", worked.id_of("order-1", PAUSE), "--id", task_queue, "--wait")

    *_, asked, how, state = ended.out.splitlines()
    assert ended.code == 0
    assert asked == (
        f'Waits for a response to {store.manager_request} of manager, of type bool: {{"text": "Ship it?"}}'
    )
    assert how == f"to answer it: temporal-adapter respond {task_queue} {store.manager_request} RESPONSE"
    assert state == "state: IDLE_WITH_PENDING_REQUESTS"


async def test_what_the_workers_refuse_is_one_line(worked: Shell, store: Store) -> None:
    ended = await worked.serve(
        "checkpoint", "fork", worked.id_of("order-1", PAUSE), "--respond", f'{store.manager_request}="soon"', "--wait"
    )

    assert ended.code == 1
    [line] = ended.err.splitlines()
    assert line.startswith("Error: the run 'order-fork-")
    assert f"The response to request '{store.manager_request}' is refused" in line


async def test_an_executor_that_fails_is_told(worked: Shell, store: Store) -> None:
    ended = await worked.serve(
        "checkpoint", "fork", worked.id_of("order-1", 5), "--state", 'total="three"', "--wait", "--json"
    )

    assert ended.code == 1
    assert '"type": "TypeError"' in ended.out
    assert "failed: TypeError: " in ended.err


def test_what_does_not_fit_the_checkpoint_is_a_wrong_command(online: Shell, store: Store) -> None:
    pause = online.id_of("order-1", PAUSE)

    unasked = online.run("checkpoint", "fork", pause, "--respond", "nobody=true")
    unknown = online.run("checkpoint", "fork", pause, "--delete-state", "missing")

    assert (unasked.code, unasked.out, unknown.code, unknown.out) == (2, "", 2, "")
    assert f"Pending: {store.manager_request}." in unasked.err
    assert "There is: 'total', 'odd.key'" in unknown.err


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("total", "is not KEY=JSON"),
        ("=1", "is not KEY=JSON"),
        ("total=", "has no JSON"),
        ("total=yes", "A text wants quotes"),
        ("total=NaN", "NaN is no JSON"),
        ("total=" + "[" * 100_000, "has no JSON"),
    ],
)
def test_state_that_is_no_json_is_told(typed: str, message: str) -> None:
    with pytest.raises(CliError, match=message) as told:
        given_state([typed], [])

    assert told.value.code == ExitCode.USAGE


def test_names_may_hold_equals_signs() -> None:
    assert given_state(["a=b=1", 'c="d=e"'], ["a=b", "a"]) == {"a=b": 1, "c": "d=e"}
    assert given_responses(['r=1="x"'], ["r", "r=1"], "checkpoint") == {"r=1": "x"}


async def test_a_run_that_waits_for_an_operator_is_told(
    online: Shell, client: Client, shop: ModuleType, copied: Path, task_queue: str
) -> None:
    once = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))
    options = {"default_activity_options": once, "on_failure": "wait"}
    async with serving(client, task_queue, shop.build_order, store=BlobStore(copied), **options):
        ended = await online.serve(
            "checkpoint", "fork", online.id_of("order-1", 5), "--state", 'total="three"', "--wait",
            "--task-queue", task_queue, "--id", task_queue,
        )  # fmt: skip

    await client.get_workflow_handle(task_queue).terminate()
    assert ended.code == 1
    assert f"the run '{task_queue}' waits for an operator: 'manager' failed (TypeError: " in ended.err


async def test_state_that_was_of_a_type_is_told_to_be_plain_json_now(
    online: Shell, shop: ModuleType, client: Client, copied: Path
) -> None:
    @executor(id="keep")
    async def keep(customer: str, ctx: WorkflowContext[None, str]) -> None:
        ctx.set_state("order", shop.Order(customer=customer, amount=1))

    workflow = WorkflowBuilder(name="keeping", start_executor=keep).build()
    storage = BlobCheckpointStorage(
        BlobStore(copied), workflow=workflow, namespace=client.namespace, workflow_id="kept", types=[shop.Order]
    )
    await workflow.run("Ada", checkpoint_storage=storage)
    *_, last = await storage.list_checkpoint_ids(workflow_name="keeping")

    ended = online.run("checkpoint", "fork", last, "--state", "order={}", "--task-queue", "q", "--id", "kept-forked")

    await client.get_workflow_handle("kept-forked").terminate()
    assert ended.code == 0
    assert ended.err.startswith("Warning: the state 'order' is of type shop:Order in the checkpoint, and plain JSON")


async def test_forks_and_replays_hang_below_the_checkpoints_they_came_from(
    worked: Shell, store: Store, client: Client, task_queue: str
) -> None:
    pause = worked.id_of("order-1", PAUSE)
    order = DurableWorkflow(client, "order", task_queue=QUEUE)
    fork_run = await order.fork(pause, id=f"{task_queue}-fork", responses={store.manager_request: False})
    replay_run = await order.replay(pause, id=f"{task_queue}-replay")
    await asyncio.gather(fork_run.handle.result(), replay_run.handle.result())

    drawn = worked.run("checkpoint", "graph", f"{task_queue}-fork").out.splitlines()
    entries = worked.json("checkpoint", "graph", "order-1")["checkpoints"]

    assert drawn[0] == "order-1 (order)"
    place = next(place for place, line in enumerate(drawn) if pause in line)
    below = [line for line in drawn[place:] if "goes on as" in line]
    assert sorted(line.split("goes on as ")[1] for line in below) == sorted(
        ["what-if (order)", f"{task_queue}-fork (order)", f"{task_queue}-replay (order)"]
    )
    fork = drawn.index(next(line for line in drawn if line.endswith(f"{task_queue}-fork (order)")))
    assert "  fork  " in drawn[fork + 1]
    assert drawn[fork + 3].endswith("head")
    first = {one["workflow_id"]: one for one in reversed(entries)}
    kinds = {id_: (one["kind"], one["previous_checkpoint_id"]) for id_, one in first.items()}
    assert kinds[f"{task_queue}-fork"] == ("fork", pause)
    assert kinds[f"{task_queue}-replay"] == ("response", pause)
    assert {one["workflow_id"] for one in entries if one["head"]} == kinds.keys()
