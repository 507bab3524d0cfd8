"""The order in which a run takes what people send it, among what its activities return: the same in every replay.

A signal or an update has no place of its own among results. A worker without the run in its cache is given it before
results that came first, where the workflow tasks of those left nothing in history. So nothing is done with a message
until an activity that began after it has ended: by then all that came before it is known. Workflow code.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
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
        spawn: Runs a coroutine beside the run's others.
    """

    def __init__(
        self, wait: Callable[[], Awaitable[None]], spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    ) -> None:
        self._wait = wait
        self._spawn = spawn
        self._waiting: deque[_Turn] = deque()
        self._begun: set[asyncio.Task[None]] = set()  # kept, since asyncio holds tasks only weakly
        self._paused = False

    async def take(self, work: Callable[[], T]) -> T:
        """Do what a message asks for in its turn: after all messages before it, whichever activity ends first.

        `work` is called right where the activity's end is made known, so that it comes before any later result.
        """
        turn = _Turn(work, asyncio.get_running_loop().create_future())
        self._waiting.append(turn)
        begun = self._spawn(self._await(turn))
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)
        return await turn.outcome

    def pause(self) -> None:
        """No turn comes until they are resumed."""
        self._paused = True

    def resume(self) -> None:
        """Take those whose turn has come meanwhile."""
        self._paused = False
        self._take()

    def take_all(self) -> None:
        """Take all there are, whether their turn has come or not: where nothing more comes before them."""
        while self._waiting:
            self._waiting.popleft().take()

    def dismiss(self, reason: Callable[[], Exception]) -> None:
        """Tell all whose turn has not come that it will not."""
        while self._waiting:
            self._waiting.popleft().outcome.set_exception(reason())

    async def _await(self, turn: _Turn) -> None:
        await self._wait()
        turn.has_come = True
        self._take()

    def _take(self) -> None:
        while self._waiting and self._waiting[0].has_come and not self._paused:
            self._waiting.popleft().take()
