"""Live batches and durable events become one sequence: nothing twice, nothing lost, and what came to nothing is void.

The generated runs have attempts that fail, are lost or go on as zombies, batches that never arrive or come again, and
subscribers that see any part of it late.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from agent_framework import WorkflowEvent
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.client.streaming import AttemptAbandoned, LiveMerge


async def test_what_was_shown_live_is_not_shown_again() -> None:
    merge, seen = _merge()

    await seen.take(merge.live(_batch("writer", "1", 0, "invoked", "one")))
    await seen.take(merge.live(_batch("writer", "1", 2, "two")))
    await seen.durable(merge, "writer", "1", "one", "two", "three")

    assert seen.told == ["invoked", "one", "two", "three", "completed"]


async def test_a_later_attempt_makes_what_an_earlier_one_showed_void() -> None:
    merge, seen = _merge()

    await seen.take(merge.live(_batch("writer", "1", 0, "invoked", "one")))
    await seen.take(merge.live(_batch("writer", "2", 0, "invoked", "uno")))
    await seen.durable(merge, "writer", "2", "uno", "dos")

    assert seen.told == ["invoked", "one", "void: invoked, one", "invoked", "uno", "dos", "completed"]


async def test_an_attempt_that_says_it_failed_is_void_at_once() -> None:
    merge, seen = _merge()

    await seen.take(merge.live(_batch("writer", "1", 0, "invoked", "one")))
    await seen.take(merge.live(wire.LiveBatch(executor_id="writer", rank="1", attempt=1, position=2, abandoned=True)))
    await seen.take(merge.live(_batch("writer", "1", 2, "late")))

    assert seen.told == ["invoked", "one", "void: invoked, one"]


async def test_an_attempt_that_does_not_know_that_it_is_over_is_ignored() -> None:
    merge, seen = _merge()

    await seen.durable(merge, "writer", "2", "uno")
    await seen.take(merge.live(_batch("writer", "1", 0, "invoked", "one")))

    assert seen.told == ["invoked", "uno", "completed"]


async def test_a_subscriber_that_missed_the_first_batch_waits_for_the_result() -> None:
    merge, seen = _merge()

    await seen.take(merge.live(_batch("writer", "1", 2, "two")))
    await seen.durable(merge, "writer", "1", "one", "two")

    assert seen.told == ["invoked", "one", "two", "completed"]


async def test_a_status_of_the_run_between_an_executors_events_is_shown() -> None:
    merge, seen = _merge()

    await seen.take(merge.live(_batch("ask", "1", 0, "invoked", "one")))
    await seen.take(merge.durable(_invoked("ask", "1")))
    await seen.take(merge.durable(_output("ask", "one")))
    await seen.take(merge.durable(wire.Event(type="status", state="IN_PROGRESS_PENDING_REQUESTS")))
    await seen.take(merge.durable(_completed("ask")))

    assert seen.told == ["invoked", "one", "IN_PROGRESS_PENDING_REQUESTS", "completed"]


async def test_a_run_that_fails_takes_back_what_its_other_executors_showed() -> None:
    merge, seen = _merge()

    await seen.take(merge.live(_batch("left", "1", 0, "invoked", "one")))
    await seen.take(merge.live(_batch("right", "2", 0, "invoked", "uno")))
    await seen.take(merge.durable(_invoked("left", None)))
    await seen.take(merge.durable(wire.Event(type="executor_failed", executor_id="left")))
    await seen.take(merge.durable(wire.Event(type="failed")))

    assert seen.told[4:] == ["void: invoked, one", "invoked", "executor_failed", "void: invoked, uno", "failed"]
    assert merge.close() == []


@dataclass
class Attempt:
    """One attempt in a generated run: its words, and how many batches of which sizes arrive of them."""

    words: list[str]
    sizes: list[int]
    arrives: list[bool]
    says_it_failed: bool


ATTEMPTS = st.builds(
    Attempt,
    words=st.lists(st.sampled_from(["a", "b", "c"]), max_size=6),
    sizes=st.lists(st.integers(1, 3), max_size=6),
    arrives=st.lists(st.booleans(), min_size=7, max_size=7),
    says_it_failed=st.booleans(),
)
DELIVERIES = st.lists(st.lists(ATTEMPTS, min_size=1, max_size=3), min_size=1, max_size=4)


@given(deliveries=DELIVERIES, data=st.data())
async def test_without_what_is_void_the_sequence_is_that_of_the_durable_events(
    deliveries: list[list[Attempt]], data: st.DataObject
) -> None:
    merge, seen = _merge()
    expected: list[str] = []
    old: list[wire.LiveBatch] = []
    rank = 0
    for delivery in deliveries:
        for attempt in delivery:
            rank += 1
            for batch in _batches(attempt, f"{rank:04}"):
                await seen.take(merge.live(batch))
                old.append(batch)
                if data.draw(st.booleans(), "a zombie, or the same again"):
                    await seen.take(merge.live(data.draw(st.sampled_from(old))))
        counts = delivery[-1].words
        await seen.durable(merge, "x", f"{rank:04}", *counts)
        expected += ["invoked", *counts, "completed"]
    await seen.take(_each(merge.close()))

    assert seen.valid == expected


def _batches(attempt: Attempt, rank: str) -> list[wire.LiveBatch]:
    """The batches of an attempt that arrive: all up to one that is lost, and perhaps some after it."""
    words, position, batches = ["invoked", *attempt.words], 0, []
    for size, arrives in zip(attempt.sizes, attempt.arrives, strict=False):
        if words[position : position + size] and arrives:
            batches.append(_batch("x", rank, position, *words[position : position + size]))
        position += size
    return batches


@dataclass
class Seen:
    """What a subscriber saw."""

    events: list[WorkflowEvent[Any]] = field(default_factory=list[WorkflowEvent[Any]])

    async def take(self, shown: AsyncIterator[WorkflowEvent[Any]]) -> None:
        self.events += [event async for event in shown]

    async def durable(self, merge: LiveMerge, executor_id: str, rank: str, *words: str) -> None:
        for event in [_invoked(executor_id, rank), *(_output(executor_id, word) for word in words)]:
            await self.take(merge.durable(event))
        await self.take(merge.durable(_completed(executor_id)))

    @property
    def told(self) -> list[str]:
        return [_tell(event) for event in self.events]

    @property
    def valid(self) -> list[str]:
        void = {id(event) for one in self.events if isinstance(one, AttemptAbandoned) for event in [one, *one.events]}
        return [_tell(event) for event in self.events if id(event) not in void]


def _merge() -> tuple[LiveMerge, Seen]:
    return LiveMerge(_read), Seen()


async def _read(event: wire.Event) -> WorkflowEvent[Any]:
    text = event.data.inline if event.data is not None else event.state
    return WorkflowEvent(event.type, text, executor_id=event.executor_id)  # type: ignore[arg-type]


async def _each(events: list[WorkflowEvent[Any]]) -> AsyncIterator[WorkflowEvent[Any]]:
    for event in events:
        yield event


def _tell(event: WorkflowEvent[Any]) -> str:
    if isinstance(event, AttemptAbandoned):
        return f"void: {', '.join(_tell(one) for one in event.events)}"
    names = {"executor_invoked": "invoked", "executor_completed": "completed"}
    return event.data or names.get(event.type, event.type)


def _batch(executor_id: str, rank: str, position: int, *words: str) -> wire.LiveBatch:
    events = [_invoked(executor_id, None) if word == "invoked" else _output(executor_id, word) for word in words]
    return wire.LiveBatch(executor_id=executor_id, rank=rank, attempt=int(rank), position=position, events=events)


def _invoked(executor_id: str, rank: str | None) -> wire.Event:
    return wire.Event(type="executor_invoked", executor_id=executor_id, attempt=rank)


def _completed(executor_id: str) -> wire.Event:
    return wire.Event(type="executor_completed", executor_id=executor_id)


def _output(executor_id: str, word: str) -> wire.Event:
    return wire.Event(type="output", executor_id=executor_id, data=wire.Value(inline=word, size=len(word) + 2))
