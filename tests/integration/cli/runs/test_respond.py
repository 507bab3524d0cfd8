"""`temporal-adapter respond`: a response, and whether it is accepted."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import Client

from temporal_adapter import BlobStore, Deadline, DurableRun
from tests.support import commands
from tests.support.graphs import ask_once, ask_twice
from tests.support.renaming import after, before
from tests.support.running import pending, serving, until

from .conftest import Desk, Serve


@pytest.fixture
async def run(serve: Serve, task_queue: str) -> AsyncIterator[DurableRun]:
    """A run with two pending requests."""
    async with serve(ask_twice) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run, 2)
        yield run


async def test_an_accepted_response_is_told_with_its_checkpoint_and_kept_with_who_gave_it(
    desk: Desk, run: DurableRun
) -> None:
    left, right = [request.request_id for request in await run.open_requests()]
    shown = await desk.type("respond", run.id, left, "true", "--responder", "Ada", "--comment", "fine")
    document = await desk.json("respond", run.id, right, "false")

    checkpoints = {one.checkpoint_id for one in await run.checkpoints() if one.kind == "response"}
    first, second = await run.responses()
    assert shown.out == f"accepted: {left} in checkpoint {first.checkpoint_id}\n"
    assert document == {
        "workflow_id": run.id,
        "request_id": right,
        "accepted": True,
        "checkpoint_id": second.checkpoint_id,
        "reason": None,
    }
    assert {first.checkpoint_id, second.checkpoint_id} == checkpoints
    assert (first.responder, first.comment, first.response) == ("Ada", "fine", True)
    assert second.responder is not None  # whoever runs the tests
    assert len((await run.result()).get_outputs()) == 1


async def test_a_refused_response_is_a_finding_with_the_reason(desk: Desk, run: DurableRun) -> None:
    [left, _] = await run.open_requests()

    shown = await desk.type("respond", run.id, left.request_id, '"perhaps"')
    document = await desk.json("respond", run.id, left.request_id, "--text", "true", code=1)

    assert (shown.code, shown.out) == (1, "")
    assert shown.err.startswith(f"Error: the response to run {run.id!r} was refused: ")
    assert "must be bool" in shown.err
    assert shown.err.count("\n") == 1
    assert (document["accepted"], document["checkpoint_id"]) == (False, None)
    assert "must be bool" in document["reason"]
    assert len(await run.open_requests()) == 2


async def test_the_request_must_be_named_only_where_several_wait(desk: Desk, run: DurableRun) -> None:
    left, right = [request.request_id for request in await run.open_requests()]

    which = await desk.type("respond", run.id, "true")
    await desk.type("respond", run.id, left, "true")
    only = await desk.json("respond", run.id, "true")

    assert which.code == 2
    assert left in which.err
    assert right in which.err
    assert only["request_id"] == right


async def test_the_same_response_twice_counts_once_and_another_is_refused(desk: Desk, run: DurableRun) -> None:
    [left, _] = await run.open_requests()
    answers = [await desk.type("respond", run.id, left.request_id, one) for one in ("true", "true", "false")]

    assert [one.code for one in answers] == [0, 0, 1]
    assert answers[0].out == answers[1].out
    assert "already answered, with a different response" in answers[2].err


async def test_what_cannot_be_answered_is_told(desk: Desk, run: DurableRun, task_queue: str) -> None:
    unknown = await desk.type("respond", f"{task_queue}-none", "true")
    no_request = await desk.type("respond", run.id, "no-such-request", "true")
    no_json = await desk.type("respond", run.id, "yes")
    too_much = await desk.type("respond", run.id, "a", "b", "c")
    await run.handle.terminate()
    over = await desk.json("respond", run.id, "true", code=1)

    assert [one.code for one in (unknown, no_request, no_json, too_much)] == [4, 1, 2, 2]
    assert "no-such-request" in no_request.err
    assert "'yes' is not JSON" in no_json.err
    assert over["reason"] == "the run is over: TERMINATED."


async def test_a_response_can_be_left_while_no_worker_is_up(desk: Desk, client: Client, task_queue: str) -> None:
    # Given a run whose workers are another's, so that the server knows of none here
    async with serving(client, f"{task_queue}-elsewhere", ask_once) as durable:
        elsewhere = await durable.start(1, id=task_queue)
        [request] = await pending(elsewhere)
        sent = await desk.json("respond", task_queue, request.request_id, "true", "--no-wait")
        result = await elsewhere.result()
    nobody = await client.start_workflow("ask-once", 1, id=f"{task_queue}-waits", task_queue=task_queue)

    refused = await desk.type("respond", nobody.id, "some-request", "true")
    left = await desk.type("respond", nobody.id, "some-request", "true", "--no-wait")
    await nobody.terminate()

    assert (sent["accepted"], sent["request_id"]) == (None, request.request_id)
    assert result.get_outputs() == [("last", "ask: 1? True")]
    assert refused.code == 3
    assert "With --no-wait, the response is left with Temporal" in refused.err
    assert (left.code, left.out) == (0, "sent: some-request; whether it is accepted, `watch` shows\n")


# --- responses that are not accepted soon --------------------------------------------------------------------


async def test_a_response_that_waits_says_why_and_is_left_with_temporal_by_an_interrupt(
    desk: Desk, serve: Serve, task_queue: str
) -> None:
    # Given a run whose workers have another graph
    store = BlobStore("memory://")
    async with serve(before, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
    command = ["-m", "temporal_adapter.cli", "respond", task_queue, "true"]
    async with serve(after, store=store):
        with commands.started(*command, env=commands.environment(**desk.env)) as process:
            # When somebody answers it, and stops waiting once it is told what for
            told = await asyncio.to_thread(_lines_until, process, "Ctrl-C is safe")
            process.send_signal(signal.SIGINT)
            ended = await asyncio.to_thread(commands.ended, process)
    # Then it was told what differs, and the response is taken by workers with the run's graph
    async with serve(before, store=store):

        async def is_taken() -> bool:
            return request.request_id not in {one.request_id for one in await run.pending_requests()}

        await until(is_taken)

    assert told[0].startswith("Waiting for the run to take the response")
    assert "executors removed: 'start', 'left', 'right'" in told[1]
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "Stopped waiting. The response is left with Temporal, and will be taken.\n"


async def test_an_interrupt_promises_nothing_of_a_response_that_no_worker_has_seen(
    desk: Desk, serve: Serve, task_queue: str
) -> None:
    async with serve(ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
    # The server knows of the worker a while longer
    command = ["-m", "temporal_adapter.cli", "respond", run.id, request.request_id, "true"]
    with commands.started(*command, env=commands.environment(**desk.env)) as process:
        await asyncio.to_thread(_lines_until, process, "Waiting for the run")
        process.send_signal(signal.SIGINT)
        ended = await asyncio.to_thread(commands.ended, process)
    await run.handle.terminate()

    assert ended.code == 130
    assert ended.err.startswith("Stopped waiting. Whether the response was taken, ")
    assert ended.err.count("\n") == 1


def _lines_until(process: subprocess.Popen[str], text: str) -> list[str]:
    """Return the lines on the error output up to the one with a text."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"no line with {text!r} in {lines}")


