"""The order in which a run takes what people send it, among what its activities return: the same in every replay.

A signal or an update has no place of its own among results. A worker without the run in its cache is given it before
results that came first, where the workflow tasks of those left nothing in history. So nothing is done with a message
until an activity that began after it has ended: by then all that came before it is known. Workflow code.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Turn:
    work: Callable[[], Any]
    outcome: asyncio.Future[Any]
    has_come: bool = False

    def take(self) -> None:
        try:
            self.outcome.set_result(self.work())
        except Exception as error:
            self.outcome.set_exception(error)


class Turns:
    """The messages of one run whose turn has not come, as they came.

    Args:
        wait: Begins an activity, and awaits its end.
    """

    def __init__(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._wait = wait
        self._waiting: deque[_Turn] = deque()

    @property
    def waiting(self) -> bool:
        """Whether there is any."""
        return bool(self._waiting)

    async def take(self, work: Callable[[], T]) -> T:
        """Do what a message asks for in its turn: after all messages before it, whichever activity ends first.

        `work` is called right where the activity's end is made known, so that it comes before any later result.
        """
        turn = _Turn(work, asyncio.get_running_loop().create_future())
        self._waiting.append(turn)
        await self._wait()
        turn.has_come = True
        while self._waiting and self._waiting[0].has_come:
            self._waiting.popleft().take()
        return await turn.outcome
