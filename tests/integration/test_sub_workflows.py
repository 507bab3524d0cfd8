"""A workflow within a workflow does on Temporal what it does in-process, executor by executor, at every depth."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import (
    Executor,
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowContext,
    WorkflowExecutor,
    executor,
    handler,
)
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Replayer
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage, BlobStore, workflow_type
from temporal_adapter.testing.comparing import first_difference
from tests.support.differential import assert_same, resume_in_process, run_on_temporal
from tests.support.graphs import Add
from tests.support.histories import attempts, deliveries
from tests.support.nested import NESTED, Say, yes
from tests.support.restarts import assert_survives_restarts
from tests.support.running import pending, serving
from tests.support.scripted import Script, flaky, step

PAUSING = [name for name, graph in NESTED.items() if graph.answers is not None]
ENDING_WELL = [name for name in NESTED if name not in ("fails", "does not converge", "keeps state")]


@pytest.mark.parametrize("name", NESTED)
async def test_a_nested_graph_does_the_same_on_temporal_as_in_process(client: Client, name: str) -> None:
    graph = NESTED[name]
    await assert_same(client, graph.build, graph.message, answers=graph.answers)


@pytest.mark.parametrize("name", PAUSING)
async def test_a_nested_graph_survives_the_loss_of_its_worker_at_each_pause(client: Client, name: str) -> None:
    graph = NESTED[name]
    assert graph.answers is not None
    await assert_survives_restarts(client, graph.build, graph.message, answers=graph.answers)


@pytest.mark.parametrize("name", ENDING_WELL)
async def test_each_checkpoint_resumes_in_process(client: Client, name: str) -> None:
    graph, store = NESTED[name], BlobStore("memory://")
    whole = await run_on_temporal(client, graph.build, graph.message, graph.answers, store=store)
    storage = BlobCheckpointStorage(store, workflow=graph.build())

    for checkpoint in whole.checkpoints:
        resumed = await resume_in_process(graph.build, storage, checkpoint.checkpoint_id, graph.answers)

        expected = sorted(whole.outputs_after(checkpoint.iteration_count), key=repr)
        difference = first_difference(expected, sorted(resumed.outputs, key=repr), "outputs")
        assert difference is None, f"resumed after iteration {checkpoint.iteration_count}: {difference}"


@pytest.mark.parametrize("name", PAUSING)
async def test_a_checkpoint_that_mafs_own_runner_saves_in_the_blob_store_comes_back_the_same(name: str) -> None:
    graph, store, memory = NESTED[name], BlobStore("memory://"), InMemoryCheckpointStorage()
    storage = BlobCheckpointStorage(store, workflow=graph.build())
    workflow = graph.build()
    await workflow.run(graph.message, checkpoint_storage=memory)

    for checkpoint in await memory.list_checkpoints(workflow_name=workflow.name):
        await storage.save(checkpoint)
        loaded = await storage.load(checkpoint.checkpoint_id)

        assert first_difference(_told(checkpoint), _told(loaded), "checkpoint") is None


def _told(checkpoint: WorkflowCheckpoint) -> dict[str, Any]:
    """Return a checkpoint as a tree; without what a sub-workflow's has that nobody looks at."""
    told = {field.name: getattr(checkpoint, field.name) for field in dataclasses.fields(checkpoint)}
    executors = dict(checkpoint.state["_executor_state"])
    for executor_id, state in executors.items():
        if "sub_workflow_checkpoint" in state:
            executors[executor_id] = _told(state["sub_workflow_checkpoint"])
            del executors[executor_id]["checkpoint_id"], executors[executor_id]["timestamp"]
    return {**told, "state": {**dict(sorted(checkpoint.state.items())), "_executor_state": executors}}


async def test_each_inner_executor_is_an_activity_of_its_own_named_by_its_path(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, NESTED["three levels"].build) as durable:
        run = await durable.start(1)
        requests = await pending(run)
        await run.respond(requests[0].request_id, True)
        await run.result()
        history = await run.handle.fetch_history()

    kinds = [one.activity_type.name.removeprefix("nested-three/") for one in deliveries(history)]
    assert set(kinds) == {
        "start",
        "tally",
        "outer",
        "outer/first",
        "outer/inner",
        "outer/inner/add",
        "outer/inner/ask",
        "outer/inner/report",
        "outer/middle-last",
    }
    replayed = await Replayer(workflows=[workflow_type("nested-three")]).replay_workflow(history)
    assert replayed.replay_failure is None


