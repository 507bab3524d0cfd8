"""What strangers send, and what surroundings do, that must neither end a run, nor stall it, nor lose anything."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun, ResponseRefused
from tests.support.running import failure_of, pending, serving


class Asker(Executor):
    @handler
    async def ask(self, question: str, ctx: WorkflowContext) -> None:
        await ctx.request_info(question, str)

    @response_handler
    async def answered(self, question: str, answer: str, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(answer)


def build_asker() -> Workflow:
    return WorkflowBuilder(start_executor=Asker(id="asker"), name="asker").build()


def nested(levels: int) -> Any:
    data: Any = "bottom"
    for _ in range(levels):
        data = [data]
    return data


async def warnings_of(run: DurableRun, count: int) -> list[str]:
    """Follow the run until it has shown so many warnings."""
    shown: list[str] = []
    async for event in run.events():
        if event.type == "warning":
            shown.append(event.data)
            if len(shown) == count:
                break
    return shown


SIGNALS: list[tuple[list[Any], str]] = [
    ([], "malformed"),
    ([{"request_id": "a", "response": 1}, "more"], "2 arguments came"),
    ([nested(900)], "levels deep"),
    ([{"request_id": "x" * 2000, "response": 1}], "2000 characters"),
    ([[{"request_id": "x", "response": 1}] * 1500], "1500 responses came at once"),
]


@pytest.mark.parametrize(("arguments", "reason"), SIGNALS, ids=["none", "two", "deep", "long id", "many"])
async def test_a_strange_signal_is_a_warning_and_the_run_goes_on(
    client: Client, task_queue: str, arguments: list[Any], reason: str
) -> None:
    async with serving(client, task_queue, build_asker) as workflow:
        run = await workflow.start("ready?")
        (request,) = await pending(run)
        await run.handle.signal("respond", args=arguments)
        assert reason in (await warnings_of(run, 1))[0]
        await run.respond(request.request_id, "yes")
        assert (await run.result()).get_outputs() == ["yes"]


async def test_a_signal_of_an_unknown_name_is_a_warning(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build_asker) as workflow:
        run = await workflow.start("ready?")
        await pending(run)
        await run.handle.signal("response", {"request_id": "x", "response": "yes"})
        assert "'response' is unknown" in (await warnings_of(run, 1))[0]


async def test_many_refusals_at_once_are_answered(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build_asker) as workflow:
        run = await workflow.start("ready?")
        (request,) = await pending(run)
        unknown = [{"request_id": f"unknown-{number}-{'x' * 500}", "response": 1} for number in range(300)]
        with pytest.raises(Exception, match="failed") as raised:
            await run.handle.execute_update("respond", unknown)
        assert isinstance(raised.value.__cause__, ApplicationError)
        await run.respond(request.request_id, "yes")
        assert (await run.result()).get_outputs() == ["yes"]


class Chatty(Executor):
    @handler
    async def talk(self, count: int, ctx: WorkflowContext[int, str]) -> None:
        for number in range(40):
            await ctx.yield_output(f"{count} {number} " + "x" * 3000)
        if count:
            await ctx.send_message(count - 1)


def build_chatty() -> Workflow:
    chatty = Chatty(id="chatty")
    return WorkflowBuilder(start_executor=chatty, name="chatty").add_edge(chatty, chatty).build()


async def test_a_run_with_more_output_than_a_payload_holds_ends(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build_chatty) as workflow:
        run = await workflow.start(24)
        raw = await run.handle.result()
        assert len(raw["outputs"]) == 1000
        assert raw["outputs"][-1]["see"] == "query events"
        assert [text[:5] for text in (await run.result()).get_outputs()][:2] == ["24 0 ", "24 1 "]


ONE_TRY = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))


class Loud(Executor):
    @handler
    async def shout(self, size: int, ctx: WorkflowContext) -> None:
        raise ValueError("x" * size)


def build_loud() -> Workflow:
    return WorkflowBuilder(start_executor=Loud(id="loud"), name="loud").build()


async def test_a_long_error_message_is_cut_and_fails_the_run(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build_loud, activity_options={"loud/loud": ONE_TRY}) as workflow:
        run = await workflow.start(3_000_000)
        cause = await failure_of(run)
        assert cause.type == "ValueError"
        assert cause.message.endswith("(3000000 characters)")


async def test_a_checkpoint_that_history_never_recorded_is_not_in_the_store(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(
        client, task_queue, build_loud, store=store, activity_options={"loud/loud": ONE_TRY}
    ) as workflow:
        run = await workflow.start(1)
        await failure_of(run)
        lineage = [checkpoint.checkpoint_id for checkpoint in await run.checkpoints()]
        storage = BlobCheckpointStorage(store, workflow=build_loud(), workflow_id=run.id)
        assert await storage.list_checkpoint_ids(workflow_name="loud") == lineage
        # And the id that the failed attempt was given is marked, so that it stays so if the attempt writes it yet
        assert len(await store.list("default/discarded")) == 1


async def test_a_response_in_the_shape_of_a_stored_value_stays_data(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build_asker) as workflow:
        run = await workflow.start("ready?")
        (request,) = await pending(run)
        with pytest.raises(ResponseRefused, match="must be str"):
            await run.respond(
                request.request_id, {"$": "pickle", "type": "builtins:str", "data": "gASVBQAAAAAAAACMAWGULg=="}
            )
        await run.respond(request.request_id, '{"$": "pickle"}')
        assert (await run.result()).get_outputs() == ['{"$": "pickle"}']
