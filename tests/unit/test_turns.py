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


async def settled() -> None:
    """Let all that can run do so."""
    for _ in range(5):
        await asyncio.sleep(0)


@given(st.permutations(range(5)))
def test_messages_are_taken_as_they_came(ends: list[int]) -> None:
    async def play() -> tuple[list[int], list[int]]:
        activities, taken = Activities(), list[int]()
        turns = Turns(activities, asyncio.create_task)
        tasks = [asyncio.create_task(turns.take(lambda n=n: taken.append(n) or n)) for n in range(5)]
        await settled()
        for number in ends:
            activities.begun[number].set()
            await settled()
            before = [all(activities.begun[one].is_set() for one in range(taken_one + 1)) for taken_one in taken]
            assert all(before)
        return taken, list(await asyncio.gather(*tasks))

    taken, returned = asyncio.run(play())

    assert taken == returned == list(range(5))


async def test_a_message_is_taken_where_its_activity_ends_before_anything_else_runs() -> None:
    activities, seen = Activities(), list[str]()
    turns = Turns(activities, asyncio.create_task)

    async def result(after: asyncio.Event) -> None:
        await after.wait()
        seen.append("result")

    message = asyncio.create_task(turns.take(lambda: seen.append("message")))
    await settled()
    later = asyncio.Event()
    waiting = asyncio.create_task(result(later))
    await settled()

    activities.begun[0].set()
    later.set()
    await asyncio.gather(message, waiting)

    assert seen == ["message", "result"]


async def test_what_a_message_is_refused_for_is_its_senders_and_holds_up_nobody() -> None:
    activities = Activities()
    turns = Turns(activities, asyncio.create_task)

    def refuse() -> None:
        raise ValueError("no")

    refused = asyncio.create_task(turns.take(refuse))
    after = asyncio.create_task(turns.take(lambda: "taken"))
    await settled()
    activities.begun[1].set()
    await settled()
    assert not after.done()
    activities.begun[0].set()

    with pytest.raises(ValueError, match="no"):
        await refused
    assert await after == "taken"


async def test_no_turn_comes_while_they_are_paused_and_all_that_have_come_are_taken_afterwards() -> None:
    activities, taken = Activities(), list[int]()
    turns = Turns(activities, asyncio.create_task)
    tasks = [asyncio.create_task(turns.take(lambda n=n: taken.append(n))) for n in range(3)]
    await settled()
    turns.pause()
    for number in (1, 0):
        activities.begun[number].set()
    await settled()
    assert taken == []

    turns.resume()
    assert taken == [0, 1]
    activities.begun[2].set()
    await asyncio.gather(*tasks)
    assert taken == [0, 1, 2]


async def test_at_the_end_all_are_taken_at_once() -> None:
    activities, taken = Activities(), list[int]()
    turns = Turns(activities, asyncio.create_task)
    tasks = [asyncio.create_task(turns.take(lambda n=n: taken.append(n))) for n in range(3)]
    await settled()
    activities.begun[1].set()
    await settled()

    turns.take_all()
    await asyncio.gather(*tasks)

    assert taken == [0, 1, 2]


async def test_whose_turn_will_not_come_is_told_at_once_in_order() -> None:
    activities, told = Activities(), list[int]()
    turns = Turns(activities, asyncio.create_task)

    async def sender(number: int) -> None:
        with pytest.raises(ValueError, match="gone"):
            await turns.take(lambda: told.append(-1))
        told.append(number)

    senders = [asyncio.create_task(sender(number)) for number in range(3)]
    await settled()
    activities.begun[1].set()
    await settled()

    turns.dismiss(lambda: ValueError("gone"))
    await asyncio.gather(*senders)
    activities.begun[0].set()
    await settled()

    assert told == [0, 1, 2]
