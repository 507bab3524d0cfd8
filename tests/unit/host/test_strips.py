"""In a streaming run consecutive yields are one value, in the events and in `executor_completed` alike."""

from __future__ import annotations

from typing import Any

from agent_framework import WorkflowEvent, WorkflowEventSource
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.host.outcome import ResultTable, result_events
from temporal_adapter.values import Codec

WORDS = st.lists(st.sampled_from(["a", "b"]), max_size=40)


@given(
    yields=st.lists(st.tuples(WORDS, st.booleans()), max_size=4),
    sent=st.lists(st.sampled_from(["a", "message"]), max_size=3),
    hidden=st.booleans(),
)
async def test_events_and_items_are_the_same_with_and_without_strips(
    yields: list[tuple[list[str], bool]], sent: list[str], hidden: bool
) -> None:
    events: list[WorkflowEvent[Any]] = []
    for words, warns in yields:
        events += [] if hidden else [_event("output", word) for word in words]
        events += [_event("warning", "half done")] if warns else []
    items = [*sent, *(word for words, _ in yields for word in words)]
    events.append(WorkflowEvent("executor_completed", items, executor_id="x", origin=WorkflowEventSource.FRAMEWORK))

    plain, striped = [await _told(events, strips=strips) for strips in (False, True)]

    assert striped == plain


async def test_many_yields_are_stored_once_and_in_one_piece() -> None:
    words = [f"word {number}" for number in range(100)]
    events = [_event("output", word) for word in words]
    events.append(WorkflowEvent("executor_completed", words, executor_id="x", origin=WorkflowEventSource.FRAMEWORK))
    table = ResultTable(Codec({}))

    shapes = await result_events(events, table, _NO_WRITER, strips=True)

    assert (table.encoded, table.many) == ([words], {0: 100})
    assert [(shape.data, shape.items) for shape in shapes] == [(0, None), (None, [0])]


_NO_WRITER: Any = None  # only requests are written


async def _told(events: list[WorkflowEvent[Any]], *, strips: bool) -> list[Any]:
    table = ResultTable(Codec({}))
    told: list[Any] = []
    for shape in await result_events(events, table, _NO_WRITER, strips=strips):
        if shape.items is not None:
            told.append([one for place in shape.items for one in _objects(table, place)])
        else:
            assert shape.data is not None
            told += [(shape.type, shape.executor_id, shape.origin, one) for one in _objects(table, shape.data)]
    return told


def _objects(table: ResultTable, place: int) -> list[Any]:
    return table.encoded[place] if place in table.many else [table.encoded[place]]


def _event(type: Any, data: str) -> WorkflowEvent[Any]:
    return WorkflowEvent(type, data, executor_id="x", origin=WorkflowEventSource.FRAMEWORK)
