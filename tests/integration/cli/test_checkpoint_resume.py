"""`temporal-adapter checkpoint resume`: a run that did not end well goes on under its workflow id."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

from temporalio.client import Client

from temporal_adapter import BlobStore
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
    completed, is_open = [await worked.serve("checkpoint", "resume", id_) for id_ in ("order-1", "order-2")]

    assert (completed.code, completed.out, is_open.code, is_open.out) == (1, "", 1, "")
    assert completed.err.startswith("Error: The run 'order-1' is completed, so that nothing is left to do.")
    assert is_open.err.startswith("Error: The run 'order-2' is open, and goes on by itself.")


async def test_a_run_that_temporal_has_no_more_goes_on_from_a_checkpoint(
    worked: Shell, client: Client, shop: ModuleType, copied: Path, task_queue: str
) -> None:
    # Given a store that knows a run of which the server of today knows nothing
    checkpoint_id = worked.id_of("order-2", 2)
    lost = worked.env["TEMPORAL_ADDRESS"]
    unknown = await worked.serve("checkpoint", "resume", "what-if")
    another = await worked.serve("checkpoint", "resume", "what-if", "--checkpoint", checkpoint_id)
    unplaced = await worked.serve("checkpoint", "resume", "what-if", "--checkpoint", worked.id_of("what-if", 0))

    ended = await worked.serve(
        "checkpoint", "resume", "what-if", "--checkpoint", worked.id_of("what-if", 0), "--task-queue", QUEUE, "--wait"
    )

    assert lost
    assert (unknown.code, another.code, unplaced.code) == (4, 2, 2)
    assert "--checkpoint ID" in unknown.err
    assert f"'{checkpoint_id}' is of 'order-2', not of 'what-if'" in another.err
    assert "--task-queue" in unplaced.err
    assert ended.code == 0, ended
    assert "workflow id: what-if\n" in ended.out
    assert 'output "kept"' in ended.out
