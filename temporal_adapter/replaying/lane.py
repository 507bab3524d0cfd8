"""An event loop in a thread of its own, in which something may hang for ever without anybody having to wait for it.

Temporal's replayer never ends over some histories that its core does not take, and cannot be cancelled then.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Lane:
    """Runs one coroutine after another. To be left alone once one of them has timed out."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon, so that a process can end beside one that hangs.
        self._thread = threading.Thread(target=self._loop.run_forever, name="replay-lane", daemon=True)
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Return what a coroutine comes to.

        Raises:
            asyncio.TimeoutError: It took longer.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return await asyncio.wait_for(asyncio.wrap_future(future), seconds)

    def close(self) -> None:
        """End the thread, unless something hangs in it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
