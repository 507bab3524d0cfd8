"""What a checkpoint says of the responses in it goes through history, so it is small however much was said."""

from __future__ import annotations

from temporal_adapter import wire


def answered(number: int, comment: str) -> wire.Responded:
    return wire.Responded(
        request_id=f"request-{number}",
        outcome="accepted",
        executor_id="ask",
        responder="ada",
        comment=comment,
        at="2024-01-02T03:04:05+00:00",
        checkpoint_id="not told",
    )


def test_a_comment_is_told_in_full_where_there_are_few() -> None:
    assert wire.response_metadata([answered(1, "x" * 10_000)]) == {
        "responses": [
            {
                "request_id": "request-1",
                "outcome": "accepted",
                "executor_id": "ask",
                "source": "person",
                "responder": "ada",
                "comment": "x" * 10_000,
                "at": "2024-01-02T03:04:05+00:00",
            }
        ]
    }


def test_long_comments_of_many_are_cut() -> None:
    metadata = wire.response_metadata(answered(number, "\ud800" * 10_000) for number in range(1000))

    assert len(wire.to_bytes(metadata)) < 1_000_000
    assert {one["responder"] for one in metadata["responses"]} == {"ada"}
    assert metadata["responses"][0]["comment"].endswith("...")


def test_there_may_be_none() -> None:
    assert wire.response_metadata([]) == {"responses": []}
