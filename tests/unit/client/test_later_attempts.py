"""A later attempt of an executor is seen at once: what the one before it showed is void before any result is there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agent_framework import WorkflowEvent

from temporal_adapter import wire
from temporal_adapter.client.streaming import AttemptAbandoned, LiveMerge


async def test_the_first_batch_of_a_later_attempt_makes_the_earlier_ones_events_void_at_once() -> None:
    merge = LiveMerge(_read)
    earlier = await _all(merge.live(_batch("1", 0, "one", "two")))

    abandoned, *later = await _all(merge.live(_batch("2", 0, "uno")))

    assert isinstance(abandoned, AttemptAbandoned)
    assert (abandoned.executor_id, abandoned.attempt) == ("writer", 1)
    assert abandoned.events == earlier
    assert [event.data for event in later] == ["uno"]


async def test_a_later_attempt_whose_first_batch_was_lost_makes_the_earlier_ones_events_void_at_once() -> None:
    merge = LiveMerge(_read)
    earlier = await _all(merge.live(_batch("1", 0, "one", "two")))

    (abandoned,) = await _all(merge.live(_batch("2", 2, "tres")))

    assert isinstance(abandoned, AttemptAbandoned)
    assert abandoned.events == earlier


async def test_the_earlier_attempt_shows_nothing_more_once_a_later_one_does() -> None:
    merge = LiveMerge(_read)
    await _all(merge.live(_batch("1", 0, "one")))
    await _all(merge.live(_batch("2", 0, "uno")))

    assert await _all(merge.live(_batch("1", 1, "two"))) == []
    assert [event.data for event in await _all(merge.live(_batch("2", 1, "dos")))] == ["dos"]


async def _all(shown: AsyncIterator[WorkflowEvent[Any]]) -> list[WorkflowEvent[Any]]:
    return [event async for event in shown]


async def _read(event: wire.Event) -> WorkflowEvent[Any]:
    assert event.data is not None
    return WorkflowEvent("output", event.data.inline, executor_id=event.executor_id)


def _batch(rank: str, position: int, *words: str) -> wire.LiveBatch:
    events = [
        wire.Event(type="output", executor_id="writer", data=wire.Value(inline=word, size=len(word) + 2))
        for word in words
    ]
    return wire.LiveBatch(executor_id="writer", rank=rank, attempt=int(rank), position=position, events=events)
