"""A start executor can tell the workflow's input from all else that reaches it, on Temporal as in-process."""

from __future__ import annotations

from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore, internal_source_id
from tests.support.differential import assert_same, resume_in_process, run_on_temporal
from tests.support.initial_input import EXPECTED, INPUT, answers, looking
from tests.support.running import serving


async def test_only_the_input_of_each_level_is_initial(client: Client) -> None:
    _, ours = await assert_same(client, looking, INPUT, answers=answers)

    assert sorted(ours.outputs, key=str) == EXPECTED


async def test_it_is_so_in_a_run_of_any_client_whatever_worker_runs_which_executor(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, looking, max_cached_workflows=0) as durable:
        run = await durable.start(INPUT)
        async for event in run.events():
            if event.type == "request_info":
                await run.respond(event.request_id, True)
        result = await run.result()

    assert sorted(result.get_outputs(), key=str) == EXPECTED


async def test_the_input_is_initial_again_in_process_from_the_entry_checkpoint_of_a_run_on_temporal(
    client: Client,
) -> None:
    store = BlobStore("memory://")
    run = await run_on_temporal(client, looking, INPUT, answers, store=store)
    entry = run.checkpoints[0]
    assert list(entry.messages) == [internal_source_id("start")]

    storage = BlobCheckpointStorage(store, workflow=looking())
    again = await resume_in_process(looking, storage, entry.checkpoint_id, answers)

    assert sorted(again.outputs, key=str) == EXPECTED
