"""Calling activities, again and again while they fail of what will pass. Workflow code: no rule of a run is here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, TimeoutError, is_cancelled_exception
from temporalio.workflow import ActivityConfig, LocalActivityConfig

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.activity_errors import cause_of, will_pass
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.wire.names import STORE_UNAVAILABLE, TIMED_OUT, Service, service_activity_type

PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
"""Between tries while the workers have another graph than the run was started with, or the blob store is away."""

_TIMEOUT = timedelta(seconds=30)
_TOO_SLOW = "activity {!r} did not end within {} seconds, three times: its workers were lost, or are very slow."
_RETRY = RetryPolicy(maximum_attempts=3, initial_interval=timedelta(milliseconds=200))

_OWN = ActivityConfig(start_to_close_timeout=_TIMEOUT, retry_policy=_RETRY)
_TURN = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=10),
    retry_policy=RetryPolicy(maximum_interval=timedelta(seconds=10)),
)

# In runs of earlier releases.
_LOCAL = LocalActivityConfig(start_to_close_timeout=_TIMEOUT, retry_policy=_RETRY)

# Temporal tries again by itself, which takes no history.
_PATIENT = ActivityConfig(
    start_to_close_timeout=_TIMEOUT, retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1))
)

_LARGEST = 1024 * 1024
"""Bytes of JSON that an activity is given at most; beyond, it is told where they are in the blob store. Temporal takes
2 MiB, and 4 MiB in all that a workflow task leads to."""

_LARGEST_AGAIN = 4 * 1024
"""The same of what has failed before: whatever is tried for weeks must not pass through history each time."""

_PART_BYTES = 256 * 1024
"""Bytes of JSON that go to the blob store in one piece."""


def in_parts(text: str) -> list[str]:
    """Return JSON text in the pieces in which it goes to the blob store; ASCII, so characters are bytes."""
    return [text[start : start + _PART_BYTES] for start in range(0, len(text), _PART_BYTES)]


class Calls:
    """Calls the activities of one MAF workflow.

    Args:
        workflow_name: Of the MAF workflow.
        waits: Told of an error when a call begins to be tried again, with who waits for it.
        ended: Called where history says that an activity has ended which is not one of the adapter's `own`.
    """

    def __init__(
        self, workflow_name: str, waits: Callable[[str, FailureError], None], ended: Callable[[], None]
    ) -> None:
        self._name = workflow_name
        self._waits = waits
        self._ended = ended

    async def activity(self, activity_type: str, data: Any, config: ActivityConfig) -> Any:
        """Call an activity once."""
        try:
            result = await workflow.execute_activity(activity_type, ordered_json(wire.dump(data)), **config)
        except FailureError:
            self._ended()
            raise
        self._ended()
        return result

    @property
    def in_history(self) -> bool:
        """Whether the results of the adapter's own activities have a place in history, as all results have.

        Not in runs of earlier releases: they were local activities there, and where one ends among signals and updates
        that come at once is not always the same in a replay.
        """
        return workflow.patched("the adapter's own activities are in history")

    def own(self, service: Service, data: Any) -> Callable[[], Awaitable[Any]]:
        """Return a call of one of the adapter's own activities, to be made once or again and again."""
        return _OwnCall(self, service, ordered_json(wire.dump(data))).make

    async def turn(self) -> wire.TurnTaken:
        """Begin an activity that does nothing, and wait for its end."""
        return wire.load(wire.TurnTaken, await self.once("turn", ordered_json(wire.dump(wire.TakeTurn())), _TURN))

    async def keep(self, item: Any, *, patiently: bool = False) -> Any:
        """Write JSON of at most half a MiB to the blob store; `patiently`: however long that is away."""
        argument = ordered_json(wire.dump(wire.KeepInput(items=[item])))
        return await self.once("keep", argument, _PATIENT if patiently else _OWN)

    async def once(self, service: Service, argument: RawValue, config: ActivityConfig = _OWN) -> Any:
        """Call one of the adapter's own activities once.

        Raises:
            FailureError: It failed; an ApplicationError of the type `TIMED_OUT` where it took too long each time.
        """
        activity_type = service_activity_type(self._name, service)
        try:
            if self.in_history:
                return await workflow.execute_activity(activity_type, argument, **config)
            return await workflow.execute_local_activity(activity_type, argument, **_LOCAL)
        except ActivityError as error:
            if not isinstance(error.cause, TimeoutError):
                raise
            raise ApplicationError(_TOO_SLOW.format(activity_type, _TIMEOUT.seconds), type=TIMED_OUT) from error

    async def despite_trouble(
        self, who: str, call: Callable[[], Awaitable[Any]], until: Callable[[], bool] = lambda: False
    ) -> Any:
        """Make a call again and again while it fails of what will pass; whatever else it raises is raised.

        So is what will pass, if it is so late by then (`until`) that the caller would rather know.
        """
        return await self._again(who, call, lambda error: will_pass(error) and not until())

    async def surely(self, who: str, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make a call again and again, whatever it fails of: what must not fail a run."""
        return await self._again(who, call, lambda error: not is_cancelled_exception(error))

    async def _again(self, who: str, call: Callable[[], Awaitable[Any]], while_: Callable[[FailureError], bool]) -> Any:
        pause = PAUSE
        while True:
            try:
                return await call()
            except FailureError as error:
                if not while_(error):
                    raise
                if pause == PAUSE:
                    self._waits(who, error)
            await workflow.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


class _OwnCall:
    """A call of one of the adapter's own activities.

    What it is given passes through history each time. So what is large, or failed before, goes to the blob store once,
    and the activity is told where it is.
    """

    def __init__(self, calls: Calls, service: Service, argument: RawValue) -> None:
        self._calls = calls
        self._service: Service = service
        self._argument = argument
        self._size = len(argument.payload.data)
        self._kept: list[wire.Value] = []
        self._failed = False

    async def make(self) -> Any:
        try:
            return await self._calls.once(self._service, await self._given())
        except FailureError as error:
            self._failed = True
            if isinstance(cause := cause_of(error), ApplicationError) and cause.type == STORE_UNAVAILABLE:
                self._kept = []  # the store may have lost them
            raise

    async def _given(self) -> RawValue:
        if not self._calls.in_history or self._size <= (_LARGEST_AGAIN if self._failed else _LARGEST):
            return self._argument
        if not self._kept:
            parts = in_parts(self._argument.payload.data.decode("ascii"))
            kept = [await self._calls.keep(part, patiently=self._failed) for part in parts]
            self._kept = [value for one in kept for value in wire.load(wire.KeepResult, one).values]
        return ordered_json(wire.dump(wire.InParts(in_parts=self._kept)))
