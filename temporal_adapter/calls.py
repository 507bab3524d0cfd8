"""Calling activities, again and again while they fail of what will pass. Workflow code: no rule of a run is here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, FailureError, TimeoutError, is_cancelled_exception
from temporalio.workflow import ActivityConfig, LocalActivityConfig

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.activity_errors import will_pass
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.wire.names import Service, service_activity_type

PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
"""Between tries while the workers have another graph than the run was started with, or the blob store is away."""

_TIMEOUT = timedelta(seconds=30)
_RETRY = RetryPolicy(maximum_attempts=3, initial_interval=timedelta(milliseconds=200))

_OWN = ActivityConfig(start_to_close_timeout=_TIMEOUT, retry_policy=_RETRY)
_TURN = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=10),
    retry_policy=RetryPolicy(maximum_interval=timedelta(seconds=10)),
)

_LARGEST = 1024 * 1024
"""Bytes of JSON that one of the adapter's own activities is given by way of history. Temporal takes 2 MiB, and 4 MiB in
all that a workflow task leads to."""

# What is larger is given to a local activity, on this very worker; so was everything by earlier releases.
_LOCAL = LocalActivityConfig(start_to_close_timeout=_TIMEOUT, retry_policy=_RETRY)


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

    async def own(self, service: Service, data: Any) -> Any:
        """Call one of the adapter's own activities once; again where its worker was lost."""
        while True:
            try:
                return await self._own(service, data, _OWN)
            except ActivityError as error:
                if not isinstance(error.cause, TimeoutError):
                    raise

    async def turn(self) -> wire.TurnTaken:
        """Begin an activity that does nothing, and wait for its end."""
        return wire.load(wire.TurnTaken, await self._own("turn", wire.TakeTurn(), _TURN))

    async def _own(self, service: Service, data: Any, config: ActivityConfig) -> Any:
        activity_type = service_activity_type(self._name, service)
        argument = ordered_json(wire.dump(data))
        if self.in_history and len(argument.payload.data) <= _LARGEST:
            return await workflow.execute_activity(activity_type, argument, **config)
        return await workflow.execute_local_activity(activity_type, argument, **_LOCAL)

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
