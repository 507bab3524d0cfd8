"""Proof that the gate can fail: a stored history that is changed in one command does not replay, whichever it is.

What is changed is each place of that kind of each history of one version, mostly the present one. So commands of one
kind that a replay could not tell apart would show here.

Temporal's replayer itself lets pass, and so nothing here is about: what is missing at the end of an open history, which
the run may do next; a timer or an activity that is cancelled again; and the last that a cancelled run does.
"""

from __future__ import annotations

import copy
import importlib.metadata
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.golden import replays
from tests.support.altering import Events, dropped, renamed, renumbered, swapped, with_timer

Change = Callable[[Events], Iterator[Events]]
"""Yields a history in each way that it can be changed."""

_SCHEDULED = "activityTaskScheduledEventAttributes"
_MARKER = "markerRecordedEventAttributes"
_TASK_COMPLETED = "EVENT_TYPE_WORKFLOW_TASK_COMPLETED"
_ENDS = [f"EVENT_TYPE_WORKFLOW_EXECUTION_{how}" for how in ("COMPLETED", "FAILED", "CANCELED", "CONTINUED_AS_NEW")]

FEW = ["chain", "side-by-side", "deadline-reminds", "failure-that-waits-for-an-operator", "store-trouble", "session"]
"""Scenarios whose histories stay in `make test`; the others are `make chaos`'s."""


def _told(events: Events) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield places and events of what a replay is to tell."""
    end = len(events)
    if events[-1]["eventType"] not in _ENDS:
        end = max(place for place, event in enumerate(events) if event["eventType"] == _TASK_COMPLETED)
    for place, event in enumerate(events[:end]):
        if event["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED":
            return
        yield place, event


def _activities(events: Events) -> Iterator[tuple[int, str]]:
    """Yield places and types of activities, each type once: the first."""
    seen: set[str] = set()
    for place, event in _told(events):
        name = event.get(_SCHEDULED, {}).get("activityType", {}).get("name")
        if name is not None and name not in seen:
            seen.add(name)
            yield place, name


def reordered(events: Events) -> Iterator[Events]:
    """Two deliveries of one workflow task come in the other order."""
    activities = list(_activities(events))
    for (one, first), (other, second) in itertools.pairwise(activities):
        if _task(events[one]) == _task(events[other]):
            yield swapped(events, first, second)


def _task(event: dict[str, Any]) -> str:
    return event[_SCHEDULED]["workflowTaskCompletedEventId"]


def without_an_activity(events: Events) -> Iterator[Events]:
    """A command is not there, unless it is the last of a history that says no end: a run may do that next."""
    last = max(place for place, event in _told(events) if _is_command(event))
    cancelled = {one.get("activityTaskCancelRequestedEventAttributes", {}).get("scheduledEventId") for one in events}
    for place, name in _activities(events):
        if events[place]["eventId"] not in cancelled and place != last:
            yield renumbered(dropped(events, name))


def _is_command(event: dict[str, Any]) -> bool:
    attributes = (value for value in event.values() if isinstance(value, dict))
    return any("workflowTaskCompletedEventId" in one for one in attributes)


def with_an_activity(events: Events) -> Iterator[Events]:
    for place, _ in _activities(events):
        more = copy.deepcopy(events[place])
        more["eventId"] = "0"
        more[_SCHEDULED] |= {"activityId": "900", "activityType": {"name": "another"}}
        yield renumbered([*events[:place], more, *events[place:]])


def with_an_activity_renamed(events: Events) -> Iterator[Events]:
    for _, name in _activities(events):
        yield renamed(events, name, f"{name}-2")


def with_a_timer(events: Events) -> Iterator[Events]:
    for _, name in _activities(events):
        yield renumbered(with_timer(events, name))


def without_a_timer(events: Events) -> Iterator[Events]:
    for _, event in _told(events):
        if "timerFiredEventAttributes" in event:
            gone = (event["eventId"], event["timerFiredEventAttributes"]["startedEventId"])
            yield renumbered([one for one in events if one["eventId"] not in gone])


def without_a_local_activity(events: Events) -> Iterator[Events]:
    """A response is not judged, say, or a turn not waited for; in runs of the release that had local activities."""
    for place, event in _told(events):
        if event.get(_MARKER, {}).get("markerName") == "core_local_activity":
            yield renumbered([*events[:place], *events[place + 1 :]])


def without_a_search_attribute(events: Events) -> Iterator[Events]:
    for place, event in _told(events):
        if "upsertWorkflowSearchAttributesEventAttributes" in event:
            yield renumbered([*events[:place], *events[place + 1 :]])


CHANGES: list[Change] = [
    reordered,
    without_an_activity,
    with_an_activity,
    with_an_activity_renamed,
    with_a_timer,
    without_a_timer,
    without_a_local_activity,
    without_a_search_attribute,
]

RELEASE = {without_a_local_activity: "0.1.0"}
"""Whose histories are changed so, if not the present version's."""


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_a_history_that_is_changed_does_not_replay(change: Change) -> None:
    await assert_none_replays(change, lambda scenario: scenario in FEW)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_no_history_at_all_that_is_changed_replays(change: Change) -> None:
    await assert_none_replays(change, lambda _: True)


async def assert_none_replays(change: Change, wanted: Callable[[str], bool]) -> None:
    changed = [
        replays.altered(path, events, f"{replays.name_of(path)} {place}")
        for path in replays.paths(RELEASE.get(change) or importlib.metadata.version(replays.PACKAGE))
        if wanted(path.stem)
        for place, events in enumerate(change(replays.events_of(path)))
    ]
    assert changed

    failed = await replays.failures(changed)

    assert [one.workflow_id for one in changed if one.workflow_id not in failed] == []
