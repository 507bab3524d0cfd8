"""Sessions, resumes, replays and forks under hostile conditions: races, killed workers, lost stores, senseless options.

The history of every run is replayed at the end, wherever it stands.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowRunState,
    executor,
    handler,
)
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowUpdateFailedError
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError
from temporalio.worker import Replayer

from temporal_adapter import (
    BlobCheckpointStorage,
    BlobStore,
    DurableRun,
    DurableSession,
    DurableWorkflow,
    InputRefused,
    ResponseRefused,
    RunNotFound,
    SessionRefused,
    workflow_type,
)
from tests.support import nested
from tests.support.commands import environment, line_with, started
from tests.support.faulty import FaultyStore
from tests.support.graphs import ask_once, ask_twice
from tests.support.killable import BRISK, HELD, account
from tests.support.recovering import reporting_at_length
from tests.support.running import by_executor, failure_of, pending, serving, until

from .test_sessions import ONCE, ledger


async def replays(*runs: DurableRun) -> None:
    """Assert that the histories of runs replay."""
    for run in runs:
        history = await run.handle.fetch_history()
        name = history.events[0].workflow_execution_started_event_attributes.workflow_type.name
        await Replayer(workflows=[workflow_type(name)]).replay_workflow(history)


async def mirrored(run: DurableRun) -> None:
    async def all_there() -> bool:
        return not (await run.status()).unmirrored_checkpoints

    await until(all_there)


async def closed(run: DurableRun) -> WorkflowExecutionStatus:
    """Await the end of a run, however it ends; return how."""

    async def status() -> Any:
        found = (await run.handle.describe()).status
        return None if found is WorkflowExecutionStatus.RUNNING else found

    return await until(status)


async def until_prints(process: Any, text: str) -> None:
    """Await a line of a process."""
    line = asyncio.ensure_future(asyncio.to_thread(line_with, process, text))
    await asyncio.wait({line}, timeout=60)
    if not line.done():
        process.kill()  # which ends the thread, and with it the test
    await line


# --- turns that are none ------------------------------------------------------------------------------------


async def test_a_session_that_refused_its_first_input_can_be_used_reset_and_closed(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, ledger) as durable:
        sessions = [durable.session(f"{task_queue}-{place}") for place in range(3)]
        for session in sessions:
            with pytest.raises(InputRefused):
                await session.run("no number")

        assert (await sessions[0].run(1)).get_outputs() == [(1, [1])]
        await sessions[1].reset()
        assert (await sessions[1].run(2)).get_outputs() == [(2, [2])]
        for session in sessions:
            await session.close()
            assert await closed(session.durable_run) is WorkflowExecutionStatus.COMPLETED
        await replays(*(session.durable_run for session in sessions))


async def test_an_answer_that_was_given_before_is_refused_and_not_waited_for(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(500)).get_request_info_events()
        await session.run(responses={request.request_id: True})

        with pytest.raises(ResponseRefused, match="already answered"):
            await asyncio.wait_for(session.run(responses={request.request_id: True}), 20)
        with pytest.raises(SessionRefused, match="no responses"):
            await asyncio.wait_for(session.run(responses={}), 20)

        assert (await session.run(1)).get_outputs() == [(501, [500, 1])]
        await replays(session.durable_run)


async def test_of_responses_in_one_call_all_are_taken_or_none(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        session = durable.session(f"{task_queue}-session")
        left, right = by_executor((await session.run(1)).get_request_info_events())
        with pytest.raises(ResponseRefused, match=r"must be bool"):
            await session.run(responses={left.request_id: True, right.request_id: "perhaps"})
        assert len(await session.durable_run.pending_requests()) == 2

        both = await session.run(responses={left.request_id: True, right.request_id: False})

        assert both.get_outputs() == [("join", ["left: 2? True", "right: 2? False"])]
        await mirrored(session.durable_run)
        await replays(session.durable_run)


async def test_kwargs_do_not_come_with_a_checkpoint(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(500)).get_request_info_events()
        head = (await session.durable_run.status()).checkpoint_id
        with pytest.raises(SessionRefused, match="come with a message or responses"):
            await session.run(checkpoint_id=head, function_invocation_kwargs={"a": 1})
        assert (await session.run(responses={request.request_id: True})).get_outputs() == [(500, [500])]


async def test_kwargs_that_are_refused_leave_the_request_as_it_was(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(500)).get_request_info_events()
        yes: dict[str, Any] = {request.request_id: True}
        no_mapping: Any = "no mapping"
        with pytest.raises(InputRefused, match="must be a mapping"):
            await session.run(responses=yes, client_kwargs=no_mapping)
        assert (await session.run(responses=yes)).get_outputs() == [(500, [500])]


# --- races --------------------------------------------------------------------------------------------------


async def test_callers_that_race_have_their_turn_whole_or_are_refused(client: Client, task_queue: str) -> None:
    """Nobody waits for ever, whatever comes at the same time as a response."""
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        for _ in range(6):
            [request] = (await session.run(500)).get_request_info_events()

            def other() -> DurableSession:
                return durable.session(session.id)

            given = {request.request_id: True}
            racing = [
                other().run(1),
                other().run(responses=given),
                session.durable_run.respond(request.request_id, True),
                other().run(2),
                other().run(responses=given),
                other().reset(),
            ]
            outcomes = await asyncio.wait_for(asyncio.gather(*racing, return_exceptions=True), 60)
            for outcome in outcomes:
                assert not isinstance(outcome, Exception) or isinstance(outcome, (SessionRefused, ResponseRefused))

            async def at_rest() -> bool:
                return (await session.durable_run.status()).state.value.startswith("IDLE")

            await until(at_rest)
            await other().reset()
        await replays(session.durable_run)


async def test_closing_and_cancelling_race_with_everything(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        for place in range(4):
            session = durable.session(f"{task_queue}-{place}")
            [request] = (await session.run(500)).get_request_info_events()
            ends = session.close() if place % 2 else session.durable_run.handle.cancel()
            racing = [
                durable.session(session.id).run(responses={request.request_id: True}),
                ends,
                durable.session(session.id).reset(),
                session.durable_run.respond(request.request_id, False),
            ]
            outcomes = await asyncio.wait_for(asyncio.gather(*racing, return_exceptions=True), 60)
            for outcome in outcomes:
                refused = (SessionRefused, ResponseRefused, RunNotFound)
                assert not isinstance(outcome, Exception) or isinstance(outcome, refused), repr(outcome)
            if (await session.durable_run.handle.describe()).status is WorkflowExecutionStatus.RUNNING:
                await session.durable_run.handle.cancel()
            await closed(session.durable_run)
            await replays(session.durable_run)


async def test_an_update_that_is_sent_twice_is_one_turn(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        handle = session.durable_run.handle
        turns = await asyncio.gather(*(handle.execute_update("run", {"message": 2}, id="the-same") for _ in range(3)))
        turns.append(await handle.execute_update("run", {"message": 2}, id="the-same"))
        assert [turn == turns[0] for turn in turns] == [True] * 4
        assert (await session.run(3)).get_outputs() == [(6, [1, 2, 3])]


async def test_the_last_checkpoint_of_a_turn_can_be_gone_back_to_at_once(client: Client, task_queue: str) -> None:
    """Of a superstep with two deliveries, the store has the checkpoint only after the turn."""

    def build() -> Workflow:
        start, left, right = (_passing(name) for name in ("start", "left", "right"))
        return WorkflowBuilder(name="wide", start_executor=start).add_fan_out_edges(start, [left, right]).build()

    async with serving(client, task_queue, build) as durable:
        session = durable.session(f"{task_queue}-session")
        for value in range(5):
            await session.run(value)
            head = (await session.durable_run.status()).checkpoint_id
            assert (await session.run(checkpoint_id=head)).get_final_state() is WorkflowRunState.IDLE
        await replays(session.durable_run)


def _passing(id: str) -> Executor:
    @executor(id=id)
    async def passes(value: int, ctx: WorkflowContext[int, int]) -> None:
        ctx.set_state(id, value)
        await (ctx.send_message(value) if id == "start" else ctx.yield_output(value))

    return passes


# --- workers ------------------------------------------------------------------------------------------------


async def test_every_operation_works_without_a_workflow_cache(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger, max_cached_workflows=0, default_activity_options=ONCE) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(500)).get_request_info_events()
        pause = (await session.durable_run.status()).checkpoint_id
        assert pause is not None
        with pytest.raises(ResponseRefused):
            await session.run(responses={request.request_id: "perhaps"})
        assert (await session.run(responses={request.request_id: True})).get_outputs() == [(500, [500])]
        with pytest.raises(ValueError, match="less than nothing"):
            await session.run(-1)
        assert (await session.run(checkpoint_id=pause, responses={request.request_id: False})).get_outputs() == [
            (0, [0])
        ]
        await session.reset()
        assert (await session.run(1)).get_outputs() == [(1, [1])]
        with pytest.raises(InputRefused):
            await session.run("no number")

        replay, fork = await durable.replay(pause), await durable.fork(pause, responses={request.request_id: True})
        assert (await fork.result()).get_outputs() == [(500, [500])]
        assert (await replay.result()).get_outputs() == [(0, [0])]  # as the youngest that followed on it
        await session.durable_run.handle.terminate("by mistake")
        resumed = await durable.resume(session.id)
        again = durable.session(session.id)
        assert (await again.run(2)).get_outputs() == [(3, [1, 2])]
        await again.close()
        assert await closed(resumed) is WorkflowExecutionStatus.COMPLETED
        await replays(session.durable_run, resumed, replay, fork)


@pytest.mark.parametrize("held", ["executor", "reads", "writes"])
async def test_a_worker_is_killed_in_a_turn_a_restore_and_a_reset(
    client: Client, task_queue: str, tmp_path: Path, held: str
) -> None:
    build, store = account(tmp_path), BlobStore(str(tmp_path / "store"))
    arguments = [client.service_client.config.target_host, client.namespace, task_queue, str(tmp_path)]
    durable = DurableWorkflow(client, "account", task_queue=task_queue, checkpoint_store=store)
    session = durable.session(f"{task_queue}-session")
    async with serving(client, task_queue, build, store=store, default_activity_options=BRISK):
        assert (await session.run(1)).get_outputs() == [1]
        assert (await session.run(2)).get_outputs() == [3]
        first = (await session.durable_run.checkpoints())[1].checkpoint_id
        await mirrored(session.durable_run)

    with started("-m", "tests.support.killable", *arguments, env=environment()) as process:
        await until_prints(process, "ready")
        (tmp_path / f"hold-{held}").touch()
        operation: Any = {
            "executor": lambda: session.run(4),
            "reads": lambda: session.run(checkpoint_id=first),
            "writes": session.reset,
        }[held]
        under_way = asyncio.ensure_future(operation())
        await until_prints(process, f"{HELD}{held}")
        os.kill(process.pid, signal.SIGKILL)
    (tmp_path / f"hold-{held}").unlink()

    async with serving(client, task_queue, build, store=store, default_activity_options=BRISK):
        outcome = await asyncio.wait_for(under_way, 90)
        after = await session.run(10)
        if held == "executor":
            assert outcome.get_outputs() == [7]
        assert after.get_outputs() == [{"executor": 17, "reads": 11, "writes": 10}[held]]
        await mirrored(session.durable_run)
        await replays(session.durable_run)
        await session.close()
        assert await closed(session.durable_run) is WorkflowExecutionStatus.COMPLETED


# --- options in plain JSON ----------------------------------------------------------------------------------


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


_SENSELESS: dict[str, tuple[Any, str]] = {
    "no verb": ({"checkpoint_id": "c"}, "verb"),
    "no checkpoint": ({"verb": "replay"}, "checkpoint_id"),
    "unknown verb": ({"verb": "rewind", "checkpoint_id": "c"}, "rewind"),
    "no object": ("c", "restore"),
    "a number for an id": ({"verb": "replay", "checkpoint_id": 7}, "checkpoint_id"),
    "a list of responses": ({"verb": "fork", "checkpoint_id": "c", "responses": []}, "responses"),
    "a misspelt key": ({"verb": "fork", "checkpoint_id": "c", "respones": {}}, "respones"),
    "state nested deeply": ({"verb": "fork", "checkpoint_id": "c", "state": {"a": _deep(300)}}, "nested"),
    "responses nested deeply": ({"verb": "fork", "checkpoint_id": "c", "responses": {"a": _deep(300)}}, "nested"),
    "an empty id": ({"verb": "replay", "checkpoint_id": ""}, "no checkpoint ''"),
    "a path for an id": ({"verb": "replay", "checkpoint_id": "../../etc/passwd"}, "no checkpoint"),
    "a long id": ({"verb": "replay", "checkpoint_id": "x" * 100_000}, "no checkpoint"),
    "a NUL in an id": ({"verb": "replay", "checkpoint_id": "a\x00b"}, "no checkpoint"),
    "a lone surrogate in an id": ({"verb": "replay", "checkpoint_id": "a\udc00b"}, "checkpoint"),
    "state in a replay": ({"verb": "replay", "checkpoint_id": "c", "state": {"a": 1}}, "takes no state"),
    "responses in a replay": ({"verb": "replay", "checkpoint_id": "c", "responses": {"a": 1}}, "takes no responses"),
    "until in a fork": ({"verb": "fork", "checkpoint_id": "c", "until": "d"}, "takes no until"),
}


@pytest.mark.parametrize("name", _SENSELESS)
async def test_senseless_options_in_plain_json_fail_the_run_and_say_why(
    client: Client, task_queue: str, tmp_path: Path, name: str
) -> None:
    restore, told = _SENSELESS[name]
    store = BlobStore(str(tmp_path))
    async with serving(client, task_queue, ledger, store=store):
        handle = await client.start_workflow(
            "ledger", args=[None, {"restore": restore}], id=task_queue, task_queue=task_queue
        )
        error = await asyncio.wait_for(failure_of(handle), 60)

    assert told in error.message
    assert error.type in ("WireError", "CheckpointNotFound", "RestoreRefused")


async def test_a_message_beside_a_checkpoint_is_refused(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger):
        options = {"restore": {"verb": "replay", "checkpoint_id": "c"}}
        handle = await client.start_workflow("ledger", args=[1, options], id=task_queue, task_queue=task_queue)
        assert "takes no message" in (await failure_of(handle)).message


_MARKERS: list[Any] = [
    {"__pickled__": "gASVCgAAAAAAAACMBHRlc3SULg==", "__type__": "builtins:str"},
    {"__af_pickled__": True, "data": "gASVCgAAAAAAAACMBHRlc3SULg=="},
    {"$type": "os:system", "$value": "true"},
    {"type": "os:system", "args": ["true"]},
    {"@": "pickle", "v": "gASVCgAAAAAAAACMBHRlc3SULg=="},
]


async def test_state_that_looks_like_a_marker_stays_what_it_is_in_a_fork(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        run = await durable.start(500)
        [request] = await pending(run)
        head = (await run.status()).checkpoint_id
        restore = {
            "verb": "fork",
            "checkpoint_id": head,
            "responses": {request.request_id: True},
            "state": {"amounts": _MARKERS},
        }
        handle = await client.start_workflow(
            "ledger", args=[None, {"restore": restore}], id=f"{task_queue}-fork", task_queue=task_queue
        )
        await handle.result()
        fork = durable.get_run(handle.id)

        assert (await fork.result()).get_outputs() == [(500, [*_MARKERS, 500])]
        await replays(fork)


async def test_ten_megabytes_are_refused_before_anything_starts(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        restore = {"verb": "fork", "checkpoint_id": "c", "state": {"a": "x" * 10_000_000}}
        with pytest.raises(RPCError, match=r"(?i)limit|large|size"):
            await client.start_workflow(
                "ledger", args=[None, {"restore": restore}], id=task_queue, task_queue=task_queue
            )
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        with pytest.raises(Exception, match=r"(?i)limit|large|size"):
            await session.durable_run.handle.execute_update("run", {"message": "x" * 10_000_000})
        assert (await session.run(1)).get_outputs() == [(2, [1, 1])]


@pytest.mark.parametrize(
    "given",
    [None, 7, [], {}, {"mesage": 1}, {"message": 1, "responses": {}}, {"responses": []}, {"message": _deep(300)}],
    ids=lambda given: repr(given)[:30],
)
async def test_a_senseless_input_of_a_session_is_refused_and_leaves_no_trace(
    client: Client, task_queue: str, given: Any
) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        with pytest.raises(WorkflowUpdateFailedError):
            await session.durable_run.handle.execute_update("run", given)
        assert (await session.run(1)).get_outputs() == [(2, [1, 1])]


# --- verbs upon verbs ---------------------------------------------------------------------------------------


async def test_a_fork_of_a_fork_of_a_replay(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, ask_twice, store=store) as durable:
        run = await durable.start(1)
        for request in await pending(run, 2):
            await run.respond(request.request_id, True)
        await run.result()
        replay = await durable.replay((await run.checkpoints())[0].checkpoint_id)
        left, right = by_executor(one for one in await replay.result() if one.type == "request_info")
        pause = next(one for one in await replay.checkpoints() if one.iteration == 2).checkpoint_id

        fork = await durable.fork(pause, responses={left.request_id: False}, reason="one")
        await pending(fork)
        waiting = next(one for one in await fork.checkpoints() if one.kind == "fork").checkpoint_id
        again = await durable.fork(waiting, responses={right.request_id: False, left.request_id: True}, reason="two")

        assert (await again.result()).get_outputs() == [("join", ["left: 2? True", "right: 2? False"])]
        lineage = await again.checkpoints()
        assert lineage[1].previous_checkpoint_id == waiting
        stored = await BlobCheckpointStorage(store, workflow=ask_twice()).load(lineage[1].checkpoint_id)
        assert stored.metadata["forked_from"] == waiting
        await fork.handle.terminate()
        await replays(run, replay, fork, again)


def failing_within(path: Path) -> Callable[[], Workflow]:
    """A sub-workflow whose second executor fails while there is a file."""

    def is_broken() -> bool:
        return path.exists()

    def build() -> Workflow:
        @executor(id="may-fail")
        async def may_fail(value: int, ctx: WorkflowContext[int, int]) -> None:
            if is_broken():
                raise ConnectionError("the bank is closed")
            await ctx.yield_output(value)

        tally = nested.Tally("tally")
        inner = WorkflowBuilder(name="failing-within-child", start_executor=tally).add_edge(tally, may_fail).build()
        start, last = nested.Add("start"), nested.Say("last")
        wraps = WorkflowExecutor(inner, id="wraps")
        return WorkflowBuilder(name="failing-within", start_executor=start).add_chain([start, wraps, last]).build()

    return build


async def test_a_run_that_failed_in_a_sub_workflow_resumes(client: Client, task_queue: str, tmp_path: Path) -> None:
    (broken := tmp_path / "broken").touch()
    build = failing_within(broken)
    async with serving(client, task_queue, build, default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=f"{task_queue}-failed")
        assert (await failure_of(run)).type == "ConnectionError"
        failed = durable.get_run(run.id)
        await replays(failed)
        broken.unlink()
        resumed = await durable.resume(run.id)
        well = await durable.start(1)

        assert (await resumed.result()).get_outputs() == (await well.result()).get_outputs()
        await replays(resumed)


async def test_a_resume_whose_head_is_lost_names_it_and_says_rebuild(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, ask_once, store=store) as durable:
        run = await durable.start(1, id=f"{task_queue}-lost")
        await pending(run)
        head = (await run.status()).checkpoint_id
        await run.handle.terminate("by mistake")
        for name in await store.list(""):
            if str(head) in name:
                await store.delete(name)

        failure = await failure_of(await durable.resume(run.id))

        assert failure.type == "CheckpointNotFound"
        assert str(head) in failure.message
        assert "rebuild" in failure.message


async def test_a_replay_that_lacks_a_large_value_names_it(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    build = reporting_at_length(20_000)
    async with serving(client, task_queue, build, store=store, default_activity_options=ONCE) as durable:
        run = await durable.start(1)
        await pending(run)
        second = (await run.checkpoints())[1].checkpoint_id
        lost = await store.list("default/values")
        assert lost
        for name in lost:
            await store.delete(name)

    async with serving(client, task_queue, build, store=store, default_activity_options=ONCE) as durable:
        failure = await asyncio.wait_for(failure_of(await durable.replay(second)), 60)

    assert failure.type == "RestoreRefused"
    assert second in failure.message
    assert any(name in failure.message for name in lost), failure.message


# --- sessions and plain runs --------------------------------------------------------------------------------


async def test_a_sessions_id_is_taken_for_plain_runs(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(500)).get_request_info_events()
        with pytest.raises(WorkflowAlreadyStartedError):
            await durable.start(1, id=session.id)

        await durable.get_run(session.id).respond(request.request_id, True)

        async def idle() -> bool:
            return (await session.durable_run.status()).state is WorkflowRunState.IDLE

        await until(idle)
        assert (await session.run(1)).get_outputs() == [(501, [500, 1])]


async def test_an_idle_session_is_cancelled_and_its_id_opens_another(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        first = await session.durable_run.handle.describe()
        await session.durable_run.handle.cancel()
        assert await closed(session.durable_run) is WorkflowExecutionStatus.CANCELED
        assert (await session.durable_run.status()).state.value == "CANCELLED"

        assert (await session.run(1)).get_outputs() == [(1, [1])]
        await replays(session.durable_run)
        assert (await session.durable_run.handle.describe()).run_id != first.run_id


async def test_a_cancelled_session_resumes_with_its_state(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        await session.durable_run.handle.cancel()
        await closed(session.durable_run)

        await durable.resume(session.id)

        assert (await session.run(2)).get_outputs() == [(3, [1, 2])]
        await replays(session.durable_run)


class Fragile(Executor):
    """Fails while it is told to."""

    fails = True

    @handler
    async def handle(self, value: int, ctx: WorkflowContext[None, int]) -> None:
        if Fragile.fails:
            raise ConnectionError("the bank is closed")
        await ctx.yield_output(value)


def fragile() -> Workflow:
    return WorkflowBuilder(name="fragile", start_executor=Fragile(id="fragile")).build()


async def test_a_session_waits_for_an_operator_where_runs_do(client: Client, task_queue: str) -> None:
    Fragile.fails = True
    options: dict[str, Any] = {"default_activity_options": ONCE, "on_failure": "wait"}
    async with serving(client, task_queue, fragile, **options) as durable:
        session = durable.session(f"{task_queue}-session")
        turn = asyncio.ensure_future(session.run(1))

        async def waits() -> bool:
            try:
                return bool((await session.durable_run.status()).failed_executors)
            except RunNotFound:
                return False

        await until(waits)
        for refused in (session.reset(), session.close(), durable.session(session.id).run(2)):
            with pytest.raises(SessionRefused, match="is running"):
                await refused
        Fragile.fails = False
        assert await session.durable_run.retry() == ["fragile"]

        assert (await turn).get_outputs() == [1]
        await session.reset()
        assert (await session.run(2)).get_outputs() == [2]
        await replays(session.durable_run)


async def test_a_streaming_session_shows_events_of_all_turns(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        options = {"session": True, "stream": True}
        await client.start_workflow("ledger", args=[None, options], id=task_queue, task_queue=task_queue)
        session = durable.session(task_queue)
        assert (await session.run(1)).get_outputs() == [(1, [1])]
        await session.reset()
        assert (await session.run(2)).get_outputs() == [(2, [2])]
        await replays(session.durable_run)
        await session.close()
        shown = [event.data async for event in session.durable_run.stream() if event.type == "output"]
        assert shown == [(1, [1]), (2, [2])]
        await replays(session.durable_run)


# --- the store ----------------------------------------------------------------------------------------------


async def test_a_session_goes_on_while_the_store_is_away_and_catches_up(client: Client, task_queue: str) -> None:
    store = FaultyStore()
    async with serving(client, task_queue, ledger, store=store) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        pause = (await session.durable_run.status()).checkpoint_id
        store.away = True
        assert (await session.run(2)).get_outputs() == [(3, [1, 2])]
        await session.reset()
        assert (await session.run(5)).get_outputs() == [(5, [5])]
        restored = asyncio.ensure_future(session.run(checkpoint_id=pause))
        await asyncio.sleep(0)

        async def restores() -> bool:
            return (await session.durable_run.status()).state is WorkflowRunState.IN_PROGRESS

        await until(restores)
        store.away = False
        assert (await asyncio.wait_for(restored, 90)).get_final_state() is WorkflowRunState.IDLE
        assert (await session.run(7)).get_outputs() == [(8, [1, 7])]
        await mirrored(session.durable_run)

        lineage = await session.durable_run.checkpoints()
        storage = BlobCheckpointStorage(store, workflow=ledger(), workflow_id=session.id)
        for header in lineage:
            assert (await storage.load(header.checkpoint_id)).previous_checkpoint_id == header.previous_checkpoint_id
        store.away = True
        closing = asyncio.ensure_future(session.close())

        async def is_closing() -> bool:
            description = (await session.durable_run.handle.describe()).raw_description
            return any(one.activity_type.name == "ledger:commit" for one in description.pending_activities)

        await until(is_closing)
        store.away = False
        await asyncio.wait_for(closing, 60)
        assert await closed(session.durable_run) is WorkflowExecutionStatus.COMPLETED
        await replays(session.durable_run)