# --- runs that are over -------------------------------------------------------------------------------------


async def test_a_run_that_is_over_answers_as_before_whether_a_response_is_the_one_it_had(
    desk: Desk, serve: Serve, task_queue: str
) -> None:
    async with serve(ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        first = await desk.type("respond", task_queue, request.request_id, "true", "--responder", "Ada")
        await run.result()
        same = await desk.type("respond", task_queue, request.request_id, "true")
        other = await desk.json("respond", task_queue, request.request_id, "false", code=1)
        unasked = await desk.json("respond", task_queue, "no-such-request", "true", code=1)
        left = await desk.json("respond", task_queue, request.request_id, "true", "--no-wait", code=1)

    assert first.code == 0
    assert (same.code, same.out, same.err) == (0, first.out, "")
    assert "already answered, with a different response, by Ada at " in other["reason"]
    assert unasked["reason"] == left["reason"] == "the run is over: COMPLETED."


async def test_a_run_that_is_over_and_has_no_worker_is_only_said_to_be_over(
    desk: Desk, client: Client, task_queue: str
) -> None:
    handle = await client.start_workflow("ask-once", 1, id=task_queue, task_queue=task_queue)
    await handle.terminate()

    document = await desk.json("respond", task_queue, "some-request", "true", code=1)

    assert document["reason"].startswith("the run is over: TERMINATED. Only a worker could tell")


async def test_a_run_that_a_deadline_ended_says_that_it_was_the_deadline(
    desk: Desk, serve: Serve, task_queue: str
) -> None:
    deadline = Deadline(expire_after=timedelta(seconds=1), on_expiry="default", default=True)
    async with serve(ask_once, deadlines=[deadline]) as durable:
        run = await durable.start(1, id=task_queue)
        await run.result()
        [record] = [one for one in await run.responses() if one.outcome == "accepted"]
        same = await desk.type("respond", task_queue, record.request_id, "true")
        other = await desk.json("respond", task_queue, record.request_id, "false", code=1)

    assert same.code == 0
    assert "already answered, with a different response, by its deadline at " in other["reason"]
