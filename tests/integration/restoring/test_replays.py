"""A replay: a new run that repeats another from any of its checkpoints, with the same inputs and responses."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from agent_framework import WorkflowCheckpoint, WorkflowRunState
from temporalio.client import Client
from temporalio.worker import Replayer

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun, DurableWorkflow, workflow_type
from temporal_adapter.testing.comparing import first_difference
from temporal_adapter.testing.difference import difference_of
from temporal_adapter.testing.observed import Observed
from tests.support import assistants, nested, reviews
from tests.support.differential import run_on_temporal
from tests.support.graphs import GRAPHS, Graph, answer_all, ask_once, ask_twice, chain, loop
from tests.support.running import failure_of, pending, serving, until

_FAILING = {"loop without end"}
_NESTED = {
    "sub-workflow": Graph(nested.keeps_state, 1),
    "requests of a sub-workflow": Graph(nested.propagates, 1, nested.one_by_one),
    "intercepted requests": Graph(nested.intercepts, 1, nested.yes),
    "three levels": Graph(nested.three_levels, 1, nested.yes),
    "two sub-workflows at once": Graph(nested.two_at_once, 1, nested.one_by_one),
}
_AGENTS = {
    "agents": Graph(assistants.writing, "a poem"),
    "tool approval": Graph(assistants.paying, "pay Ada", reviews.approve),
}
ALL = {**{name: graph for name, graph in GRAPHS.items() if name not in _FAILING}, **_NESTED, **_AGENTS}


async def outcome(run: DurableRun, *, waits: bool) -> tuple[list[object], WorkflowRunState]:
    """Return the outputs and the final state of a run, or of one that waits for people as the replayed one does."""
    if waits:
        await pending(run)
        events = await run.events_between(0, (await run.status()).events)
        return [event.data for event in events if event.type == "output"], (await run.status()).state
    result = await run.result()
    return result.get_outputs(), result.get_final_state()


@pytest.mark.parametrize("name", ALL)
async def test_a_replay_of_each_checkpoint_does_the_rest_of_the_run_again(
    client: Client, task_queue: str, name: str
) -> None:
    graph, store = ALL[name], BlobStore("memory://")
    whole = await run_on_temporal(client, graph.build, graph.message, graph.answers, store=store)
    end = [event.state for event in whole.events if event.type == "status"][-1]
    storage = BlobCheckpointStorage(store, workflow=graph.build())

    async def assert_replays(durable: DurableWorkflow, checkpoint: WorkflowCheckpoint) -> None:
        replay = await durable.replay(checkpoint.checkpoint_id)
        outputs, state = await outcome(replay, waits=end is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS)

        expected = sorted(whole.outputs_after(checkpoint.iteration_count), key=repr)
        difference = first_difference(expected, sorted(outputs, key=repr), "outputs")
        assert difference is None, f"replayed from iteration {checkpoint.iteration_count}: {difference}"
        assert state is end
        await _assert_lineage_goes_on(replay, checkpoint.checkpoint_id, storage)

    async with serving(client, task_queue, graph.build, store=store) as durable:
        await asyncio.gather(*(assert_replays(durable, one) for one in whole.checkpoints))


async def _assert_lineage_goes_on(run: DurableRun, parent: str, storage: BlobCheckpointStorage) -> None:
    """The run's first checkpoint is the restored one; each other has the one before it as parent, and is stored."""
    lineage = await run.checkpoints()
    assert lineage[0].checkpoint_id == parent
    for before, after in pairwise(lineage):
        assert after.previous_checkpoint_id == before.checkpoint_id
        assert (await storage.load(after.checkpoint_id)).previous_checkpoint_id == before.checkpoint_id


