"""When something is due about a request, and what: for any requests, answers and delays."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine import expires_at
from temporal_adapter.engine.deadlines import Deadlines

BEGIN = datetime(2026, 11, 30, tzinfo=timezone.utc)
DAY = 86_400.0


def at(days: float) -> str:
    return (BEGIN + timedelta(days=days)).isoformat(timespec="microseconds")


def request(
    request_id: str = "r",
    *,
    asked: float = 0,
    every: float | None = None,
    expires: float | None = None,
    at_once: bool = False,
) -> wire.Request:
    return wire.Request(
        request_id=request_id,
        source_executor_id="ask",
        data=wire.Value(inline="?", size=3),
        request_type="str",
        response_type="bool",
        asked_at=at(asked),
        deadline=wire.Deadline(
            remind_every=None if every is None else every * DAY,
            remind_at_once=at_once,
            expire_after=None if expires is None else expires * DAY,
        ),
    )


def test_a_request_without_a_deadline_or_of_an_earlier_release_is_never_due() -> None:
    deadlines = Deadlines(lambda _: True)
    deadlines.watch(wire.replace(request(expires=1), deadline=None))
    deadlines.watch(wire.replace(request(expires=1), asked_at=None))
    assert deadlines.next_at() is None
    assert list(deadlines.take(at(1000))) == []


def test_what_is_due_first_comes_first_and_once() -> None:
    deadlines = Deadlines(lambda _: True)
    deadlines.watch(request("slow", expires=3))
    deadlines.watch(request("quick", every=1, expires=2))
    assert deadlines.next_at() == at(1)
    assert [(due.request.request_id, due.what) for due in deadlines.take(at(2.5))] == [
        ("quick", "remind"),
        ("quick", "expire"),
    ]
    assert deadlines.next_at() == at(3)


def test_missed_reminders_are_made_up_for_by_one() -> None:
    deadlines = Deadlines(lambda _: True)
    asked = request(every=1)
    deadlines.watch(asked)
    [due] = deadlines.take(at(1))
    assert deadlines.number_of("r") == 1
    deadlines.reminded(due.request, at(5.5))  # no worker ran for days
    assert deadlines.next_at() == at(6)
    assert deadlines.reminders("r") == 1


def test_an_answered_request_is_due_no_more() -> None:
    waiting = {"r"}
    deadlines = Deadlines(lambda one: one.request_id in waiting)
    deadlines.watch(request(every=1, expires=2))
    waiting.clear()
    assert deadlines.next_at() is None
    assert list(deadlines.take(at(10))) == []


@given(
    asked=st.lists(
        st.tuples(
            st.integers(0, 20),
            st.one_of(st.none(), st.integers(1, 5)),
            st.one_of(st.none(), st.integers(1, 9)),
            st.booleans(),
        ),
        max_size=6,
    ),
    late=st.lists(st.floats(0, 4, allow_nan=False), min_size=1, max_size=20),
)
def test_each_request_expires_once_at_its_time_and_is_reminded_of_only_before(
    asked: list[tuple[int, int | None, int | None, bool]], late: list[float]
) -> None:
    open_ones: dict[str, wire.Request] = {}
    deadlines = Deadlines(lambda one: one.request_id in open_ones)
    for place, (day, every, expires, at_once) in enumerate(asked):
        one = request(f"r{place}", asked=day, every=every, expires=expires, at_once=at_once)
        open_ones[one.request_id] = one
        deadlines.watch(one)
    reminded: dict[str, list[datetime]] = {}
    expired: list[str] = []
    before = at(-1)
    for round_ in range(200):
        due_at = deadlines.next_at()
        if due_at is None:
            break
        assert due_at >= before
        before = due_at
        for due in deadlines.take(due_at):
            request_id = due.request.request_id
            assert request_id not in expired
            if due.what == "expire":
                assert due.at.isoformat(timespec="microseconds") == expires_at(due.request)
                expired.append(request_id)
                del open_ones[request_id]
            else:
                reminded.setdefault(request_id, []).append(due.at)
                assert deadlines.number_of(request_id) == len(reminded[request_id])
                sent = due.at + timedelta(days=late[round_ % len(late)])
                deadlines.reminded(due.request, sent.isoformat(timespec="microseconds"))
    with_expiry = [f"r{place}" for place, (_, _, expires, _) in enumerate(asked) if expires is not None]
    assert sorted(expired) == sorted(with_expiry)
    for place, (day, every, expires, at_once) in enumerate(asked):
        times = reminded.get(f"r{place}", [])
        assert all(earlier < later for earlier, later in pairwise(times))
        if every is not None:
            grid = [(one - BEGIN - timedelta(days=day)) / timedelta(days=every) for one in times]
            assert all(one == int(one) for one in grid)
        if expires is not None:
            assert all(one < BEGIN + timedelta(days=day + expires) for one in times)
        assert bool(times) <= (every is not None or at_once)
