"""Why a history does not replay, in the terms of its graph: each kind of difference is told as what it is."""

from __future__ import annotations

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory

from temporal_adapter.replaying import Replayed, replay
from tests.support import altering

FAN, NESTED = "fan out and in", "nested-propagates"
GUARD = "the store is told how a run ended"

Recorded = dict[str, WorkflowHistory]


async def verdict(events: altering.Events) -> Replayed:
    [replayed] = await replay([altering.history_of(events)])
    return replayed


async def test_histories_of_this_release_replay(recorded: Recorded) -> None:
    replayed = await replay(recorded.values())

    assert {one.workflow_id: (one.outcome, one.reason) for one in replayed} == {
        f"replaying-{name}": ("replays", "") for name in recorded
    }
    assert [one.events for one in replayed] == [len(one.events) for one in recorded.values()]


async def test_an_executor_that_has_another_name_now(recorded: Recorded) -> None:
    events = altering.renamed(altering.events_of(recorded["fan"]), f"{FAN}/left", f"{FAN}/links")

    replayed = await verdict(events)

    place = altering.place_of(events, f"{FAN}/links") + 1
    assert replayed.outcome == "diverges"
    assert replayed.reason == (
        f"superstep 2: the history has executor 'links' (event {place}); "
        "this release would do executor 'left' in its place"
    )
    assert replayed.divergence is not None
    assert (replayed.divergence.superstep, replayed.divergence.executor) == (2, "links")
    assert (replayed.divergence.event_id, replayed.divergence.issued) == (place, "executor 'left'")
    assert "does not match activity type" in replayed.temporal


async def test_an_executor_that_the_history_does_not_have(recorded: Recorded) -> None:
    replayed = await verdict(altering.dropped(altering.events_of(recorded["fan"]), f"{FAN}/left"))

    assert replayed.reason == (
        "superstep 2: this release would do executor 'left', which the history does not have there"
    )
    assert replayed.divergence is not None
    assert (replayed.divergence.executor, replayed.divergence.event_id) == ("left", None)


async def test_two_deliveries_in_the_other_order(recorded: Recorded) -> None:
    events = altering.swapped(altering.events_of(recorded["fan"]), f"{FAN}/left", f"{FAN}/right")

    replayed = await verdict(events)

    place = altering.place_of(events, f"{FAN}/right") + 1
    assert replayed.reason == (
        f"superstep 2: the history has executor 'right' (event {place}) before executor 'left'; "
        "this release would do them in the other order"
    )


async def test_a_timer_that_this_release_does_not_start(recorded: Recorded) -> None:
    events = altering.with_timer(altering.events_of(recorded["fan"]), before=f"{FAN}/join")

    replayed = await verdict(events)

    place = altering.place_of(events, f"{FAN}/join")
    assert replayed.reason == (
        f"after superstep 2 began: the history has a timer (event {place}); this release would not do it there"
    )


async def test_an_end_that_is_another(recorded: Recorded) -> None:
    events = altering.events_of(recorded["fan"])
    last = {key: events[-1][key] for key in ("eventId", "eventTime", "taskId")}
    events[-1] = {**last, "eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_FAILED"}
    events[-1]["workflowExecutionFailedEventAttributes"] = {"failure": {"message": "it failed"}}

    replayed = await verdict(events)

    assert replayed.reason == (
        f"after superstep 3 began: the history has the failure of the run (event {len(events)}); "
        "this release would do the end of the run in its place"
    )


async def test_an_executor_of_a_sub_workflow(recorded: Recorded) -> None:
    before, after = f"{NESTED}/wraps/ask", f"{NESTED}/wraps/demand"

    replayed = await verdict(altering.renamed(altering.events_of(recorded["nested"]), before, after))

    assert replayed.divergence is not None
    assert replayed.divergence.executor == "wraps/demand"
    assert replayed.reason.startswith("superstep 2 of sub-workflow 'wraps': the history has executor 'wraps/demand'")
    assert replayed.reason.endswith("this release would do executor 'wraps/ask' in its place")


async def test_an_input_that_was_never_taken(recorded: Recorded) -> None:
    replayed = await verdict(altering.dropped(altering.events_of(recorded["fan"]), f"{FAN}:seed"))

    assert replayed.reason == (
        f"before the first superstep: this release would do activity '{FAN}:seed', which takes the input, "
        "which the history does not have there"
    )


async def test_a_history_from_before_a_patch_replays(recorded: Recorded) -> None:
    events = altering.events_of(recorded["failed"])
    without = altering.without_patch(events, GUARD)

    replayed = await verdict(without)

    assert (replayed.outcome, replayed.reason) == ("replays", "")


async def test_a_guard_that_this_release_has_lost(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    patched = workflow.patched
    monkeypatch.setattr(
        workflow, "patched", lambda id: True if id == GUARD else patched(id)
    )  # the code behind it stays

    replayed = await verdict(altering.events_of(recorded["failed"]))

    assert replayed.outcome == "diverges"
    assert f"the history has the marker of workflow.patched({GUARD!r})" in replayed.reason


async def test_what_a_newer_release_wrote_is_an_error_of_this_one(recorded: Recorded) -> None:
    events = altering.with_result(altering.events_of(recorded["fan"]), f"{FAN}/left", {"v": 99})

    replayed = await verdict(events)

    assert replayed.outcome == "fails"
    assert replayed.reason.startswith("this release raises an error when it replays event ")
    assert "99" in replayed.reason


async def test_a_run_that_timed_out_in_a_workflow_task_replays(recorded: Recorded) -> None:
    events = altering.events_of(recorded["waiting"])[:3]
    timed_out = {key: events[-1][key] for key in ("eventTime", "taskId")}
    timed_out |= {"eventId": "4", "eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT"}
    timed_out["workflowExecutionTimedOutEventAttributes"] = {"retryState": "RETRY_STATE_TIMEOUT"}

    replayed = await verdict([*events, timed_out])

    assert (replayed.outcome, replayed.reason, replayed.events) == ("replays", "", 4)


async def test_a_history_over_which_temporals_core_breaks_down_is_none(recorded: Recorded) -> None:
    events = [event for event in altering.events_of(recorded["fan"]) if event["eventId"] != "4"]

    replayed = await verdict(events)

    assert replayed.outcome == "unreadable"
    assert replayed.reason == "altered: event 4 should say how the workflow task before it ended."


async def test_a_workflow_that_is_not_the_adapters_is_named_and_not_replayed(recorded: Recorded) -> None:
    events = altering.events_of(recorded["fan"])
    events[0]["workflowExecutionStartedEventAttributes"]["workflowType"]["name"] = "anothers"

    replayed = await verdict(events)

    assert (replayed.outcome, replayed.ok) == ("foreign", True)
    assert "'anothers' is none of the adapter's" in replayed.reason