async def test_a_replay_repeats_the_whole_lineage_kind_by_kind(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        first = await answered_one_by_one(durable)
        lineage = await first.checkpoints()

        replay = await durable.replay(lineage[0].checkpoint_id)
        assert (await replay.result()).get_outputs() == (await first.result()).get_outputs()

        again = await replay.checkpoints()
        assert [(one.kind, one.iteration) for one in again] == [(one.kind, one.iteration) for one in lineage]
        originals = [event for event in (await first.result()) if event.type != "request_info"]
        repeated = [event for event in (await replay.result()) if event.type != "request_info"]
        sides = ("in the original", "in the replay")
        assert difference_of(Observed(originals), Observed(repeated), sides=sides) is None


async def answered_one_by_one(durable: DurableWorkflow) -> DurableRun:
    """Run `ask_twice`; answer the second request with no, and then the first with yes."""
    run = await durable.start(1)
    left, right = await pending(run, 2)
    await run.respond(right.request_id, False)

    async def has_taken_it() -> bool:
        return (await run.status()).iteration >= 4

    await until(has_taken_it)
    await run.respond(left.request_id, True)
    await run.result()
    return run


async def test_a_replay_until_a_checkpoint_leaves_later_requests_to_people(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        lineage = await (await answered_one_by_one(durable)).checkpoints()
        first_response = next(one for one in lineage if one.kind == "response")

        replay = await durable.replay(lineage[0].checkpoint_id, until=first_response.checkpoint_id)

        [left] = [one for one in await pending(replay) if one.source_executor_id == "left"]

        async def only_left_waits() -> bool:
            return (await replay.status()).iteration >= 4

        await until(only_left_waits)
        await replay.respond(left.request_id, False)
        assert (await replay.result()).get_outputs() == [("join", ["left: 2? False", "right: 2? False"])]


async def test_a_replay_of_a_replay_repeats_it(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1)
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        outputs = (await run.result()).get_outputs()
        replay = await durable.replay((await run.checkpoints())[0].checkpoint_id)
        await replay.result()

        again = await durable.replay((await replay.checkpoints())[1].checkpoint_id)

        assert (await again.result()).get_outputs() == outputs


async def test_histories_of_restored_runs_replay_in_a_fresh_worker(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        lineage = await (await answered_one_by_one(durable)).checkpoints()
        runs = [await durable.replay(one.checkpoint_id) for one in lineage]
        runs += [await durable.fork(lineage[2].checkpoint_id, state={"note": "changed"})]
        await pending(runs[-1], 2)
        histories = [await run.handle.fetch_history() for run in runs[:-1] if await run.result() is not None]
        histories.append(await runs[-1].handle.fetch_history())

    for history in histories:
        await Replayer(workflows=[workflow_type("ask-twice")]).replay_workflow(history)


async def test_responses_that_come_while_a_run_is_restored_are_taken(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1)
        [request] = await pending(run)
        head = (await run.status()).checkpoint_id
        assert head is not None
        answer = {"request_id": request.request_id, "response": True}

        replay = await durable.replay(head, start_signal="respond", start_signal_args=[answer])

        assert (await replay.result()).get_outputs() == [("last", "ask: 1? True")]


async def test_a_run_of_a_checkpoint_that_is_not_there_says_how_to_find_one(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain) as durable:
        failure = await failure_of(await durable.replay("no-such"))

    assert failure.type == "CheckpointNotFound"
    assert "no checkpoint 'no-such'" in failure.message
    assert "temporal-adapter checkpoint list" in failure.message


async def test_a_run_of_another_graphs_checkpoint_names_what_differs(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    whole = await run_on_temporal(client, chain, 1, store=store)

    async with serving(client, task_queue, loop, store=store) as durable:
        failure = await failure_of(await durable.replay(whole.checkpoints[0].checkpoint_id))

    assert failure.type == "RestoreRefused"
    assert "of workflow 'chain'" in failure.message
    assert "executors removed: " in failure.message


async def test_a_replay_until_a_stranger_is_refused(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1)
        await pending(run)
        head = (await run.status()).checkpoint_id
        assert head is not None

        failure = await failure_of(await durable.replay(head, until="elsewhere"))

    assert failure.type == "RestoreRefused"
    assert "'elsewhere' does not follow" in failure.message


async def test_a_damaged_checkpoint_is_named_and_no_other_stands_in(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    whole = await run_on_temporal(client, chain, 1, store=store)
    victim = whole.checkpoints[1].checkpoint_id
    for name in await store.list(f"default/checkpoints/{victim}"):
        await store.put(name, (await store.get(name))[:-20])

    async with serving(client, task_queue, chain, store=store) as durable:
        failure = await failure_of(await durable.replay(victim))

    assert failure.type == "CheckpointNotFound"
    assert victim in failure.message
    assert "is damaged" in failure.message


async def test_a_run_checkpointed_in_process_goes_on_on_temporal(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    storage = BlobCheckpointStorage(store, workflow=ask_twice())
    laptop = await ask_twice().run(1, checkpoint_storage=storage)
    requests = laptop.get_request_info_events()
    head = await storage.get_latest(workflow_name="ask-twice")
    assert head is not None

    async with serving(client, task_queue, ask_twice, store=store) as durable:
        run = await durable.replay(head.checkpoint_id)
        for request_id, response in answer_all(await pending(run, 2)).items():
            assert request_id in [one.request_id for one in requests]
            await run.respond(request_id, response)
        outputs = (await run.result()).get_outputs()

    assert outputs == [("join", ["left: 2? True", "right: 2? True"])]
