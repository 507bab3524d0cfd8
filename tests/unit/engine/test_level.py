"""A level on its own: what undoing a superstep brings back of its requests, and what not."""

from __future__ import annotations

from typing import Any

from temporal_adapter import wire
from temporal_adapter.engine.level import Level

from .scripted import Script

SCRIPT = Script(seed=0, groups={"e0": ()}, fan_ins={})


def request(request_id: str) -> wire.Request:
    data = wire.Value(inline=1, size=1)
    return wire.Request(
        request_id=request_id, source_executor_id="e0", data=data, request_type="int", response_type="int"
    )


def level(*request_ids: str) -> tuple[Level, dict[str, Any]]:
    """Return a level with pending requests, and the requests in its part of the snapshot."""
    kept: dict[str, Any] = {}
    made = Level(SCRIPT.graph, lambda place, value: kept.update({place[2]: value}) if place[1] == "requests" else None)
    for request_id in request_ids:
        made.show(wire.Event(type="request_info", request=request(request_id)))
    return made, kept


def test_undoing_a_superstep_takes_back_what_it_asked() -> None:
    made, kept = level("before")
    made.open_superstep("key")
    made.show(wire.Event(type="request_info", request=request("asked")))

    made.undo_superstep()

    assert list(made.requests) == ["before"]
    assert kept == {"before": request("before"), "asked": None}


def test_undoing_a_superstep_leaves_out_what_was_answered_or_expired_meanwhile() -> None:
    made, kept = level("expired", "waiting")
    made.open_superstep("key")

    made.answered("expired")
    made.undo_superstep()

    assert list(made.requests) == ["waiting"]
    assert kept == {"expired": None, "waiting": request("waiting")}


def test_undoing_a_cancellation_brings_its_requests_back_in_their_order() -> None:
    made, kept = level("first", "second")
    superstep = made.open_cancellation(["second", "first"], "key")
    assert [one.cancelled for one in superstep.deliveries] == [["second", "first"]]
    assert made.requests == {}
    assert kept == {"first": None, "second": None}

    made.undo_superstep()

    assert list(made.requests) == ["first", "second"]
    assert kept == {"first": request("first"), "second": request("second")}