async def test_only_the_inner_executor_that_failed_is_run_again(client: Client, task_queue: str) -> None:
    script = Script()

    def build() -> Workflow:
        first, unsteady = step(script, "first"), flaky(script, "unsteady", 2, lambda: RuntimeError("not yet"))
        inner = WorkflowBuilder(name="inner", start_executor=first).add_chain([first, unsteady, Say("last")]).build()
        wraps = WorkflowExecutor(inner, id="wraps", allow_direct_output=True)
        start = Add("start")
        return WorkflowBuilder(name="nested-flaky", start_executor=start).add_edge(start, wraps).build()

    quickly = ActivityConfig(retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3))
    async with serving(client, task_queue, build, default_activity_options=quickly) as durable:
        run = await durable.start(1)
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.get_outputs() == [2, ("last", 2)]
    assert dict(script.calls) == {"first": 1, "unsteady": 3}
    assert attempts(history)["nested-flaky/wraps/unsteady"] == 3


async def test_large_states_of_a_sub_workflow_travel_as_changes(client: Client) -> None:
    class Hoard(Executor):
        """Adds a large value to shared state and to what it keeps, and says how much there is."""

        def __init__(self, id: str) -> None:
            super().__init__(id=id)
            self.kept: list[str] = []

        @handler
        async def hoard(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
            self.kept.append(str(value) * 2000)
            ctx.set_state(f"{self.id} {value}", "x" * 5000)
            total = sum(len(one) for key, one in ctx.state.export_state().items() if not key.startswith("_"))
            await ctx.yield_output([self.id, len(self.kept), total])
            if value < 6:
                await ctx.send_message(value + 1)

    def build() -> Workflow:
        one, two = Hoard("one"), Hoard("two")
        inner = WorkflowBuilder(name="hoard", start_executor=one).add_edge(one, two).add_edge(two, one).build()
        wraps = WorkflowExecutor(inner, id="wraps", allow_direct_output=True)
        start, last = Add("start"), Hoard("last")
        builder = WorkflowBuilder(name="nested-hoard", start_executor=start)
        return builder.add_edge(start, last).add_chain([last, wraps]).build()

    await assert_same(client, build, 1)


async def test_twenty_runs_of_a_nested_graph_at_once_share_nothing(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, NESTED["keeps state"].build) as durable:
        runs = await asyncio.gather(*(durable.start(100 * number) for number in range(20)))
        results = await asyncio.gather(*(run.result() for run in runs))

    for number, result in enumerate(results):
        tallies = [output for output in result.get_outputs() if isinstance(output, list)]
        first = 100 * number + 1
        assert tallies == [["tally", place + 1, [first + step for step in range(place + 1)]] for place in range(3)]


async def test_a_response_to_a_request_of_a_sub_workflow_is_refused_when_ill_typed(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, NESTED["propagates"].build) as durable:
        run = await durable.start(1)
        [request] = await pending(run)
        with pytest.raises(ValueError, match="bool"):
            await run.respond(request.request_id, "perhaps")
        await run.respond(request.request_id, True)
        result = await run.result()

    assert "True" in str(result.get_outputs())


async def test_an_executor_that_wraps_what_cannot_take_its_input_fails_as_in_process(client: Client) -> None:
    @executor(id="only")
    async def only(value: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.yield_output(value)

    class Passes(WorkflowExecutor):
        """Takes everything, also what the workflow it wraps does not."""

        @property
        def input_types(self) -> list[Any]:
            return [int]

        def can_handle(self, message: Any) -> bool:
            return True

    def build() -> Workflow:
        inner = WorkflowBuilder(name="texts", start_executor=only).build()
        start = Add("start")
        wraps = Passes(inner, id="wraps")
        return WorkflowBuilder(name="nested-mismatch", start_executor=start).add_edge(start, wraps).build()

    await assert_same(client, build, 1, answers=yes)
