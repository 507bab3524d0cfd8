"""`temporal-adapter checkpoint replay`: a run once more, with the same inputs and responses."""

from __future__ import annotations

import json

from temporalio.client import Client

from .conftest import QUEUE, SENTENCES, Shell, Store


async def test_a_run_is_repeated_and_its_outputs_are_shown(worked: Shell, client: Client, task_queue: str) -> None:
    ended = await worked.serve("checkpoint", "replay", worked.id_of("order-1", 0), "--id", task_queue, "--wait")

    assert (ended.code, ended.err) == (0, "")
    described = await client.get_workflow_handle(task_queue).describe()
    elsewhere = "" if client.namespace == "default" else f" --namespace {client.namespace}"
    assert ended.out.splitlines() == [
        f"workflow id: {task_queue}",
        f"run id: {described.run_id}",
        f"replay: of checkpoint {worked.id_of('order-1', 0)}",
        f"to follow it: temporal-adapter watch {task_queue}{elsewhere}",
        'output "shipped"',
        "state: IDLE",
    ]
    assert (described.workflow_type, described.task_queue) == ("order", QUEUE)


async def test_responses_are_repeated_up_to_a_checkpoint_and_json_says_what_it_waits_for(
    worked: Shell, store: Store
) -> None:
    before_the_last_answer = worked.id_of("order-1", 6)

    ended = await worked.serve(
        "checkpoint", "replay", worked.id_of("order-1", 0), "--until", before_the_last_answer, "--wait", "--json"
    )

    document = json.loads(ended.out)
    [request_id] = document["pending_requests"]
    assert (ended.code, document["state"], document["outputs"]) == (0, "IDLE_WITH_PENDING_REQUESTS", [])
    assert request_id not in (store.legal_request, store.manager_request)


async def test_without_waiting_no_worker_is_needed(online: Shell, client: Client, task_queue: str) -> None:
    ended = await online.serve(
        "checkpoint", "replay", online.id_of("order-1", 0), "--id", task_queue, "--task-queue", task_queue, "--json"
    )

    document = json.loads(ended.out)
    assert document["state"] is None
    handle = client.get_workflow_handle(task_queue)
    described = await handle.describe()
    assert (described.run_id, described.task_queue) == (document["run_id"], task_queue)
    again = await online.serve("checkpoint", "replay", online.id_of("order-1", 0), "--id", task_queue)
    assert (again.code, again.out) == (1, "")
    assert again.err == f"Error: a run with workflow id '{task_queue}' is open, and is left alone.\n"
    await handle.terminate()


async def test_what_was_made_in_process_wants_a_task_queue(worked: Shell) -> None:
    checkpoint_id = worked.id_of("what-if", 0)

    unnamed = await worked.serve("checkpoint", "replay", checkpoint_id)
    named = await worked.serve("checkpoint", "replay", checkpoint_id, "--task-queue", QUEUE, "--wait")

    assert unnamed.code == 2
    assert "--task-queue" in unnamed.err
    assert named.code == 0
    assert 'output "kept"' in named.out
    assert SENTENCES not in named.out  # that was before


def test_an_unknown_checkpoint_is_told(online: Shell) -> None:
    unknown = online.run("checkpoint", "replay", "nothing")
    beyond = online.run("checkpoint", "replay", online.id_of("order-1", 0), "--until", "nothing")

    assert (unknown.code, unknown.out, beyond.code, beyond.out) == (4, "", 4, "")
    assert "no checkpoint 'nothing'" in unknown.err
