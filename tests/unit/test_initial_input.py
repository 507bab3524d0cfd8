"""A start executor can tell the workflow's input from all else that reaches it, in-process."""

from __future__ import annotations

import pytest
from agent_framework import (
    INTERNAL_SOURCE_ID,
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)

import temporal_adapter
from temporal_adapter import internal_source_id, is_initial_input
from tests.support.differential import resume_in_process, run_in_process
from tests.support.initial_input import EXPECTED, INPUT, answers, looking


@pytest.mark.parametrize("executor_id", ["start", "a:b", "", "internal:start"])
def test_the_internal_source_id_is_the_one_that_maf_uses(executor_id: str) -> None:
    assert internal_source_id(executor_id) == INTERNAL_SOURCE_ID(executor_id) == f"internal:{executor_id}"


async def test_only_the_input_of_each_level_is_initial() -> None:
    run = await run_in_process(looking, INPUT, answers)

    assert sorted(run.outputs, key=str) == EXPECTED


async def test_the_input_is_initial_again_where_a_run_begins_from_its_entry_checkpoint() -> None:
    storage = InMemoryCheckpointStorage()
    await run_in_process(looking, INPUT, answers, storage=storage)
    entry = min(await storage.list_checkpoints(workflow_name="looks-outer"), key=lambda one: one.timestamp)
    assert list(entry.messages) == [internal_source_id("start")]

    again = await resume_in_process(looking, storage, entry.checkpoint_id, answers)

    assert sorted(again.outputs, key=str) == EXPECTED


async def test_a_batch_of_several_sources_is_not_initial() -> None:
    seen: list[bool] = []

    def build() -> Workflow:
        @executor(id="start")
        async def start(value: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(value)

        @executor(id="left")
        async def left(value: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(value)

        @executor(id="right")
        async def right(value: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(value)

        @executor(id="both")
        async def both(values: list[int], ctx: WorkflowContext) -> None:
            seen.append(is_initial_input(ctx))

        builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [left, right])
        return builder.add_fan_in_edges([left, right], both).build()

    await build().run(INPUT)

    assert seen == [False]


async def test_a_source_whose_name_looks_internal_is_not_taken_for_the_input() -> None:
    seen: list[bool] = []

    @executor(id="internal:start")
    async def start(value: int, ctx: WorkflowContext[int]) -> None:
        seen.append(is_initial_input(ctx))
        await ctx.send_message(value)

    @executor(id="end")
    async def end(value: int, ctx: WorkflowContext) -> None:
        seen.append(is_initial_input(ctx))

    await WorkflowBuilder(start_executor=start).add_edge(start, end).build().run(INPUT)

    assert seen == [True, False]


def test_both_are_public() -> None:
    assert {"internal_source_id", "is_initial_input"} <= set(temporal_adapter.__all__) & set(dir(temporal_adapter))
