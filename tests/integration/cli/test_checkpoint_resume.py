"""`temporal-adapter checkpoint resume`: a run that did not end well goes on under its workflow id."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

from temporalio.client import Client

from temporal_adapter import BlobStore
from tests.support.graphs import chain
from tests.support.running import pending, serving

from .conftest import QUEUE, Shell


async def test_a_terminated_run_waits_again_for_the_same_response(
    worked: Shell, client: Client, shop: ModuleType, copied: Path, task_queue: str
) -> None:
    async with serving(client, task_queue, shop.build_order, store=BlobStore(copied)) as order:
        run = await order.start(shop.Order(customer="Eve", amount=1), id=task_queue)
        [request] = await pending(run)
        head = (await run.checkpoints())[-1].checkpoint_id
        await run.handle.terminate()

        ended = await worked.serve("checkpoint", "resume", task_queue, "--wait", "--json")

    document = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert (document["workflow_name"], document["task_queue"]) == ("order", task_queue)
    assert (document["workflow_id"], document["checkpoint_id"]) == (task_queue, head)
    assert document["pending_requests"] == [request.request_id]
    assert document["run_id"] == (await client.get_workflow_handle(task_queue).describe()).run_id


async def test_what_need_not_be_resumed_is_refused_in_one_line(worked: Shell) -> None:
    completed = await worked.serve("checkpoint", "resume", "order-1")

    assert (completed.code, completed.out) == (1, "")
    assert completed.err.startswith("Error: The run 'order-1' is completed, so that nothing is left to do.")
    assert completed.err.count("\n") == 1


async def test_a_run_that_temporal_has_no_more_goes_on_from_a_checkpoint(worked: Shell) -> None:
    # Given a store that knows a run of which the server of today knows nothing
    checkpoint_id = worked.id_of("order-2", 2)
    unknown = await worked.serve("checkpoint", "resume", "what-if")
    another = await worked.serve("checkpoint", "resume", "what-if", "--checkpoint", checkpoint_id)

    ended = await worked.serve(
        "checkpoint", "resume", "what-if", "--checkpoint", worked.id_of("what-if", 0), "--task-queue", QUEUE, "--wait"
    )

    assert (unknown.code, another.code) == (4, 2)
    assert "--checkpoint ID" in unknown.err
    assert f"'{checkpoint_id}' is of 'order-2', not of 'what-if'" in another.err
    assert ended.code == 0, ended
    assert "workflow id: what-if\n" in ended.out
    assert 'output "kept"' in ended.out


async def test_a_session_is_at_rest_again(online: Shell, client: Client, copied: Path, task_queue: str) -> None:
    async with serving(client, task_queue, chain, store=BlobStore(copied)) as durable:
        await durable.session(task_queue).run(1)
        await durable.get_run(task_queue).handle.terminate()

        ended = await online.serve("checkpoint", "resume", task_queue, "--wait")

        assert ended.code == 0, ended
        assert ended.out.splitlines()[-1] == "state: IDLE"
        assert (await durable.session(task_queue).run(5)).get_outputs() == [("last", 16)]
        await durable.session(task_queue).close()
