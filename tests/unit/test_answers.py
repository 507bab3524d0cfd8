"""Pages of what a run tells: whatever is in them, an answer stays within what Temporal carries."""

from __future__ import annotations

import pytest

from temporal_adapter import wire
from temporal_adapter.answers import page_of_records, readable_responded

LIMIT = 1024 * 1024  # half of what Temporal takes


@pytest.mark.parametrize(
    "comment", ["as agreed", "\N{GRINNING FACE}" * 10_000, "\ud800" * 10_000], ids=["short", "emoji", "broken"]
)
def test_pages_of_the_audit_trail_are_bounded_in_bytes_and_together_hold_it_all(comment: str) -> None:
    records = [
        wire.Responded(request_id=f"r{number}", outcome="accepted", responder="Ada", comment=comment)
        for number in range(120)
    ]
    read: list[wire.Responded] = []
    while page := page_of_records(records, len(read)):
        assert len(wire.to_bytes([wire.dump(readable_responded(one)) for one in page])) <= LIMIT
        read += page
    assert read == records


def test_what_a_checkpoint_says_of_who_answered_is_bounded_in_bytes() -> None:
    records = [
        wire.Responded(request_id=f"r{number}", outcome="accepted", comment="\N{GRINNING FACE}" * 10_000)
        for number in range(100)
    ]
    assert len(wire.to_bytes(wire.response_metadata(records))) < 128 * 1024
