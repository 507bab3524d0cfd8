"""What hangs in a lane is waited for no longer than it is allowed to take, and keeps nobody from going on."""

from __future__ import annotations

import asyncio

import pytest

from temporal_adapter.replaying.lane import Lane


async def test_a_lane_returns_what_its_work_comes_to() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 3

    lane = Lane()
    assert [await lane.run(work(), 60), await lane.run(work(), 60)] == [3, 3]
    lane.close()


async def test_what_is_raised_is_raised_here() -> None:
    async def work() -> None:
        raise LookupError("no key")

    lane = Lane()
    with pytest.raises(LookupError, match="no key"):
        await lane.run(work(), 60)
    lane.close()


async def test_work_that_cannot_be_cancelled_is_left_alone() -> None:
    cancelled = asyncio.Event()
    loop, over = asyncio.get_running_loop(), False

    async def work() -> None:
        while not over:
            try:
                await asyncio.sleep(0.01 if cancelled.is_set() else 3600)
            except asyncio.CancelledError:
                loop.call_soon_threadsafe(cancelled.set)

    lane = Lane()
    with pytest.raises(asyncio.TimeoutError):
        await lane.run(work(), 0.01)

    await cancelled.wait()  # and it goes on, in its own thread
    over = True
    lane.close()
