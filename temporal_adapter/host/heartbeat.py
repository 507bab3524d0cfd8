"""An activity's attempt while user code runs: its heartbeats, and that nothing comes of it once it was cancelled.

What the attempt does, and how its errors leave it, is not known here.

By heartbeats Temporal tells a worker that died from one at work, and by their answers an attempt learns that it is
cancelled: its run was cancelled or failed, or it timed out and another attempt took over. They cost no history.

They come from the worker's event loop. User code may block that, by a synchronous call in an async handler. In-process
that does no harm, and here it must not look like a dead worker, neither for the attempt that blocks nor for the others
at work on the loop; so meanwhile they come from a thread. Native code that keeps the interpreter lock stops both, and
an attempt that the worker was given while its loop was blocked has not begun: it is given again after its timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.bridge.proto import ActivityHeartbeat
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

HEARTBEAT_THROTTLE = timedelta(seconds=5)
"""The longest that a worker is to keep a heartbeat back. The SDK's own is a minute, or 0.8 of the heartbeat timeout: so
long an attempt would not learn that it is cancelled."""

_BEATS = 6  # in one heartbeat timeout: an attempt outlives the loss of several
_PATIENCE = 2  # intervals without a heartbeat from the loop, after which the thread sends them

logger = logging.getLogger(__name__)


class Heart:
    """Sends the heartbeats of the attempts at work on one worker."""

    def __init__(self) -> None:
        self._pulses: set[_Pulse] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._tick = 0.0  # seconds that the thread waits

    @asynccontextmanager
    async def beating(self) -> AsyncGenerator[None, None]:
        """Heartbeat while the block runs, unless the activity has no heartbeat timeout.

        The first comes after a sixth of the timeout, so that shorter attempts send none.
        """
        timeout = activity.info().heartbeat_timeout
        if timeout is None:
            yield
            return
        pulse = _Pulse(timeout.total_seconds() / _BEATS, _recorder())
        self._watch(pulse)
        beating = asyncio.create_task(pulse.beat())
        try:
            yield
        finally:
            beating.cancel()
            self._leave(pulse)

    def _watch(self, pulse: _Pulse) -> None:
        with self._changed:
            self._pulses.add(pulse)
            if self._thread is None:
                self._thread = threading.Thread(target=self._stand_in, name="heartbeat", daemon=True)
                self._thread.start()
            elif pulse.interval < self._tick:
                self._changed.notify()

    def _leave(self, pulse: _Pulse) -> None:
        with self._changed:
            self._pulses.discard(pulse)

    def _stand_in(self) -> None:
        """The thread: it ends when a tick finds no attempt at work."""
        warned = False
        while True:
            with self._changed:
                if not self._pulses:
                    self._thread = None
                    return
                self._tick = min(pulse.interval for pulse in self._pulses)
                self._changed.wait(self._tick)
                pulses = list(self._pulses)
            blocked = [pulse for pulse in pulses if pulse.silence > _PATIENCE * pulse.interval]
            for pulse in blocked:
                with contextlib.suppress(Exception):  # such as that the worker has stopped since
                    pulse.record()
            if blocked and not warned:
                logger.warning(_BLOCKED, max(pulse.silence for pulse in blocked))
            warned = bool(blocked)


class _Pulse:
    """The heartbeats of one attempt.

    Args:
        interval: Seconds between them.
        record: Sends one from any thread.
    """

    def __init__(self, interval: float, record: Callable[[], None]) -> None:
        self.interval = interval
        self.record = record
        self._last = time.monotonic()

    @property
    def silence(self) -> float:
        """Seconds since the event loop last came round."""
        return time.monotonic() - self._last

    async def beat(self) -> None:
        """Heartbeat from the event loop, for ever."""
        while True:
            await asyncio.sleep(self.interval)
            self._last = time.monotonic()
            activity.heartbeat()


_BLOCKED = (
    "The worker's event loop has been blocked for %.0f s: an executor makes a synchronous call in an async handler. "
    "Nothing else on this worker goes on meanwhile. Await the call, or make it by asyncio.to_thread."
)


def _recorder() -> Callable[[], None]:
    """Return what records a heartbeat from any thread; what does nothing, should a release of the SDK not allow it.

    The SDK has no public way: `activity.heartbeat` goes by the event loop. A client's handle would reach the server,
    but not the worker's core, which gives an attempt up a little after its heartbeat timeout.
    """
    heartbeat = ActivityHeartbeat(task_token=activity.info().task_token)
    try:
        outbound: Any = activity._Context.current().heartbeat.__self__  # type: ignore # pyright: ignore
        while hasattr(outbound, "next"):  # users' interceptors
            outbound = outbound.next
        worker = outbound._worker
    except AttributeError:
        return lambda: None
    return lambda: worker._bridge_worker().record_activity_heartbeat(heartbeat)


# --- attempts that are not wanted any more ------------------------------------------------------------------


@asynccontextmanager
async def attempt(heart: Heart) -> AsyncGenerator[None, None]:
    """Heartbeat while the block runs, and let nothing come of it once the attempt was cancelled.

    Raises:
        asyncio.CancelledError: The attempt was cancelled, whatever the executor made of that.
        ApplicationError: The same, when nobody waits for the attempt's end any more. Nobody sees it.
    """
    try:
        try:
            async with heart.beating():
                yield
        except Exception as error:
            check_wanted(error)
            raise
        check_wanted()
    except asyncio.CancelledError:
        details = activity.cancellation_details()
        if details is None or not details.not_found:
            raise
        activity.logger.info("The attempt was cancelled: its run has ended, or another attempt took over.")
        # Not as it is: the SDK would log it as a failure, with its stack.
        raise ApplicationError("The attempt was cancelled.", category=ApplicationErrorCategory.BENIGN) from None


def check_wanted(error: Exception | None = None) -> None:
    """Raise if the attempt was cancelled; its executor may have swallowed that, or made an error of it.

    Raises:
        asyncio.CancelledError: It was.
    """
    if activity.is_cancelled():
        raise asyncio.CancelledError("The attempt was cancelled.") from error
