"""Large values travel by reference: history stays small, and readers need the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, executor
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableWorkflow, ValueUnavailable
from tests.support.running import serving

MESSAGE = 200_000
STATE = 100_000
HISTORY_LIMIT = 60_000


def large(rounds: int) -> Callable[[], Workflow]:
    """Return a factory of a graph that sends a large message round and round, past a large shared state."""

    def build() -> Workflow:
        @executor(id="inflate")
        async def inflate(size: int, ctx: WorkflowContext[str]) -> None:
            ctx.set_state("ballast", "s" * STATE)
            ctx.set_state("round", 0)
            await ctx.send_message("m" * size)

        @executor(id="turn")
        async def turn(text: str, ctx: WorkflowContext[str, str]) -> None:
            number = ctx.get_state("round") + 1
            ctx.set_state("round", number)
            if number == rounds:
                await ctx.yield_output(text)
            else:
                await ctx.send_message(text)

        @executor(id="back")
        async def back(text: str, ctx: WorkflowContext[str]) -> None:
            await ctx.send_message(text)

        builder = WorkflowBuilder(name="large", start_executor=inflate).add_edge(inflate, turn)
        return builder.add_edge(turn, back).add_edge(back, turn).build()

    return build


async def test_large_values_stay_out_of_history_and_come_back_whole(client: Client, task_queue: str) -> None:
    store, build = BlobStore("memory://"), large(3)
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(MESSAGE)
        [output] = (await run.result()).get_outputs()

    assert output == "m" * MESSAGE
    assert (await run.handle.fetch_history()).to_json().__len__() < HISTORY_LIMIT
    latest = await BlobCheckpointStorage(store, workflow=build()).get_latest(workflow_name="large")
    assert latest is not None
    assert latest.state["ballast"] == "s" * STATE


async def test_history_does_not_grow_with_what_there_is_but_with_what_changes(client: Client, task_queue: str) -> None:
    sizes: list[int] = []
    for rounds in (2, 7):
        async with serving(client, f"{task_queue}-{rounds}", large(rounds)) as durable:
            run = await durable.start(MESSAGE)
            await run.result()
            sizes.append(len((await run.handle.fetch_history()).to_json()))

    supersteps = 10
    assert (sizes[1] - sizes[0]) / supersteps < 8_000


async def test_a_client_without_the_store_is_told_what_it_lacks(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, large(1), store=store) as durable:
        run = await durable.start(MESSAGE)
        await run.result()
        storeless = DurableWorkflow(client, "large", task_queue=task_queue).get_run(run.id)

        with pytest.raises(ValueUnavailable, match=r"in the blob store.*checkpoint_store="):
            await storeless.result()


async def test_the_temporal_result_shows_a_large_output_as_a_reference(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, large(1)) as durable:
        run = await durable.start(MESSAGE)
        result = await run.handle.result()

    [output] = result["outputs"]
    assert set(output) == {"ref", "size"}
    assert output["size"] == MESSAGE + 2
