"""What fails is tried again alone and leaves no trace; what fails for good fails the run, and says why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowConvergenceException, WorkflowRunState
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, BlobCheckpointStorage, BlobStore, DurableWorkflow
from tests.support.differential import resume_in_process
from tests.support.graphs import Add, Report
from tests.support.histories import attempts
from tests.support.nested import NESTED
from tests.support.running import failure_of, pending, serving, with_plugin
from tests.support.scripted import Script, asking, failing, flaky_between, steps

QUICKLY = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=20),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3),
)


class Broken(Exception):
    """An error of the user's own."""


async def test_an_executor_that_recovers_leaves_no_trace_of_its_failed_attempts(
    client: Client, task_queue: str
) -> None:
    script, store = Script(), BlobStore("memory://")
    build = flaky_between(script, 2, lambda: Broken("not yet"))
    async with serving(client, task_queue, build, store=store, default_activity_options=QUICKLY) as durable:
        run = await durable.start(1)
        result = await run.result()
        events = [event async for event in run.events()]

    assert result.get_outputs() == [2, ("join", [2, 2])]
    assert not [event for event in events if event.type in ("warning", "executor_failed")]
    assert [event.data for event in events if event.executor_id == "flaky"] == [2, [2]]
    storage = BlobCheckpointStorage(store, workflow=build())
    latest = await storage.get_latest(workflow_name="flaky-between")
    assert latest is not None
    assert "left by" not in latest.state
    assert latest.state["calls"] == 3


async def test_only_the_executor_that_failed_runs_again(client: Client, task_queue: str) -> None:
    script = Script()
    build = flaky_between(script, 2, lambda: Broken("not yet"))
    async with serving(client, task_queue, build, default_activity_options=QUICKLY) as durable:
        run = await durable.start(1)
        await run.result()

    assert script.calls == {"steady": 1, "flaky": 3}
    assert attempts(await run.handle.fetch_history())["flaky-between/flaky"] == 3


async def test_a_run_fails_with_the_error_of_the_executor_that_failed_for_good(client: Client, task_queue: str) -> None:
    script = Script()
    build = flaky_between(script, 99, lambda: Broken("out of paper"))
    async with serving(client, task_queue, build, default_activity_options=QUICKLY) as durable:
        run = await durable.start(1)
        error = await failure_of(run)
        events = [event async for event in run.events()]
        status = await run.status()

    assert (error.type, error.message) == ("Broken", "out of paper")
    assert script.calls["flaky"] == 3
    assert [(event.type, event.executor_id) for event in events[-3:]] == [
        ("executor_failed", "flaky"),
        ("failed", None),
        ("status", None),
    ]
    assert events[-1].state is WorkflowRunState.FAILED
    assert events[-2].details is not None
    assert events[-2].details.error_type == "Broken"
    assert status.state is WorkflowRunState.FAILED
    assert status.iteration == 1


async def test_the_failure_says_what_the_executor_raised_in_its_cause(client: Client, task_queue: str) -> None:
    async with serving(
        client, task_queue, failing(lambda: Broken("deep")), default_activity_options=QUICKLY
    ) as durable:
        error = await failure_of(await durable.start(1))

    causes: list[BaseException | None] = [error]
    while causes[-1] is not None:
        causes.append(causes[-1].__cause__)
    assert any("deep" in str(cause) and "raise raised" in _stack(cause) for cause in causes)


async def test_a_sibling_still_at_work_when_the_run_fails_leaves_nothing(client: Client, task_queue: str) -> None:
    script, store = Script(), BlobStore("memory://")
    script.hold("steady")
    build = flaky_between(script, 99, lambda: Broken("no"))
    async with serving(client, task_queue, build, store=store, default_activity_options=QUICKLY) as durable:
        run = await durable.start(1)
        await script.entered("steady")
        await failure_of(run)
        events = [event async for event in run.events()]
        script.release("steady")

    assert not [event for event in events if event.executor_id == "steady"]
    checkpoints = await BlobCheckpointStorage(store, workflow=build()).list_checkpoints(workflow_name="flaky-between")
    assert [one.iteration_count for one in checkpoints] == [0, 1]


async def test_the_last_checkpoint_of_a_failed_run_resumes_in_process(client: Client, task_queue: str) -> None:
    script, store = Script(), BlobStore("memory://")
    build = flaky_between(script, 3, lambda: Broken("no"))
    async with serving(client, task_queue, build, store=store, default_activity_options=QUICKLY) as durable:
        await failure_of(await durable.start(1))
    storage = BlobCheckpointStorage(store, workflow=build())
    latest = await storage.get_latest(workflow_name="flaky-between")

    assert latest is not None
    resumed = await resume_in_process(build, storage, latest.checkpoint_id)

    assert resumed.outputs == [2, ("join", [2, 2])]


