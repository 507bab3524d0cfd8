"""Why a history does not replay, in the terms of its graph: the first place where this release does something else.

Nothing here decides whether a history replays; Temporal's replayer has said that it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import PayloadCodec

from temporal_adapter.histories import local_activity

from .steps import Step, activity_words, issued_steps, reached_events, recorded_steps
from .verdicts import Divergence
from .watching import Trace

_LONGEST = 400  # characters: some of its messages have whole events in them
_MESSAGE = re.compile(r'message: "((?:[^"\\]|\\.)*)"')
_EVENT = re.compile(r"HistoryEvent\(id: (\d+), (\w+)\)")
_PREFIX = re.compile(r"^(\[TMPRL\d+\] )?(Nondeterminism error: |Fatal error in workflow machines: )?")


def temporal_words(failure: BaseException) -> str:
    """Return what Temporal's SDK says of a replay that failed, without the names of its own types around it."""
    text = str(failure)
    found = _MESSAGE.search(text)
    said = found[1].replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n") if found else text
    said = _PREFIX.sub("", said) or type(failure).__name__
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."


@dataclass(frozen=True, slots=True)
class _Place:
    """The first steps that are not the same, and what came before them on this release's side."""

    before: list[Step]
    recorded: Step | None
    issued: Step | None
    swapped: bool = False


async def first_divergence(
    events: Sequence[HistoryEvent], trace: Trace, said: str, codec: PayloadCodec | None
) -> Divergence:
    """Say where a release first does something else than a history has.

    Args:
        events: The history.
        trace: What the release did when it was replayed.
        said: Temporal's words of it.
        codec: Of the history's payloads.
    """
    place = _place(recorded_steps(events, trace.length), issued_steps(trace))
    if place is not None:
        return await _told(place, _waiting(events, trace), codec)
    superstep = await _last_superstep(issued_steps(trace), codec)
    where = "before the first superstep" if superstep is None else f"after superstep {superstep} began"
    local = _local(events, trace)
    if local is not None:
        event_id, recorded, issued = local
        text = _sentence(where, event_id, recorded, issued, swapped=False, waiting=[])
        return Divergence(superstep, None, event_id, recorded, issued, text)
    named = _EVENT.search(said)
    if named is None:
        return Divergence(superstep, None, None, None, None, f"{where}: {said}")
    event_id, kind = int(named[1]), named[2]
    return Divergence(superstep, None, event_id, kind, None, f"{where}, at event {event_id} ({kind}): {said}")


def _place(recorded: Sequence[Step], issued: Sequence[Step]) -> _Place | None:
    for index, (one, other) in enumerate(zip(recorded, issued)):  # noqa: B905 - what one side has more comes below
        if one.words == other.words:
            continue
        before, later = list(issued[:index]), index + 1
        has_later = later < len(recorded) and recorded[later].words == other.words
        does_later = later < len(issued) and issued[later].words == one.words
        if has_later and does_later:
            return _Place(before, one, other, swapped=True)
        if has_later:
            return _Place(before, one, None)
        if does_later:
            return _Place(before, None, other)
        return _Place(before, one, other)
    common = min(len(recorded), len(issued))
    if len(recorded) > common:
        return _Place(list(issued), recorded[common], None)
    if len(issued) > common:
        return _Place(list(issued[:common]), None, issued[common])
    return None


async def _told(place: _Place, waiting: list[str], codec: PayloadCodec | None) -> Divergence:
    supersteps = [await _superstep(step, codec) for step in (place.recorded, place.issued)]
    superstep = next((one for one in supersteps if one is not None), None)
    path = next((step.path for step in (place.recorded, place.issued) if step is not None and step.path), ())
    where = f"superstep {superstep}"
    if superstep is None:
        superstep = await _last_superstep(place.before, codec)
        where = "before the first superstep" if superstep is None else f"after superstep {superstep} began"
    elif len(path) > 1:
        where += f" of sub-workflow {'/'.join(path[:-1])!r}"
    recorded = None if place.recorded is None else place.recorded.words
    issued = None if place.issued is None else place.issued.words
    event_id = None if place.recorded is None else place.recorded.event_id
    text = _sentence(where, event_id, recorded, _in_full(place.issued), swapped=place.swapped, waiting=waiting)
    return Divergence(superstep, "/".join(path) or None, event_id, recorded, issued, text)


def _sentence(
    where: str, event_id: int | None, recorded: str | None, issued: str | None, *, swapped: bool, waiting: list[str]
) -> str:
    if recorded is None:
        return f"{where}: this release would do {issued}, which the history does not have there"
    there = f"{where}: the history has {recorded} (event {event_id})"
    if swapped:
        return f"{there} before {issued}; this release would do them in the other order"
    if issued is not None:
        return f"{there}; this release would do {issued} in its place"
    waits = f": it waits for {', '.join(waiting)}" if waiting else ""
    return f"{there}; this release would not do it there{waits}"


def _in_full(step: Step | None) -> str | None:
    if step is None:
        return None
    return f"{step.words} ({step.input})" if isinstance(step.input, str) and step.input else step.words


async def _last_superstep(steps: Sequence[Step], codec: PayloadCodec | None) -> int | None:
    for step in reversed(steps):
        if len(step.path) == 1 and (found := await _superstep(step, codec)) is not None:
            return found
    return None


async def _superstep(step: Step | None, codec: PayloadCodec | None) -> int | None:
    """Return the superstep that an executor's input names; None if it cannot be read."""
    if step is None or not step.path or step.input is None:
        return None
    try:
        [payload] = [step.input] if codec is None or step.event_id is None else await codec.decode([step.input])
        found: Any = json.loads(payload.data)["iteration"]
    except Exception:  # of a codec, or another's activity that has such a name
        return None
    return found if isinstance(found, int) else None


# --- local activities ---------------------------------------------------------------------------------------


def _issued_locally(trace: Trace) -> dict[int, str]:
    return {
        command.schedule_local_activity.seq: command.schedule_local_activity.activity_type
        for _, command in trace.commands
        if command.HasField("schedule_local_activity")
    }


def _waiting(events: Sequence[HistoryEvent], trace: Trace) -> list[str]:
    """Return the local activities that the release waits for, in words: the history does not say how they ended."""
    ended = {local.seq for local in map(local_activity, events) if local is not None}
    return [activity_words(name)[0] for seq, name in _issued_locally(trace).items() if seq not in ended]


def _local(events: Sequence[HistoryEvent], trace: Trace) -> tuple[int, str, str | None] | None:
    """Return the first local activity in the history that the release would not do, or another one in its place."""
    issued = _issued_locally(trace)
    for event in reached_events(events, trace.length):
        local = local_activity(event)
        if local is not None and issued.get(local.seq) != local.activity_type:
            other = issued.get(local.seq)
            return event.event_id, activity_words(local.activity_type)[0], other and activity_words(other)[0]
    return None
