"""The event list: pages of bounded size that together are everything, and the status that requests change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine.journal import EVENTS_PER_PAGE, PAGE_BYTES, Journal

sizes = st.lists(st.sampled_from((10, 1000, 300_000, 600_000)), max_size=30)


@given(sizes, st.integers(0, 1200))
def test_pages_are_bounded_and_together_hold_every_event_in_order(large: list[int], small: int) -> None:
    journal = Journal()
    for size in [*large, *[10] * small]:
        journal.emit(wire.Event(type="output", data=wire.Value(inline=0, size=size)))

    read: list[wire.Event] = []
    while True:
        page = journal.page(len(read), ended=True)
        read.extend(page.events)
        assert len(page.events) <= EVENTS_PER_PAGE
        assert len(page.events) == 1 or sum(one.data.size for one in page.events if one.data) <= PAGE_BYTES
        assert page.ended == (len(read) == len(journal.events))
        if page.ended:
            break
        assert page.events
    assert read == journal.events


def test_a_page_of_a_run_that_goes_on_never_says_ended() -> None:
    journal = Journal()
    journal.begin()
    assert journal.page(2, ended=False) == wire.EventLog(offset=2, events=[], ended=False)


@pytest.mark.parametrize("offset", [-1, 3])
def test_an_offset_outside_the_list_is_refused(offset: int) -> None:
    journal = Journal()
    journal.begin()
    with pytest.raises(ValueError, match=f"offset {offset} is outside the run's events; it has 0 to 2"):
        journal.page(offset, ended=False)


def test_only_the_first_request_since_the_run_went_on_changes_the_status() -> None:
    journal = Journal()
    journal.begin()
    journal.emit(wire.Event(type="request_info"))
    journal.emit(wire.Event(type="request_info"))
    journal.begin()
    journal.emit(wire.Event(type="request_info"))

    assert [event.state for event in journal.events if event.type == "status"] == [
        "IN_PROGRESS",
        "IN_PROGRESS_PENDING_REQUESTS",
        "IN_PROGRESS",
        "IN_PROGRESS_PENDING_REQUESTS",
    ]
