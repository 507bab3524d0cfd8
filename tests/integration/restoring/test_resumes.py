"""A resume: a run that did not end well goes on from its last checkpoint, under its workflow id."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage, BlobStore, ResumeRefused, RunNotFound, idempotency_key
from tests.support.graphs import Ask, Report, ask_once, chain
from tests.support.running import failure_of, pending, serving, until
from workers.dev_server import dev_server


class Log(Executor):
    """Writes down that it ran, and under which key, in a file."""

    def __init__(self, id: str, path: Path) -> None:
        super().__init__(id=id)
        self.path = str(path)

    @handler
    async def handle(self, value: int, ctx: WorkflowContext[int, int]) -> None:
        if self._write_down(idempotency_key()) and self.id == "second":
            raise ConnectionError("the bank is closed")
        ctx.set_state(self.id, value)
        await (ctx.yield_output(value) if self.id == "third" else ctx.send_message(value + 1))

    def _write_down(self, key: str | None) -> bool:
        """Write a line; return whether the bank is closed."""
        with Path(self.path).open("a") as file:
            file.write(f"{self.id} {key}\n")
        return Path(f"{self.path}.broken").exists()


def ran(log: Path) -> list[str]:
    """Return the executors that ran, in order."""
    return [line.split()[0] for line in log.read_text().splitlines()]


def keys(log: Path) -> list[str]:
    """Return the idempotency keys they had."""
    return [line.split()[1] for line in log.read_text().splitlines()]


def open_bank(broken: Path) -> None:
    """Let the second executor succeed from now on."""
    broken.unlink()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file that executors write to; while it has a sibling `.broken`, the second fails."""
    return tmp_path / "log"


@pytest.fixture
def broken(log: Path) -> Path:
    (mark := Path(f"{log}.broken")).touch()
    return mark


def logging_chain(log: Path) -> Callable[[], Workflow]:
    def build() -> Workflow:
        first, second, third = (Log(name, log) for name in ("first", "second", "third"))
        builder = WorkflowBuilder(name="logging-chain", start_executor=first)
        return builder.add_edge(first, second).add_edge(second, third).build()

    return build


ONCE = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))


async def test_a_failed_run_goes_on_where_it_failed(client: Client, task_queue: str, log: Path, broken: Path) -> None:
    store, build = BlobStore("memory://"), logging_chain(log)
    async with serving(client, task_queue, build, store=store, default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=f"{task_queue}-failed")
        assert (await failure_of(run)).type == "ConnectionError"
        failed_lineage = await run.checkpoints()
        open_bank(broken)

        resumed = await durable.resume(run.id)

        assert (await resumed.result()).get_outputs() == [3]
        assert ran(log) == ["first", "second", "second", "third"]  # finished work is not run again
        assert keys(log)[1] == keys(log)[2]  # the bank can tell that it is the same payment
        lineage = await resumed.checkpoints()
        assert lineage[0].checkpoint_id == failed_lineage[-1].checkpoint_id

    storage = BlobCheckpointStorage(store, workflow=build(), workflow_id=run.id)
    stored = await storage.list_checkpoints(workflow_name="logging-chain")
    assert [one.iteration_count for one in stored] == [0, 1, 2, 3]
    for before, after in pairwise(stored):
        assert after.previous_checkpoint_id == before.checkpoint_id


async def test_a_run_resumes_again_and_again(client: Client, task_queue: str, log: Path, broken: Path) -> None:
    async with serving(client, task_queue, logging_chain(log), default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=f"{task_queue}-failed")
        await failure_of(run)
        await failure_of(await durable.resume(run.id))
        open_bank(broken)

        assert (await (await durable.resume(run.id)).result()).get_outputs() == [3]

        assert ran(log).count("first") == 1


async def test_a_terminated_run_resumes_with_its_requests(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=f"{task_queue}-terminated")
        [request] = await pending(run)
        await run.handle.terminate("by mistake")

        resumed = await durable.resume(run.id)

        assert [one.request_id for one in await pending(resumed)] == [request.request_id]
        await resumed.respond(request.request_id, True)
        assert (await resumed.result()).get_outputs() == [("last", "ask: 1? True")]


async def test_a_cancelled_run_resumes(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=f"{task_queue}-cancelled")
        [request] = await pending(run)
        await run.handle.cancel()

        async def closed() -> bool:
            return (await run.handle.describe()).close_time is not None

        await until(closed)
        resumed = await durable.resume(run.id)
        await resumed.respond(request.request_id, False)

        assert (await resumed.result()).get_outputs() == [("last", "ask: 1? False")]


