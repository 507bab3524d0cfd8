"""A run that MAF's own runner checkpointed into the blob store goes on on Temporal, from any of its checkpoints."""

from __future__ import annotations

import pytest
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore
from temporal_adapter.testing.comparing import first_difference
from tests.conformance.runs import RUNS, Both
from tests.support.differential import run_in_process
from tests.support.running import serving

LAPTOP = ["fan-in", "executor state", "requests", "sub-workflow whose request is intercepted", "agents"]


@pytest.mark.parametrize("name", LAPTOP)
async def test_each_checkpoint_of_a_run_in_process_is_replayed_on_temporal(
    client: Client, task_queue: str, name: str
) -> None:
    graph, store = RUNS[name], BlobStore("memory://")
    laptop = BlobCheckpointStorage(store, workflow=graph.build, namespace=client.namespace)
    whole = await run_in_process(graph.build, graph.message, graph.answers, storage=Both(laptop))

    async with serving(client, task_queue, graph.build, store=store) as durable:
        for checkpoint in whole.checkpoints:
            run = await durable.replay(checkpoint.checkpoint_id)
            outputs = (await run.result()).get_outputs()

            rest = whole.outputs_after(checkpoint.iteration_count)
            difference = first_difference(sorted(rest, key=repr), sorted(outputs, key=repr), "outputs")
            assert difference is None, f"from checkpoint {checkpoint.iteration_count}: {difference}"
