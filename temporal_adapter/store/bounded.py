"""Many requests to the blob store at once, but not too many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

REQUESTS_AT_ONCE = 32

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


async def bounded_map(
    function: Callable[[ItemT], Awaitable[ResultT]], items: Iterable[ItemT], at_once: int = REQUESTS_AT_ONCE
) -> list[ResultT]:
    """Return the results in the order of the items, with a bounded number of calls at once."""
    waiting = list(items)
    results: list[ResultT] = []
    for start in range(0, len(waiting), at_once):
        results += await asyncio.gather(*map(function, waiting[start : start + at_once]))
    return results
