"""The ways in: update, signal and client call; what is refused, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import InMemoryCheckpointStorage, WorkflowRunState
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from temporal_adapter import CancelRefused, DurableRun, ResponseRefused, RunNotFound
from temporal_adapter.wire.names import CANCEL_REFUSED
from tests.support import nested, releasing
from tests.support.cancelling import Cancel, cancellations, in_order, on_temporal
from tests.support.replaying import assert_replays
from tests.support.running import pending, serving, until


async def warnings(run: DurableRun) -> list[str]:
    events = await run.events_between(0, (await run.status()).events)
    return [str(event.data.inline) for event in events if event.type == "warning" and event.data is not None]


async def test_the_call_tells_what_is_cancelled_and_the_run_goes_on(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, releasing.several) as durable:
        run = await durable.start(1)
        first, second, third = await pending(run, 3)

        cancelled = await run.cancel_pending_requests([third.request_id, first.request_id])
        await pending(run, 1)
        await run.respond(second.request_id, True)

        result = await run.result()
    assert cancelled == [third.request_id, first.request_id]
    assert result.get_final_state() is WorkflowRunState.IDLE
    assert ("last", "ask-1? True, after ['ask-0', 'ask-2']") in result.get_outputs()
    await assert_replays(run)


async def test_the_update_is_plain_json(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, releasing.one) as durable:
        run = await durable.start(1)
        await pending(run)

        answer = await run.handle.execute_update("cancel_requests", {"request_ids": ["ask-0"], "responder": "Ada"})

        assert answer == {"cancelled": ["ask-0"]}
        await run.result()
    await assert_replays(run)


async def test_the_signal_does_the_same_and_its_refusal_shows_in_the_events(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, releasing.one) as durable:
        run = await durable.start(1)
        await pending(run)

        await run.handle.signal("cancel_requests", {"request_ids": ["ask-7"]})
        await run.handle.signal("cancel_requests", ["ask-0"])

        async def told() -> bool:
            return len(await warnings(run)) == 2

        await until(told)
        malformed, unknown = sorted(await warnings(run))
        assert malformed.startswith("A cancel_requests signal was refused: A cancellation is malformed: ['ask-0']")
        assert unknown.startswith("The cancellation of request 'ask-7' was refused: request 'ask-7' is unknown")
        assert len(await pending(run)) == 1

        await run.handle.signal("cancel_requests", {"request_ids": ["ask-0"], "comment": "not needed"})
        assert "ask released ['ask-0']" in (await run.result()).get_outputs()
    await assert_replays(run)


@pytest.mark.parametrize(
    ("malformed", "reason"),
    [
        (None, "A cancellation is malformed: None"),
        ([], "malformed"),
        ({}, "missing required field `request_ids`"),
        ({"request_ids": "ask-0"}, "Expected `array`"),
        ({"request_ids": []}, "names the requests to cancel"),
        ({"request_ids": [""]}, "names the requests to cancel"),
        ({"request_ids": [1]}, "Expected `str`"),
        ({"request_ids": ["ask-0"], "request_id": "ask-0"}, "unknown key 'request_id'"),
        ({"request_ids": ["x" * 1001]}, "request id has 1001 characters"),
        ({"request_ids": ["ask-0"], "comment": "x" * 10_001}, "comment has 10001 characters"),
        ({"request_ids": ["ask-0"], "responder": 1}, "Expected `str"),
        ({"request_ids": ["ask-0"] * 1001}, "at most 1000"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_malformed_cancellation_is_refused_before_it_costs_history(
    waiting: DurableRun, malformed: Any, reason: str
) -> None:
    before = (await waiting.handle.describe()).history_length

    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await waiting.handle.execute_update("cancel_requests", malformed)

    assert isinstance(refused.value.cause, ApplicationError)
    assert refused.value.cause.type == CANCEL_REFUSED
    assert reason in refused.value.cause.message
    assert (await waiting.handle.describe()).history_length == before


async def test_an_unknown_request_is_refused_by_name_and_nothing_is_cancelled(waiting: DurableRun) -> None:
    with pytest.raises(CancelRefused, match=r"'nobody-0' is unknown to this run \(pending: 'ask-0'\)"):
        await waiting.cancel_pending_requests(["ask-0", "nobody-0"])

    assert [one.request_id for one in await waiting.pending_requests()] == ["ask-0"]


async def test_what_was_answered_or_cancelled_cannot_be_cancelled_nor_answered_again(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, releasing.several) as durable:
        run = await durable.start(1)
        await pending(run, 3)
        await run.respond("ask-0", True)
        assert len(await pending(run, 2)) == 2
        await run.cancel_pending_requests(["ask-1"])

        with pytest.raises(CancelRefused, match="'ask-0' was already answered"):
            await run.cancel_pending_requests(["ask-0"])
        with pytest.raises(CancelRefused, match="'ask-1' was cancelled"):
            await run.cancel_pending_requests(["ask-1", "ask-2"])
        with pytest.raises(ResponseRefused, match="'ask-1' was cancelled"):
            await run.respond("ask-1", True)

        await pending(run)
        await run.cancel_pending_requests(["ask-2"])
        await run.result()
        with pytest.raises(CancelRefused, match="is closed"):
            await run.cancel_pending_requests(["ask-2"])
    await assert_replays(run)


async def test_there_is_no_such_run(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, releasing.one) as durable:
        with pytest.raises(RunNotFound, match="no run with workflow id"):
            await durable.get_run("nobody").cancel_pending_requests(["ask-0"])


async def test_who_cancelled_what_and_why_is_in_the_trail_and_in_the_checkpoint(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, releasing.one) as durable:
        run = await durable.start(1)
        await pending(run)

        await run.cancel_pending_requests(["ask-0"], responder="Ada", comment="the trip is off")
        await run.result()

        [record] = await run.handle.query("responses")
        headers = await run.handle.query("checkpoints")
    [header] = [one for one in headers if one["kind"] == "response"]
    told = {
        "request_id": "ask-0",
        "executor_id": "ask",
        "outcome": "cancelled",
        "source": "person",
        "responder": "Ada",
        "comment": "the trip is off",
    }
    [in_checkpoint] = header["metadata"]["responses"]
    assert {key: in_checkpoint[key] for key in told} == told
    assert record["outcome"] == "cancelled"
    assert (record["responder"], record["comment"]) == ("Ada", "the trip is off")
    assert record["checkpoint_id"] == header["checkpoint_id"]
    assert record["at"] == in_checkpoint["at"]


async def test_requests_of_sub_workflows_are_cancelled_and_the_history_replays(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, nested.two_at_once) as durable:
        run = await durable.start(1)
        left, right = await pending(run, 2)

        await run.cancel_pending_requests([left.request_id, right.request_id])

        assert (await run.result()).get_final_state() is WorkflowRunState.IDLE
    await assert_replays(run)


async def test_a_run_resumes_from_the_checkpoint_of_a_cancellation(client: Client) -> None:
    moves = in_order(lambda requests: Cancel(["left-0"]))
    seen = await on_temporal(client, releasing.two, 1, moves())

    [checkpoint] = cancellations(seen.checkpoints)
    workflow = releasing.two()
    storage = InMemoryCheckpointStorage()
    await storage.save(checkpoint)
    result = await workflow.run(checkpoint_id=checkpoint.checkpoint_id, checkpoint_storage=storage)

    assert sorted(event.request_id for event in result.get_request_info_events()) == ["left-1", "right-0", "right-1"]
    assert ("last", "left-0 was cancelled") in result.get_outputs()
