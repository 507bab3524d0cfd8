"""What the metadata of a checkpoint says of cancelled requests, and how a cancellation is read."""

from __future__ import annotations

from typing import Any

import pytest

from temporal_adapter import wire

CANCELLED = wire.Responded(request_id="a", outcome="cancelled", executor_id="ask", responder="Ada", at="2026-01-01")
ACCEPTED = wire.Responded(request_id="b", outcome="accepted", executor_id="ask", response=wire.Value(inline=1, size=1))


def test_the_cancelled_requests_are_read_from_the_metadata_that_was_made_of_them() -> None:
    metadata = wire.response_metadata([CANCELLED, ACCEPTED])

    assert wire.cancelled_in(metadata) == ["a"]
    assert metadata["responses"][0] == {
        "request_id": "a",
        "outcome": "cancelled",
        "executor_id": "ask",
        "source": "person",
        "responder": "Ada",
        "at": "2026-01-01",
    }


@pytest.mark.parametrize("own", [None, 5, "cancelled", [1], [{"outcome": "cancelled"}], {"a": "cancelled"}], ids=repr)
def test_metadata_of_somebody_else_tells_of_no_cancelled_request(own: Any) -> None:
    assert wire.cancelled_in({"responses": own}) == []
    assert wire.cancelled_in({}) == []


def test_a_cancellation_is_read_from_one_object() -> None:
    asked = wire.parse_cancel_requests({"request_ids": ["a", "b"], "responder": "Ada", "comment": "no", "v": 1})

    assert asked == wire.CancelRequests(request_ids=["a", "b"], responder="Ada", comment="no")


def test_a_cancellation_in_several_arguments_is_refused() -> None:
    with pytest.raises(wire.WireError, match="2 arguments came"):
        wire.parse_cancel_requests({"request_ids": ["a"]}, "b")
