from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.store import RECORDED_RANK, attempt_rank
from temporal_adapter.store.names import identifier, manifest_object, segment, value_object

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
# Characters that meet in careless encodings, mixed with any others (lone surrogates too).
IDS = st.one_of(st.text(st.characters(codec=None)), st.text("aA./%2FE#\\ \0_-", max_size=300))


@given(IDS, IDS)
def test_different_ids_have_different_segments(one: str, other: str) -> None:
    assert (segment(one) == segment(other)) == (one == other)


@given(IDS)
def test_a_segment_is_one_plain_and_short_path_segment(identifier: str) -> None:
    encoded = segment(identifier)
    assert encoded.isascii()
    assert 0 < len(encoded) <= 200
    assert not set("/\\#: \0") & set(encoded)
    assert not encoded.startswith(".")


@given(IDS)
def test_a_segment_tells_its_id_unless_it_was_cut(one: str) -> None:
    assert identifier(segment(one)) in (one, None)
    assert len(segment(one)) > 190 or identifier(segment(one)) == one


def test_ordinary_ids_stay_readable() -> None:
    assert segment("order-2026_07") == "order-2026_07"
    assert segment("../x y") == "%2E%2E%2Fx%20y"


def test_long_ids_that_differ_at_the_end_only_stay_apart() -> None:
    assert segment("x" * 1_000 + "1") != segment("x" * 1_000 + "2")


def test_an_id_that_looks_like_a_cut_segment_is_not_taken_for_it() -> None:
    long = "x" * 1_000
    assert segment(segment(long)) != segment(long)


def test_ranks_sort_by_start_then_attempt_and_history_above_all() -> None:
    ranks = [
        attempt_rank(NOON - timedelta(days=9_000), 7),
        attempt_rank(NOON, 1),
        attempt_rank(NOON, 2),
        attempt_rank(NOON, 10),
        attempt_rank(NOON + timedelta(microseconds=1), 1),
        attempt_rank(datetime(9999, 1, 1, tzinfo=timezone.utc), 10**9),
        RECORDED_RANK,
    ]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)
    assert attempt_rank(NOON, 1) == "a00001767268800000000-000001"


def test_a_rank_does_not_depend_on_the_time_zone() -> None:
    assert attempt_rank(NOON.astimezone(timezone(timedelta(hours=9))), 1) == attempt_rank(NOON, 1)


@pytest.mark.parametrize(
    ("started", "attempt"), [(NOON.replace(tzinfo=None), 1), (NOON.replace(year=1969), 1), (NOON, 0)]
)
def test_what_has_no_rank_is_refused(started: datetime, attempt: int) -> None:
    with pytest.raises(ValueError, match=r"rank|time zone"):
        attempt_rank(started, attempt)


@pytest.mark.parametrize("rank", ["", "z", "r/../x", "a1-1", "r\n"])
def test_a_manifest_is_not_written_under_a_made_up_rank(rank: str) -> None:
    with pytest.raises(ValueError, match="not a rank"):
        manifest_object("default", "checkpoint", rank)


@pytest.mark.parametrize("digest", ["", "../x", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_a_value_is_not_looked_up_by_what_is_no_digest(digest: str) -> None:
    with pytest.raises(ValueError, match="digest"):
        value_object("default", digest)
