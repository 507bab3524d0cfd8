"""Cancellations outlive workers, and of a cancellation and a response to one request exactly one counts."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowContext, executor
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobStore, CancelRefused, DurableRun, DurableWorkflow, ResponseRefused, pool
from temporal_adapter.testing.difference import difference_of
from temporal_adapter.testing.observed import Observed
from tests.support import nested, releasing
from tests.support.cancelling import cancel_all, cancel_of, follow, in_order, in_process
from tests.support.commands import environment, line_with, started
from tests.support.graphs import Report
from tests.support.killable import BRISK, HELD, account
from tests.support.replaying import assert_replays
from tests.support.running import failure_of, pending, serving, until
from tests.support.scripted import Script, asking_beside_work

ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))


async def test_a_worker_is_killed_while_its_executor_is_told(client: Client, task_queue: str, tmp_path: Path) -> None:
    build, store = account(tmp_path), BlobStore(str(tmp_path / "store"))
    durable = DurableWorkflow(client, "account", task_queue=task_queue, checkpoint_store=store)
    async with serving(client, task_queue, build, store=store, default_activity_options=BRISK):
        run = await durable.start(500)
        [request] = await pending(run)

    arguments = [client.service_client.config.target_host, client.namespace, task_queue, str(tmp_path)]
    with started("-m", "tests.support.killable", *arguments, env=environment()) as process:
        await asyncio.to_thread(line_with, process, "ready")
        (tmp_path / "hold-executor").touch()
        assert await run.cancel_pending_requests([request.request_id]) == [request.request_id]
        await asyncio.to_thread(line_with, process, f"{HELD}executor")
        os.kill(process.pid, signal.SIGKILL)
    (tmp_path / "hold-executor").unlink()

    async with serving(client, task_queue, build, store=store, default_activity_options=BRISK):
        assert (await run.result()).get_outputs() == [0]
        kinds = [(one.kind, one.iteration) for one in await run.checkpoints()]
        await assert_replays(run)
    assert kinds == [("entry", 0), ("superstep", 1), ("response", 1), ("superstep", 2)]


@pytest.mark.parametrize(
    ("factory", "moves"),
    [(releasing.two, (cancel_of("left"), cancel_all)), (releasing.three_levels, (cancel_all,))],
    ids=["plain", "two levels"],
)
async def test_each_cancellation_is_told_by_a_worker_that_has_nothing_in_memory(
    client: Client, task_queue: str, factory: Callable[[], Workflow], moves: Any
) -> None:
    expected = await in_process(factory, 1, in_order(*moves)())
    store, seen = BlobStore("memory://"), Observed()

    with patch.object(pool, "_IDLE_GRAPHS", 0):
        async with serving(client, task_queue, factory, store=store, max_cached_workflows=0) as durable:
            run = await durable.start(1)
            assert await follow(run, seen)
        for place, move in enumerate(moves, 1):
            async with serving(client, task_queue, factory, store=store, max_cached_workflows=0):
                await run.cancel_pending_requests(move(await pending(run)).request_ids)
                assert await follow(run, seen) is (place < len(moves))
        await assert_replays(run)

    expected.checkpoints, expected.pauses = [], []
    assert difference_of(expected, seen) is None


async def test_of_a_response_and_a_cancellation_at_once_one_counts(client: Client, task_queue: str) -> None:
    async def race(run: DurableRun, *, response_first: bool) -> str:
        await pending(run)
        responds, cancels = run.respond("ask-0", True), run.cancel_pending_requests(["ask-0"])
        both = [responds, cancels] if response_first else [cancels, responds]
        outcomes = await asyncio.gather(*both, return_exceptions=True)
        [refused] = [one for one in outcomes if isinstance(one, Exception)]
        assert isinstance(refused, (ResponseRefused, CancelRefused)), repr(refused)
        outputs = (await run.result()).get_outputs()
        responded, cancelled = ("last", "ask-0? True, after []"), ("last", "ask-0 was cancelled")
        assert [one for one in outputs if one in (responded, cancelled)] == [
            responded if isinstance(refused, CancelRefused) else cancelled
        ]
        return type(refused).__name__

    async with serving(client, task_queue, releasing.one) as durable:
        runs = [await durable.start(1) for _ in range(6)]
        await asyncio.gather(*(race(run, response_first=place % 2 == 0) for place, run in enumerate(runs)))
        await assert_replays(*runs)


async def test_a_cancellation_during_a_superstep_counts_at_once_and_is_told_at_its_end(
    client: Client, task_queue: str
) -> None:
    script = Script()
    script.hold("work")
    async with serving(client, task_queue, asking_beside_work(script)) as durable:
        run = await durable.start(7)

        async def asked() -> list[Any]:
            return await run.pending_requests()

        [request] = await until(asked)
        await script.entered("work")

        await run.cancel_pending_requests([request.request_id])
        assert await run.pending_requests() == []
        with pytest.raises(ResponseRefused, match="was cancelled"):
            await run.respond(request.request_id, True)
        script.release("work")

        result = await run.result()
        kinds = [(one.kind, one.iteration) for one in await run.checkpoints()]
    assert result.get_outputs() == [8]
    assert kinds[-3:] == [("superstep", 2), ("response", 2), ("superstep", 3)]
    await assert_replays(run)


async def test_an_executor_that_cannot_be_told_fails_the_run_and_a_resume_has_the_request_again(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(
        client, task_queue, releasing.fails_to_release, store=store, default_activity_options=ONCE
    ) as durable:
        run = await durable.start(1)
        await pending(run)
        await run.cancel_pending_requests(["ask-0"])

        failure = await failure_of(run)
        resumed = await durable.resume(run.id)
        assert [one.request_id for one in await pending(resumed)] == ["ask-0"]
        await resumed.respond("ask-0", True)
        assert ("last", "ask-0? True, after []") in (await resumed.result()).get_outputs()
        await assert_replays(run, resumed)
    assert (failure.type, failure.message) == ("ValueError", "cannot release ask-0")


async def test_an_operator_has_an_executor_told_again(client: Client, task_queue: str) -> None:
    script = Script()

    class Unsteady(releasing.Releases):
        async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[str, Any]) -> None:
            if await script.enter("told") == 1:
                raise ApplicationError("the desk is closed", non_retryable=True)
            await super()._cancel_pending_request(request_id, ctx)

    async with serving(client, task_queue, lambda: releasing.releasing(Unsteady("ask"))) as durable:
        run = await durable.start(1, on_failure="wait")
        await pending(run)
        await run.cancel_pending_requests(["ask-0"])

        async def failed() -> bool:
            return bool((await run.status()).failed_executors)

        await until(failed)
        assert await run.retry("ask") == ["ask"]
        assert ("last", "ask-0 was cancelled") in (await run.result()).get_outputs()
        await assert_replays(run)
    assert script.calls["told"] == 2


async def test_a_run_is_cancelled_while_an_executor_is_told(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("told")

    class Slow(releasing.Releases):
        async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[str, Any]) -> None:
            await script.enter("told")

    async with serving(client, task_queue, lambda: releasing.releasing(Slow("ask"))) as durable:
        run = await durable.start(1)
        await pending(run)
        await run.cancel_pending_requests(["ask-0"])
        await script.entered("told")

        await run.handle.cancel()

        async def closed() -> bool:
            return (await run.handle.describe()).status is WorkflowExecutionStatus.CANCELED

        await until(closed)
        script.release("told")
        assert [one.kind for one in await run.checkpoints()] == ["entry", "superstep", "superstep"]
        await assert_replays(run)


async def test_many_requests_are_cancelled_at_once(client: Client, task_queue: str) -> None:
    many = 300

    def build() -> Workflow:
        return releasing.releasing(releasing.AsksManyTimes("ask", many))

    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        await pending(run, many)

        cancelled = await run.cancel_pending_requests([f"ask-{number}" for number in range(many)])

        result = await run.result()
    assert len(cancelled) == many
    assert ("last", f"{many} released") in result.get_outputs()
    await assert_replays(run)


async def test_state_that_grows_large_is_in_the_checkpoint_of_the_cancellation(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="start")
        async def start(value: int, ctx: WorkflowContext[int]) -> None:
            ctx.set_state("ballast", "x" * 300_000)
            await ctx.send_message(value)

        ask = releasing.Releases("ask", 2)
        builder = WorkflowBuilder(name="with-ballast", start_executor=start)
        return builder.add_edge(start, ask).add_edge(ask, Report("last")).build()

    store = BlobStore("memory://")
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(1)
        await pending(run, 2)
        await run.cancel_pending_requests(["ask-0"])
        await pending(run, 1)
        await run.cancel_pending_requests(["ask-1"])
        await run.result()
        replay = await durable.replay((await run.checkpoints())[0].checkpoint_id)
        assert (await replay.result()).get_outputs() == (await run.result()).get_outputs()


@pytest.mark.parametrize(
    "factory", [releasing.two, releasing.nested_several, nested.two_at_once], ids=lambda it: it.__name__
)
async def test_a_replay_repeats_cancellations_and_responses_at_their_places(
    client: Client, task_queue: str, factory: Callable[[], Workflow]
) -> None:
    async with serving(client, task_queue, factory) as durable:
        run = await durable.start(1)
        first, second, *others = await pending(run, 2)
        await run.cancel_pending_requests([second.request_id])
        await pending(run, 1 + len(others))
        await run.respond(first.request_id, True)
        if others:
            await pending(run, len(others))
            await run.cancel_pending_requests([one.request_id for one in others])
        result, lineage = await run.result(), await run.checkpoints()

        async def assert_repeated(place: int) -> None:
            replay = await durable.replay(lineage[place].checkpoint_id)
            again = await replay.result()
            assert again.get_final_state() is result.get_final_state()
            rest = [(one.kind, one.iteration) for one in lineage[place:]]
            assert [(one.kind, one.iteration) for one in await replay.checkpoints()] == rest
            outputs = again.get_outputs()
            assert outputs == result.get_outputs()[len(result.get_outputs()) - len(outputs) :]
            await assert_replays(replay)

        await asyncio.gather(*map(assert_repeated, range(len(lineage))))