@pytest.mark.parametrize("where", ["condition", "selection"])
async def test_a_routing_function_that_raises_fails_the_run(client: Client, task_queue: str, where: str) -> None:
    async with serving(client, task_queue, _badly_routed(where), default_activity_options=QUICKLY) as durable:
        run = await durable.start(1)
        error = await failure_of(run)
        status = await run.status()

    assert (error.type, error.message) == ("Broken", "which way?")
    assert status.state is WorkflowRunState.FAILED
    assert status.iteration == 1


async def test_a_run_that_is_cancelled_says_so(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        await pending(run)

        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        events = [event async for event in run.events()]

    assert events[-1].state is WorkflowRunState.CANCELLED


# --- workers that come and go -------------------------------------------------------------------------------


async def test_a_run_goes_on_with_another_worker_where_the_first_one_stopped(client: Client, task_queue: str) -> None:
    script, store = Script(), BlobStore("memory://")
    build = steps(script, "one", "two", "three")
    script.hold("two")

    def worker() -> Worker:
        plugin = AgentFrameworkPlugin([build], checkpoint_store=store, default_activity_options=QUICKLY)
        return Worker(with_plugin(client, plugin), task_queue=task_queue)

    async with worker():
        run = await DurableWorkflow(client, "steps", task_queue=task_queue).start(5)
        await script.entered("two")
    # The first worker stopped within the second step, and cancelled it.
    script.release("two")
    async with worker():
        assert (await run.result()).get_outputs() == [5]

    assert script.calls["one"] == 1
    assert script.calls["three"] == 1


async def test_a_parked_run_goes_on_with_another_worker(client: Client, task_queue: str) -> None:
    store, build = BlobStore("memory://"), asking(Script())
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

    async with serving(client, task_queue, build, store=store):
        await run.respond(request.request_id, True)
        assert (await run.result()).get_outputs() == [("last", "0.5: True")]


async def test_runs_on_a_worker_without_workflow_cache_come_out_the_same(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script()), max_cached_workflows=0) as durable:
        run = await durable.start(7)
        [request] = await pending(run)
        await run.respond(request.request_id, True)

        assert (await run.result()).get_outputs() == [("last", "0.5: True")]


def _badly_routed(where: str) -> Callable[[], Workflow]:
    def fails(*_: Any) -> Any:
        raise Broken("which way?")

    def build() -> Workflow:
        start, a, b = Add("start"), Report("a"), Report("b")
        builder = WorkflowBuilder(name="badly-routed", start_executor=start)
        if where == "condition":
            return builder.add_edge(start, a, condition=fails).build()
        return builder.add_multi_selection_edge_group(start, [a, b], fails).build()

    return build


def _stack(error: BaseException | None) -> str:
    failure = getattr(error, "failure", None)
    return "" if failure is None else failure.stack_trace


# --- what the client raises ---------------------------------------------------------------------------------


class Declined(Exception):
    """An error with a constructor and state of its own."""

    def __init__(self, *, code: int) -> None:
        super().__init__(f"declined with code {code}")
        self.code = code


async def test_the_client_raises_the_very_exception_with_temporals_failure_as_its_cause(
    client: Client, task_queue: str
) -> None:
    build = failing(lambda: Declined(code=7))
    async with serving(client, task_queue, build, default_activity_options=QUICKLY) as durable:
        run = await durable.start(1)
        with pytest.raises(Declined, match="declined with code 7") as raised:
            await run.result()

    assert raised.value.code == 7
    assert isinstance(raised.value.__cause__, WorkflowFailureError)


async def test_an_exception_that_the_client_cannot_make_is_temporals_own(client: Client, task_queue: str) -> None:
    class Local(Exception):
        """Known to nobody else."""

    build = failing(lambda: Local("out of reach"))
    async with serving(client, task_queue, build, default_activity_options=QUICKLY) as durable:
        run = await durable.start(1)
        with pytest.raises(WorkflowFailureError) as raised:
            await run.result()

    assert isinstance(raised.value.cause, ApplicationError)
    assert (raised.value.cause.type, raised.value.cause.message) == ("Local", "out of reach")


async def test_what_a_condition_raised_is_raised_too(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, _badly_routed("condition"), default_activity_options=QUICKLY) as durable:
        run = await durable.start(1)
        with pytest.raises(Broken, match="which way"):
            await run.result()


async def test_a_loop_without_end_raises_mafs_convergence_error(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, NESTED["does not converge"].build) as durable:
        run = await durable.start(1)
        with pytest.raises(WorkflowConvergenceException, match="did not converge after 4 iterations"):
            await run.result()
