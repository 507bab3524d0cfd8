"""Temporal's own reset makes a run anew from the middle of its history: both runs are verified and rebuilt."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from agent_framework import Workflow, WorkflowBuilder
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowHistory
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobStore, DurableRun
from temporal_adapter.recovery import rebuild, verify
from tests.support.graphs import Report
from tests.support.recovering import checkpoints_of
from tests.support.running import failure_of, serving, until
from tests.support.scripted import Script, flaky, step


async def reset_to_workflow_task(client: Client, run: DurableRun, number: int) -> None:
    """Have Temporal make the run anew as it was after so many workflow tasks."""
    completed = _workflow_tasks(await run.handle.fetch_history())
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=run.id, run_id=run.handle.first_execution_run_id or ""),
            reason="by the test",
            workflow_task_finish_event_id=completed[number],
            request_id=str(uuid.uuid4()),
        )
    )


ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))


def failing_second(script: Script) -> Callable[[], Workflow]:
    """Return a factory of a graph whose second executor fails the first time."""

    def build() -> Workflow:
        one, two, three = step(script, "one"), flaky(script, "two", 1, lambda: ValueError("no")), Report("three")
        return WorkflowBuilder(name="reset", start_executor=one).add_chain([one, two, three]).build()

    return build


@pytest.mark.parametrize("number", [0, 1])
async def test_a_failed_run_that_temporal_reset(client: Client, task_queue: str, number: int) -> None:
    store, build = BlobStore("memory://"), failing_second(Script())
    async with serving(client, task_queue, build, store=store, default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=task_queue)
        await failure_of(run)
        await reset_to_workflow_task(client, run, number)
        await durable.get_run(task_queue).result()

    assert not await _assert_told_and_rebuilt(client, task_queue, store)


async def test_a_checkpoint_that_the_failed_run_did_without_and_the_reset_one_recorded(
    client: Client, task_queue: str
) -> None:
    store, script = BlobStore("memory://"), Script()
    build = failing_second(script)
    script.hold("two")
    async with serving(client, task_queue, build, store=store, default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=task_queue)
        await script.entered("two")
        before = len(_workflow_tasks(await run.handle.fetch_history()))
        await run.handle.signal("unknown")

        async def taken() -> bool:
            return len(_workflow_tasks(await run.handle.fetch_history())) > before

        await until(taken)
        script.release("two")
        await failure_of(run)
        await reset_to_workflow_task(client, run, before)
        await durable.get_run(task_queue).result()

    assert not await _assert_told_and_rebuilt(client, task_queue, store)  # the failed run's mark is of that run only


async def _assert_told_and_rebuilt(client: Client, workflow_id: str, store: BlobStore) -> list[str]:
    """Assert that a rebuild puts both runs right; return the checkpoints that were not seen before."""
    told = await verify(client, workflow_id, store)
    assert len(told.run_ids) == 2
    assert {one.kind for one in told.differences} <= {"missing"}, told.differences
    assert {one.place for one in told.differences} <= {"run", ""}, told.differences
    for place in (store, BlobStore("memory://")):
        rebuilt = await rebuild(client, workflow_id, place)
        assert rebuilt.complete, rebuilt
        again = await verify(client, workflow_id, place)
        assert again.same, again.differences
        known = await checkpoints_of(client, place).runs("reset", workflow_id)
        assert [one.run_id for one in known] == list(told.run_ids), "the one that was made by the reset is the last"
    return [one.checkpoint_id for one in told.differences if one.checkpoint_id]


def _workflow_tasks(history: WorkflowHistory) -> list[int]:
    return [
        event.event_id for event in history.events if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    ]