async def test_the_options_of_the_run_are_kept(client: Client, task_queue: str, log: Path, broken: Path) -> None:
    async with serving(client, task_queue, logging_chain(log), default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=f"{task_queue}-waits", on_failure="wait", stream=True)

        async def waits() -> bool:
            return bool((await run.status()).failed_executors)

        await until(waits)
        await run.handle.terminate("by mistake")

        resumed = await durable.resume(run.id)

        async def waits_again() -> bool:
            return bool((await resumed.status()).failed_executors)

        await until(waits_again)
        open_bank(broken)
        await resumed.retry()
        assert (await resumed.result()).get_outputs() == [3]


async def test_an_open_or_completed_run_is_not_resumed(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=f"{task_queue}-open")
        [request] = await pending(run)
        with pytest.raises(ResumeRefused, match=r"is open, and goes on by itself.*`replay` and `fork`"):
            await durable.resume(run.id)
        await run.respond(request.request_id, True)
        await run.result()
        with pytest.raises(ResumeRefused, match="is completed, so that nothing is left to do"):
            await durable.resume(run.id)
        with pytest.raises(RunNotFound):
            await durable.resume("never-was")


async def test_of_two_resumes_at_once_one_goes_on(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=f"{task_queue}-twice")
        await pending(run)
        head = (await run.status()).checkpoint_id
        await run.handle.terminate("by mistake")

        await durable.resume(run.id, checkpoint_id=head)
        with pytest.raises((WorkflowAlreadyStartedError, ResumeRefused)):
            await durable.resume(run.id, checkpoint_id=head)


async def test_a_run_that_never_had_a_checkpoint_is_to_be_started_again(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain) as durable:
        run = await durable.start("not a number", id=f"{task_queue}-refused")
        assert (await failure_of(run)).type == "InputNotHandled"
        with pytest.raises(ResumeRefused, match="ended before its first checkpoint"):
            await durable.resume(run.id)


async def test_a_resume_stays_with_its_workflow_id(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        other = await durable.start(1, id=f"{task_queue}-other")
        await pending(other)
        run = await durable.start(1, id=f"{task_queue}-run")
        await pending(run)
        await run.handle.terminate("by mistake")

        failure = await failure_of(await durable.resume(run.id, checkpoint_id=(await other.status()).checkpoint_id))

    assert failure.type == "RestoreRefused"
    assert f"is of the workflow id '{other.id}'" in failure.message


async def test_a_session_that_temporal_has_no_more_is_a_session_again(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, ask_once, store=store) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(1)).get_request_info_events()
        head = (await session.durable_run.status()).checkpoint_id

    async with dev_server() as empty:
        elsewhere = await Client.connect(empty.address)
        async with serving(elsewhere, task_queue, ask_once, store=store) as durable:
            await durable.resume(session.id, checkpoint_id=head)

            again = durable.session(session.id)
            answered = await again.run(responses={request.request_id: True})
            assert answered.get_outputs() == [("last", "ask: 1? True")]
            assert (await again.run(2)).get_request_info_events()


async def test_a_resume_that_was_refused_can_be_made_again(client: Client, task_queue: str) -> None:
    def changed() -> Workflow:
        ask, last, further = Ask(id="ask"), Report("last"), Report("further")
        return WorkflowBuilder(name="ask-once", start_executor=ask).add_edge(ask, last).add_edge(ask, further).build()

    store = BlobStore("memory://")
    async with serving(client, task_queue, ask_once, store=store) as durable:
        run = await durable.start(1, id=f"{task_queue}-run")
        [request] = await pending(run)
        await run.handle.terminate("by mistake")
    async with serving(client, task_queue, changed, store=store) as durable:
        assert (await failure_of(await durable.resume(run.id))).type == "RestoreRefused"

    async with serving(client, task_queue, ask_once, store=store) as durable:
        resumed = await durable.resume(run.id)
        await resumed.respond(request.request_id, True)
        assert (await resumed.result()).get_outputs() == [("last", "ask: 1? True")]


async def test_of_the_superstep_that_failed_all_executors_run_again(
    client: Client, task_queue: str, log: Path, broken: Path
) -> None:
    def build() -> Workflow:
        start, sibling, failing = (Log(name, log) for name in ("first", "third", "second"))
        builder = WorkflowBuilder(name="logging-fan-out", start_executor=start)
        return builder.add_fan_out_edges(start, [sibling, failing]).build()

    async with serving(client, task_queue, build, default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=f"{task_queue}-failed")
        await failure_of(run)
        open_bank(broken)
        await (await durable.resume(run.id)).result()

    assert sorted(ran(log)) == ["first", "second", "second", "third", "third"]
    assert len(set(keys(log))) == 3  # services can tell the repetitions by their keys
