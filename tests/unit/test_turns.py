"""The order in which messages are taken, whichever of their activities ends first."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.turns import Turns


class Activities:
    """Activities that end when they are told to."""

    def __init__(self) -> None:
        self.begun: list[asyncio.Event] = []

    async def __call__(self) -> None:
        self.begun.append(asyncio.Event())
        await self.begun[-1].wait()


@given(st.permutations(range(5)))
def test_messages_are_taken_as_they_came(ends: list[int]) -> None:
    async def play() -> tuple[list[int], list[int]]:
        activities, taken = Activities(), list[int]()
        turns = Turns(activities)
        tasks = [asyncio.create_task(turns.take(lambda n=n: taken.append(n) or n)) for n in range(5)]
        await asyncio.sleep(0)
        for number in ends:
            activities.begun[number].set()
            await asyncio.sleep(0)
            before = [all(activities.begun[one].is_set() for one in range(taken_one + 1)) for taken_one in taken]
            assert all(before)
        return taken, list(await asyncio.gather(*tasks))

    taken, returned = asyncio.run(play())

    assert taken == returned == list(range(5))


async def test_a_message_is_taken_where_its_activity_ends_before_anything_else_runs() -> None:
    activities, seen = Activities(), list[str]()
    turns = Turns(activities)

    async def result(after: asyncio.Event) -> None:
        await after.wait()
        seen.append("result")

    message = asyncio.create_task(turns.take(lambda: seen.append("message")))
    await asyncio.sleep(0)
    later = asyncio.Event()
    waiting = asyncio.create_task(result(later))
    await asyncio.sleep(0)

    activities.begun[0].set()
    later.set()
    await asyncio.gather(message, waiting)

    assert seen == ["message", "result"]


async def test_what_a_message_is_refused_for_is_its_senders_and_holds_up_nobody() -> None:
    activities = Activities()
    turns = Turns(activities)

    def refuse() -> None:
        raise ValueError("no")

    refused = asyncio.create_task(turns.take(refuse))
    after = asyncio.create_task(turns.take(lambda: "taken"))
    await asyncio.sleep(0)
    assert turns.waiting
    activities.begun[1].set()
    await asyncio.sleep(0)
    assert not after.done()
    activities.begun[0].set()

    with pytest.raises(ValueError, match="no"):
        await refused
    assert await after == "taken"
    assert not turns.waiting
