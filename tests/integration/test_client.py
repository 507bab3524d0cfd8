"""What a client sees of a run: result, events, status, lineage; live, afterwards, and from anywhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import WorkflowBuilder, WorkflowContext, WorkflowRunState, executor
from temporalio.client import Client
from temporalio.exceptions import WorkflowAlreadyStartedError

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableWorkflow
from tests.support.graphs import Order, Question, ask_once, chain, designations, fan_out_fan_in, typed_messages
from tests.support.running import pending, serving, until
from tests.support.scripted import Script, steps


async def test_the_result_is_mafs_own(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, designations) as durable:
        result = await (await durable.start(1)).result()

    assert [output["total"] for output in result.get_outputs()] == [1]
    assert [output["total"] for output in result.get_intermediate_outputs()] == [1]
    assert result.get_final_state() is WorkflowRunState.IDLE
    assert [event.state for event in result.status_timeline()] == [WorkflowRunState.IN_PROGRESS, WorkflowRunState.IDLE]
    assert result.get_request_info_events() == []
    assert not [event for event in result if event.type in ("started", "status")]


async def test_payloads_have_the_types_they_had(client: Client, task_queue: str) -> None:
    order = Order("typed", {"b": 1})
    async with serving(client, task_queue, typed_messages) as durable:
        run = await durable.start(order)
        await run.result()
        invoked = [event.data async for event in run.events() if event.type == "executor_invoked"]

    assert invoked == [order, Order("typed", {"zero": 0, "b": 1})]


async def test_a_request_is_typed(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(3)
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        [requested] = (await run.result()).get_request_info_events()

    assert request.data == requested.data == Question(text="ask: 3?")
    assert (request.request_type, request.response_type) == (Question, bool)
    assert request.source_executor_id == "ask"


async def test_events_are_followed_live_and_end_with_the_run(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("two")
    async with serving(client, task_queue, steps(script, "one", "two")) as durable:
        run = await durable.start(1)
        seen: list[Any] = []

        async def follow() -> None:
            async for event in run.events():
                seen.append(event)
                if event.type == "superstep_started" and event.iteration == 2:
                    script.release("two")  # so the second step is seen to start before it ends

        await asyncio.wait_for(follow(), 90)

    assert seen[-1].state is WorkflowRunState.IDLE
    assert [event.iteration for event in seen if event.type == "superstep_completed"][:2] == [1, 2]


async def test_events_are_read_from_an_offset_each_once(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain) as durable:
        run = await durable.start(1)
        await run.result()
        every = [repr(event) async for event in run.events()]

        for offset in range(len(every) + 1):
            assert [repr(event) async for event in run.events(offset)] == every[offset:]


async def test_the_status_tells_where_a_run_stands(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(3)
        [request] = await pending(run)
        parked = await run.status()
        await run.respond(request.request_id, True)
        await run.result()
        ended = await run.status()
        head = (await run.checkpoints())[-1]

    assert parked.state is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
    assert (parked.iteration, parked.pending_requests) == (1, 1)
    assert ended.state is WorkflowRunState.IDLE
    assert (ended.iteration, ended.pending_requests, ended.checkpoint_id) == (3, 0, head.checkpoint_id)


@pytest.mark.parametrize("cached", [1000, 0])
async def test_the_lineage_is_a_chain_of_kinds_that_the_store_holds_too(
    client: Client, task_queue: str, cached: int
) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, ask_once, store=store, max_cached_workflows=cached) as durable:
        run = await durable.start(3)
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        await run.result()
        lineage = await run.checkpoints()

    assert [(one.kind, one.iteration) for one in lineage] == [
        ("entry", 0),
        ("superstep", 1),
        ("response", 1),
        ("superstep", 2),
        ("superstep", 3),
    ]
    assert [one.previous_checkpoint_id for one in lineage] == [None, *(one.checkpoint_id for one in lineage[:-1])]
    stored = await BlobCheckpointStorage(store, workflow=ask_once()).list_checkpoints(workflow_name="ask-once")
    assert [one.checkpoint_id for one in stored] == [one.checkpoint_id for one in lineage]


@pytest.mark.parametrize("cached", [1000, 0])
async def test_a_checkpoint_has_one_timestamp_wherever_it_is_read(client: Client, task_queue: str, cached: int) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, ask_once, store=store, max_cached_workflows=cached) as durable:
        run = await durable.start(3)
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        await run.result()
        lineage = await run.checkpoints()  # of a closed run: replayed from its history

    stored = await BlobCheckpointStorage(store, workflow=ask_once()).list_checkpoints(workflow_name="ask-once")
    assert [one.timestamp for one in stored] == [one.timestamp for one in lineage]


async def test_a_run_is_found_by_its_id_from_another_client(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, fan_out_fan_in) as durable:
        await durable.start(1, id=task_queue)

        found = DurableWorkflow(client, "fan out and in", task_queue=task_queue).get_run(task_queue)

        assert found.id == task_queue
        assert (await found.result()).get_outputs() == [("join", [12, 22])]


async def test_an_id_is_taken_while_its_run_is_open(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        with pytest.raises(WorkflowAlreadyStartedError):
            await durable.start(1, id=task_queue)
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        await run.result()


async def test_start_options_of_temporal_are_passed_on(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain) as durable:
        run = await durable.start(1, memo={"team": "billing"})
        await run.result()

        assert await (await run.handle.describe()).memo() == {"team": "billing"}


async def test_the_result_of_temporal_is_readable_json(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain) as durable:
        run = await durable.start(1)
        result = await run.handle.result()
        head = (await run.checkpoints())[-1]

    assert {key: result[key] for key in ("outputs", "state", "iteration", "checkpoint_id")} == {
        "outputs": [["last", 12]],
        "state": "IDLE",
        "iteration": 3,
        "checkpoint_id": head.checkpoint_id,
    }


async def test_a_result_with_more_events_than_it_can_carry_is_read_all_the_same(
    client: Client, task_queue: str
) -> None:
    text = "x" * 3000
    names = [f"step-{number}" for number in range(45)]
    async with serving(client, task_queue, _long_chain(names)) as durable:
        run = await durable.start(text)
        result = await run.result()
        raw = await run.handle.result()

    assert "events" not in raw
    assert result.get_outputs() == [text] * len(names)


async def test_a_status_is_told_of_a_run_that_just_began(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("one")
    async with serving(client, task_queue, steps(script, "one", "two")) as durable:
        run = await durable.start(1)
        await script.entered("one")
        status = await until(run.status)
        script.release("one")
        await run.result()

    assert status.state is WorkflowRunState.IN_PROGRESS
    assert status.iteration == 0


def _long_chain(names: list[str]) -> Any:
    def build() -> Any:
        chained = [_echo(name) for name in names]
        return WorkflowBuilder(name="long-chain", start_executor=chained[0]).add_chain(chained).build()

    return build


def _echo(name: str) -> Any:
    @executor(id=name)
    async def echo(text: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.send_message(text)
        await ctx.yield_output(text)

    return echo


async def test_an_empty_id_is_no_id(client: Client) -> None:
    durable = DurableWorkflow(client, "chain", task_queue="nowhere")
    with pytest.raises(ValueError, match="The workflow id is empty"):
        await durable.start(1, id="")
    with pytest.raises(ValueError, match="The workflow id is empty"):
        await durable.fork("checkpoint", id="")
