"""People in the loop: requests are answered by signal or update, in any order, each once, and never by mistake."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowRunState
from temporalio.client import Client, WorkflowUpdateFailedError

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableRun, ResponseRefused
from tests.support.graphs import Add, Report
from tests.support.running import pending, serving, until
from tests.support.scripted import Script, asker, asking, asking_beside_work, step

THREE = (1.0, 2.0, 3.0)


async def test_requests_are_answered_one_at_a_time_in_any_order(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script(), *THREE)) as durable:
        run = await durable.start(7)
        first, second, third = await pending(run, 3)

        for request in (third, first, second):
            await run.respond(request.request_id, request.data.amount == 2.0)

        result = await run.result()
    assert [text for _, text in result.get_outputs()] == ["3.0: False", "1.0: False", "2.0: True"]
    assert result.get_final_state() is WorkflowRunState.IDLE


@pytest.mark.parametrize("door", ["signal", "update"])
async def test_many_requests_are_answered_at_once(client: Client, task_queue: str, door: str) -> None:
    async with serving(client, task_queue, asking(Script(), *THREE)) as durable:
        run = await durable.start(7)
        answers = [_answer(request, True) for request in await pending(run, 3)]

        await _send(run, door, answers)

        outputs = (await run.result()).get_outputs()
        kinds = [checkpoint.kind for checkpoint in await run.checkpoints()]
    assert [text for _, text in outputs] == ["1.0: True", "2.0: True", "3.0: True"]
    assert kinds == ["entry", "superstep", "response", "superstep", "superstep"]


@pytest.mark.parametrize("door", ["signal", "update"])
async def test_a_response_may_stand_alone(client: Client, task_queue: str, door: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        await _send(run, door, _answer(request, False))

        assert (await run.result()).get_outputs() == [("last", "0.5: False")]


async def test_the_same_answer_sent_twice_counts_once(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("ask answered")
    async with serving(client, task_queue, asking(script)) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        first = await run.respond(request.request_id, True)
        again = await run.respond(request.request_id, True)
        script.release("ask answered")

        assert (await run.result()).get_outputs() == [("last", "0.5: True")]
    assert first == again
    assert script.calls["ask answered"] == 1


async def test_a_second_answer_that_differs_is_refused(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("ask answered")
    async with serving(client, task_queue, asking(script)) as durable:
        run = await durable.start(7)
        [request] = await pending(run)
        await run.respond(request.request_id, True)

        with pytest.raises(ResponseRefused, match="already answered, with a different response"):
            await run.respond(request.request_id, False)
        script.release("ask answered")

        assert (await run.result()).get_outputs() == [("last", "0.5: True")]


async def test_of_two_answers_in_one_batch_the_first_counts(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        await _send(run, "signal", [_answer(request, True), _answer(request, False)])

        assert (await run.result()).get_outputs() == [("last", "0.5: True")]


async def test_an_unknown_request_is_refused_and_the_pending_ones_are_named(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        with pytest.raises(
            ResponseRefused, match=f"'no-such-id' is unknown to this run .pending: '{request.request_id}'"
        ):
            await run.respond("no-such-id", True)

        assert await _is_open(run, request)


@pytest.mark.parametrize("response", ["yes", 1, None, {"ok": True}, [True]])
async def test_an_answer_of_another_type_is_refused_and_the_request_stays_open(
    client: Client, task_queue: str, response: Any
) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        with pytest.raises(ResponseRefused, match=f"response to request {request.request_id} must be bool"):
            await run.respond(request.request_id, response)

        assert await _is_open(run, request)
        await run.respond(request.request_id, True)
        assert (await run.result()).get_outputs() == [("last", "0.5: True")]


async def test_an_ill_typed_answer_beside_a_good_one_is_refused_alone(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script(), 1.0, 2.0)) as durable:
        run = await durable.start(7)
        first, second = await pending(run, 2)

        with pytest.raises(WorkflowUpdateFailedError) as refusal:
            await _send(run, "update", [_answer(first, True), _answer(second, "maybe")])

        assert second.request_id in str(refusal.value.cause)
        assert [one.request_id for one in await pending(run)] == [second.request_id]


@pytest.mark.parametrize(
    "malformed",
    [None, True, "yes", 1, [], {}, {"request_id": "a"}, {"response": True}, {"request_id": 1, "response": True}, [[]]],
    ids=repr,
)
async def test_a_malformed_response_is_refused_and_shown_the_right_form(
    client: Client, task_queue: str, malformed: Any
) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        with pytest.raises(WorkflowUpdateFailedError) as refusal:
            await _send(run, "update", malformed)
        await _send(run, "signal", malformed)

        assert 'expected {"request_id": "...", "response": ...}' in str(refusal.value.cause)
        assert await _is_open(run, request)
        await run.respond(request.request_id, True)
        warnings = [event.data async for event in run.events() if event.type == "warning"]
    assert len(warnings) == 1
    assert "A respond signal was refused" in warnings[0]


async def test_a_refusal_by_signal_shows_in_the_events(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        await _send(run, "signal", _answer(request, "maybe"))
        await run.respond(request.request_id, True)

        warnings = [event.data async for event in run.events() if event.type == "warning"]
    assert len(warnings) == 1
    assert request.request_id in warnings[0]
    assert "must be bool" in warnings[0]


@pytest.mark.parametrize("door", ["signal", "update"])
async def test_an_unknown_request_shows_in_the_events(client: Client, task_queue: str, door: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)
        unknown = {"request_id": "no-such-id", "response": True}

        if door == "signal":
            await _send(run, door, unknown)
        else:
            with pytest.raises(WorkflowUpdateFailedError):
                await _send(run, door, unknown)
        await run.respond(request.request_id, True)

        warnings = [event.data async for event in run.events() if event.type == "warning"]
    assert len(warnings) == 1
    assert "no-such-id" in warnings[0]


async def test_a_response_is_accepted_while_another_branch_works(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("work")
    async with serving(client, task_queue, asking_beside_work(script)) as durable:
        run = await durable.start(7)
        await script.entered("work")
        [request] = await until(run.pending_requests)

        accepted = await run.respond(request.request_id, True)

        assert await run.pending_requests() == []
        assert script.calls["ask answered"] == 0  # delivered when the superstep is over, not before
        script.release("work")
        assert ("last", "0.5: True") in (await run.result()).get_outputs()
        checkpoints = await run.checkpoints()
    [response] = [one for one in checkpoints if one.kind == "response"]
    assert response.checkpoint_id == accepted.checkpoint_id
    assert [(one.kind, one.iteration) for one in checkpoints] == [
        ("entry", 0),
        ("superstep", 1),
        ("superstep", 2),
        ("response", 2),
        ("superstep", 3),
        ("superstep", 4),
    ]


async def test_a_request_that_surfaces_while_work_goes_on_surfaces_once(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("work")
    async with serving(client, task_queue, asking_beside_work(script)) as durable:
        run = await durable.start(7)
        [request] = await until(run.pending_requests)
        script.release("work")
        await pending(run)
        await run.respond(request.request_id, True)
        asked = [event.request_id async for event in run.events() if event.type == "request_info"]

    assert asked == [request.request_id]


async def test_the_response_is_in_a_checkpoint_in_the_store_before_anything_takes_it(
    client: Client, task_queue: str
) -> None:
    script, store = Script(), BlobStore("memory://")
    script.hold("ask answered")
    build = asking(script)
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        accepted = await run.respond(request.request_id, True)

        assert accepted.checkpoint_id is not None
        checkpoint = await BlobCheckpointStorage(store, workflow=build()).load(accepted.checkpoint_id)
        script.release("ask answered")
        await run.result()
    [message] = checkpoint.messages["internal:ask"]
    assert message.data is True
    assert message.original_request_info_event is not None
    assert message.original_request_info_event.request_id == request.request_id
    assert checkpoint.pending_request_info_events == {}
    assert checkpoint.iteration_count == 1


async def test_a_response_that_cannot_be_judged_yet_is_kept_until_it_can(client: Client, task_queue: str) -> None:
    store, build = BlobStore("memory://"), asking(Script())
    async with serving(client, task_queue, build, store=store) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

    # When it comes while the only worker has another graph
    async with serving(client, task_queue, _another_graph, store=store):
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        warning = await anext(event async for event in run.events() if event.type == "warning")
        assert "A response waits, and is tried again" in warning.data

    # Then it counts as soon as there is one with the run's graph
    async with serving(client, task_queue, build, store=store):
        assert (await run.result()).get_outputs() == [("last", "0.5: True")]


async def test_a_parked_run_has_no_activity_and_no_timer(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        description = (await run.handle.describe()).raw_description
        history = await run.handle.fetch_history()
        assert not description.pending_activities
        assert not description.HasField("pending_workflow_task")
        assert not [event for event in history.events if event.HasField("timer_started_event_attributes")]

        await run.respond(request.request_id, True)
        await run.result()


async def test_a_request_tells_what_is_asked_in_plain_json(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(7)
        [request] = await pending(run)

        [plain] = await run.handle.query("pending_requests")
        asked_at = datetime.fromisoformat(plain.pop("asked_at"))
        started_at = (await run.handle.describe()).start_time

        await run.respond(request.request_id, True)
        await run.result()
    assert plain == {
        "v": 1,
        "request_id": request.request_id,
        "executor_id": "ask",
        "request_type": "tests.support.graphs:Question",
        "response_type": "bool",
        "data": {"text": "ask 7", "amount": 0.5},
        "response_schema": {"type": "boolean"},
    }
    assert timedelta() < asked_at - started_at < timedelta(minutes=2)


def _another_graph() -> Workflow:
    return WorkflowBuilder(name="asking", start_executor=Report("other")).build()


def _answer(request: Any, response: Any) -> dict[str, Any]:
    return {"request_id": request.request_id, "response": response}


async def _send(run: DurableRun, door: str, data: Any) -> None:
    if door == "signal":
        await run.handle.signal("respond", data)
    else:
        await run.handle.execute_update("respond", data)


async def _is_open(run: DurableRun, request: Any) -> bool:
    return [one.request_id for one in await run.pending_requests()] == [request.request_id]


async def test_responses_during_a_superstep_are_delivered_in_the_order_in_which_they_came(
    client: Client, task_queue: str
) -> None:
    script = Script()
    script.hold("work")

    def build() -> Workflow:
        start, work = Add("start"), step(script, "work")
        ask = asker(script, "ask", (1.0, 2.0, 3.0, 4.0))
        builder = WorkflowBuilder(name="asking-four-beside-work", start_executor=start)
        return builder.add_fan_out_edges(start, [ask, work]).add_edge(ask, Report("last")).build()

    async def four(run: DurableRun) -> list[Any]:
        requests = await run.pending_requests()
        return requests if len(requests) == 4 else []

    async with serving(client, task_queue, build) as durable:
        run = await durable.start(7)
        await script.entered("work")
        asked = {one.data.amount: one.request_id for one in await until(lambda: four(run))}
        for door, amount in zip(("signal", "update", "signal", "update"), (3.0, 1.0, 4.0, 2.0), strict=True):
            await _send(run, door, {"request_id": asked[amount], "response": True})
        script.release("work")
        result = await run.result()

    answers = [text for source, text in filter(_is_report, result.get_outputs()) if source == "last"]
    assert answers == ["3.0: True", "1.0: True", "4.0: True", "2.0: True"]


async def test_an_update_that_is_sent_again_under_its_id_is_answered_as_before(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script(), 1.0, 2.0)) as durable:
        run = await durable.start(7)
        first, second = await pending(run, 2)
        answer = _answer(first, True)

        answers = [await run.handle.execute_update("respond", answer, id=one) for one in ("mine", "mine", "another")]

        assert answers[0] == answers[1] == answers[2]
        await run.respond(second.request_id, True)
        await run.result()
        assert [one.outcome for one in await run.responses()] == ["accepted"] * 2


async def test_what_became_of_a_signal_is_told_by_query(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script(), 1.0, 2.0)) as durable:
        run = await durable.start(7)
        first, second = await pending(run, 2)
        await run.handle.signal("respond", {**_answer(first, True), "responder": "ada", "comment": "yes"})
        await run.handle.signal("respond", {**_answer(second, "perhaps"), "responder": "bob"})

        async def both() -> list[Any]:
            told = await run.handle.query("responses")
            return told if len(told) == 2 else []

        accepted, refused = await until(both)
        await run.respond(second.request_id, True)
        await run.result()

    assert (accepted["outcome"], accepted["responder"], accepted["comment"]) == ("accepted", "ada", "yes")
    assert accepted["response"] is True
    assert (refused["outcome"], refused["responder"]) == ("refused", "bob")
    assert "must be bool" in refused["reason"]


def _is_report(output: Any) -> bool:
    return isinstance(output, tuple)
