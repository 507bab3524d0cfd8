"""A fork: a new run from a checkpoint with other responses or another state, recorded as such."""

from __future__ import annotations

from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun, DurableWorkflow
from tests.support.graphs import Question, ask_once, ask_twice
from tests.support.running import failure_of, pending, serving


class Budget(Executor):
    """Keeps an amount in shared state, asks, and reports the amount and the answer."""

    @handler
    async def keep(self, amount: int, ctx: WorkflowContext) -> None:
        ctx.set_state("amount", amount)
        ctx.set_state("note", "as asked")
        await ctx.request_info(Question(text=f"Spend {amount}?"), bool)

    @response_handler
    async def decided(self, question: Question, yes: bool, ctx: WorkflowContext[None, Any]) -> None:
        await ctx.yield_output((ctx.get_state("amount"), ctx.get_state("note"), yes))


def budget() -> Workflow:
    return WorkflowBuilder(name="budget", start_executor=Budget(id="budget")).build()


async def answered(durable: DurableWorkflow, message: Any, response: Any) -> tuple[DurableRun, str, str, str]:
    """Run up to a request and answer it; return the run, the request's id, and its checkpoints there and after."""
    run = await durable.start(message)
    [request] = await pending(run)
    await run.respond(request.request_id, response)
    await run.result()
    kinds = {one.kind: one.checkpoint_id for one in (await run.checkpoints())[:3]}
    return run, request.request_id, kinds["superstep"], kinds["response"]


async def test_a_fork_at_a_pause_takes_another_response(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, budget) as durable:
        run, request_id, pause, _ = await answered(durable, 10, True)

        fork = await durable.fork(pause, responses={request_id: False})

        assert (await run.result()).get_outputs() == [(10, "as asked", True)]
        assert (await fork.result()).get_outputs() == [(10, "as asked", False)]


async def test_a_fork_at_a_response_gives_another_in_its_place(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, budget) as durable:
        _, request_id, _, response = await answered(durable, 10, True)

        fork = await durable.fork(response, responses={request_id: False})

        assert (await fork.result()).get_outputs() == [(10, "as asked", False)]


async def test_a_fork_sets_and_deletes_state(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, budget) as durable:
        _, request_id, pause, _ = await answered(durable, 10, True)

        fork = await durable.fork(
            pause, responses={request_id: True}, state={"amount": {1: ("b", 2.5)}}, delete_state=["note"]
        )

        assert (await fork.result()).get_outputs() == [({1: ("b", 2.5)}, None, True)]


async def test_a_fork_without_responses_waits_for_people(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, budget) as durable:
        _, request_id, pause, _ = await answered(durable, 10, True)

        fork = await durable.fork(pause, state={"amount": 12})

        [request] = await pending(fork)
        assert request.request_id == request_id
        await fork.respond(request_id, False)
        assert (await fork.result()).get_outputs() == [(12, "as asked", False)]


async def test_a_fork_is_recorded_as_such(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, budget, store=store) as durable:
        _, request_id, pause, _ = await answered(durable, 10, True)
        fork = await durable.fork(
            pause, id="forked", responses={request_id: False}, state={"amount": 1}, reason="a cheaper trip"
        )
        await fork.result()
        lineage = await fork.checkpoints()

    assert [one.kind for one in lineage] == ["superstep", "fork", "superstep"]
    assert lineage[1].previous_checkpoint_id == pause
    stored = await BlobCheckpointStorage(store, workflow=budget(), workflow_id="forked").load(lineage[1].checkpoint_id)
    assert stored.previous_checkpoint_id == pause
    assert stored.metadata == {
        "forked_from": pause,
        "responses": [request_id],
        "state": ["amount"],
        "reason": "a cheaper trip",
    }
    assert stored.state["amount"] == 1
    assert stored.pending_request_info_events == {}


async def test_one_of_two_requests_is_answered_by_a_fork_and_the_other_waits(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        run = await durable.start(1)
        left, right = await pending(run, 2)
        head = (await run.status()).checkpoint_id
        assert head is not None

        fork = await durable.fork(head, responses={left.request_id: False})

        [request] = await pending(fork)
        assert request.request_id == right.request_id
        await fork.respond(right.request_id, True)
        assert (await fork.result()).get_outputs() == [("join", ["left: 2? False", "right: 2? True"])]


async def test_what_does_not_fit_the_checkpoint_is_refused_with_the_reason(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1)
        [request] = await pending(run)
        head = (await run.status()).checkpoint_id
        assert head is not None

        unknown = await failure_of(await durable.fork(head, responses={"r-1": True}))
        ill_typed = await failure_of(await durable.fork(head, responses={request.request_id: "perhaps"}))
        not_there = await failure_of(await durable.fork(head, delete_state=["nothing"]))

    assert (unknown.type, ill_typed.type, not_there.type) == ("RestoreRefused",) * 3
    assert "no request 'r-1' to answer" in unknown.message
    assert request.request_id in unknown.message
    assert "bool" in ill_typed.message
    assert "no state 'nothing' to delete. There is: 'ask asked'" in not_there.message
