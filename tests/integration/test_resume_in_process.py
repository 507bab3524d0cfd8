"""Each checkpoint of a run on Temporal resumes in MAF's in-process runner, and the rest of the run comes out right."""

from __future__ import annotations

import pytest
from agent_framework import InMemoryCheckpointStorage, WorkflowCheckpointException
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore
from temporal_adapter.testing.comparing import first_difference
from tests.support.differential import lineage, resume_in_process, run_in_process, run_on_temporal
from tests.support.graphs import GRAPHS, chain, loop

# MAF's own runner does not carry attributes of executors without hooks over a resume.
_FORGETFUL = {"attributes of an executor without hooks", "several messages to one executor", "output designations"}
_FAILING = {"loop without end"}


@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in _FORGETFUL | _FAILING])
async def test_each_checkpoint_resumes_to_the_outputs_of_the_rest_of_the_run(client: Client, name: str) -> None:
    graph, store = GRAPHS[name], BlobStore("memory://")
    whole = await run_on_temporal(client, graph.build, graph.message, graph.answers, store=store)
    storage = BlobCheckpointStorage(store, workflow=graph.build())

    for checkpoint in whole.checkpoints:
        resumed = await resume_in_process(graph.build, storage, checkpoint.checkpoint_id, graph.answers)

        expected = sorted(whole.outputs_after(checkpoint.iteration_count), key=repr)
        difference = first_difference(expected, sorted(resumed.outputs, key=repr), "outputs")
        assert difference is None, f"resumed after iteration {checkpoint.iteration_count}: {difference}"


@pytest.mark.parametrize("name", GRAPHS)
async def test_a_checkpoint_resumes_as_that_of_an_in_process_run_does(client: Client, name: str) -> None:
    graph, store, memory = GRAPHS[name], BlobStore("memory://"), InMemoryCheckpointStorage()
    ours = await run_on_temporal(client, graph.build, graph.message, graph.answers, store=store)
    theirs = await run_in_process(graph.build, graph.message, graph.answers, storage=memory)
    storage = BlobCheckpointStorage(store, workflow=graph.build())

    for our_checkpoint, their_checkpoint in zip(ours.checkpoints, theirs.checkpoints, strict=True):
        expected = await resume_in_process(graph.build, memory, their_checkpoint.checkpoint_id, graph.answers)
        resumed = await resume_in_process(graph.build, storage, our_checkpoint.checkpoint_id, graph.answers)

        assert first_difference(expected.outputs, resumed.outputs, "outputs") is None
        assert resumed.error == expected.error


async def test_checkpoints_that_a_resumed_run_writes_continue_the_lineage(client: Client) -> None:
    store = BlobStore("memory://")
    whole = await run_on_temporal(client, chain, 1, store=store)
    storage = BlobCheckpointStorage(store, workflow=chain())
    second = whole.checkpoints[1]

    await resume_in_process(chain, storage, second.checkpoint_id)

    after = await storage.list_checkpoints(workflow_name="chain")
    children = [one for one in after if one.previous_checkpoint_id == second.checkpoint_id]
    assert [one.iteration_count for one in children] == [2, 2]  # the run's own, and the resumed one's
    assert len(after) == len(whole.checkpoints) + 2


async def test_the_latest_checkpoint_is_the_head_of_the_lineage(client: Client) -> None:
    store = BlobStore("memory://")
    whole = await run_on_temporal(client, loop, 0, store=store)

    latest = await BlobCheckpointStorage(store, workflow=loop()).get_latest(workflow_name="loop")

    assert latest is not None
    assert latest.checkpoint_id == lineage(whole.checkpoints)[-1].checkpoint_id


async def test_a_checkpoint_of_another_graph_is_refused(client: Client) -> None:
    store = BlobStore("memory://")
    whole = await run_on_temporal(client, chain, 1, store=store)
    storage = BlobCheckpointStorage(store, workflow=loop())

    resumed = await resume_in_process(loop, storage, whole.checkpoints[0].checkpoint_id)

    assert resumed.error is not None
    assert resumed.error[0] == WorkflowCheckpointException.__name__
