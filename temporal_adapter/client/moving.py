"""Moving open runs to the current build of their worker deployment, and telling what became of each.

A run moves by going on as a new Temporal run, at its next checkpoint. The signal `continue_as_new` asks it to, and is
with Temporal from then on, whether anybody waits for the outcome or not.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter import wire
from temporal_adapter.answers import readable_value
from temporal_adapter.wire.names import CONTINUE_AS_NEW

from .asking import each
from .builds import Placement, current_build, placement

MoveOutcome = Literal[
    "moved",
    "there",
    "by_itself",
    "asked",
    "unserved",
    "refused",
    "pinned_by_hand",
    "no_target",
    "unversioned",
    "closed",
    "unknown",
]

FINE: tuple[MoveOutcome, ...] = ("moved", "there", "by_itself")
"""Outcomes after which a run is on the current build, or will be with its next step."""

# How a run says that it does not do what it is asked: of this release, and of those before there was such a signal.
_REFUSALS = ("cannot go on as a new Temporal run", f"Signal '{CONTINUE_AS_NEW}' is unknown")

_LOOK_SECONDS = (0.1, 1.0)  # between looks what became of a run: at first, and at most
_ANSWER_TIMEOUT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Move:
    """What became of a run that was to move.

    Attributes:
        workflow_id: Of the run.
        outcome: `moved`; `there`: on the current build already; `by_itself`: it goes over with its next step; `asked`:
            not at a checkpoint yet, and moves when it is; `unserved`: it is asked, and no worker of its build answers;
            `refused`; `pinned_by_hand`: an operator's override holds it; `no_target`: its deployment has no current
            build; `unversioned`: its workers have no versioning; `closed`; `unknown`: there is no such run.
        detail: The outcome in words.
        deployment: The worker deployment of the run.
        from_build: The build it was on.
        to_build: The build it is on now, if it moved.
        run_id: Temporal's, of what is the run now.
    """

    workflow_id: str
    outcome: MoveOutcome
    detail: str
    deployment: str | None = None
    from_build: str | None = None
    to_build: str | None = None
    run_id: str | None = None


async def move_runs(client: Client, workflow_ids: Sequence[str], *, wait: timedelta) -> list[Move]:
    """Ask runs to go on on the current build of their deployments; return what became of each, in their order.

    Args:
        client: A Temporal client. It needs neither plugin nor code of the workflows.
        workflow_ids: Of the runs.
        wait: How long to wait for each to move.

    Raises:
        temporalio.service.RPCError: The server refuses.
    """
    moving = _Moving(client, wait.total_seconds())
    return await each(moving.move, workflow_ids)


class _Moving:
    """Moves runs; asks the server once about each deployment."""

    def __init__(self, client: Client, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self._current: dict[str, asyncio.Future[str | None]] = {}

    async def move(self, workflow_id: str) -> Move:
        """Move one run; return what became of it."""
        handle = self._client.get_workflow_handle(workflow_id)
        try:
            before = await handle.describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return Move(workflow_id, "unknown", "there is no such run")
        place = placement(before)
        if before.status is not WorkflowExecutionStatus.RUNNING:
            return _told(workflow_id, place, "closed", f"it is over: {_status(before)}")
        target = await self._current_of(place)
        left = _left_alone(workflow_id, place, target)
        if left is not None:
            return left
        return await self._asked(_Asked(self._client, workflow_id, before.run_id, place, cast("str", target)))

    async def _asked(self, run: _Asked) -> Move:
        """Ask a run, and wait until it has moved, or says that it does not."""
        seen = await run.events()
        if not await run.signal():
            return _told(run.id, run.place, "closed", "it ended just now")
        until = time.monotonic() + self._seconds
        pause = _LOOK_SECONDS[0]
        while True:
            came = await run.what_came(seen)
            if came is not None:
                return came
            if seen is None or time.monotonic() >= until:
                return run.not_yet(seen)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LOOK_SECONDS[1])

    async def _current_of(self, place: Placement) -> str | None:
        if place.deployment is None:
            return None
        if place.deployment not in self._current:
            asking = current_build(self._client, place.deployment)
            self._current[place.deployment] = asyncio.ensure_future(asking)
        return await self._current[place.deployment]


def _left_alone(workflow_id: str, place: Placement, target: str | None) -> Move | None:
    """Return what is told of a run that is not asked, since it need not or cannot move."""
    if place.build_id is None:
        why = "its workers have no Worker Versioning, or none has begun it: whichever serve its task queue take it"
        return _told(workflow_id, place, "unversioned", why)
    if place.overridden:
        unpin = f"--workflow-id {shlex.quote(workflow_id)} --versioning-override-behavior unspecified"
        why = f"it is pinned to build {place.build_id!r} by hand; to end that: temporal workflow update-options {unpin}"
        return _told(workflow_id, place, "pinned_by_hand", why)
    if target is None:
        to_set = f"--deployment-name {shlex.quote(place.deployment or '')} --build-id BUILD_ID"
        why = (
            f"no build of deployment {place.deployment!r} is current; to make one so: "
            f"temporal worker deployment set-current-version {to_set}"
        )
        return _told(workflow_id, place, "no_target", why)
    if place.build_id == target:
        return _told(workflow_id, place, "there", f"it is on build {target!r}, which is current")
    if not place.pinned:
        why = f"it goes over to build {target!r} by itself, with its next step"
        return _told(workflow_id, place, "by_itself", why)
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A run that is asked to move; by its run id, so that what comes after it is not asked again."""

    client: Client
    id: str
    run_id: str
    place: Placement
    target: str

    async def signal(self) -> bool:
        """Ask it; return whether it was still there."""
        try:
            await self.client.get_workflow_handle(self.id, run_id=self.run_id).signal(CONTINUE_AS_NEW)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            now = await self.client.get_workflow_handle(self.id).describe()
            return now.run_id != self.run_id  # it went on just now
        return True

    async def what_came(self, seen: int | None) -> Move | None:
        """Return what became of the run since it was asked; None if nothing did."""
        now = await self.client.get_workflow_handle(self.id).describe()
        if now.run_id != self.run_id:
            return self._moved(placement(now), now.run_id)
        if now.status is not WorkflowExecutionStatus.RUNNING:
            return _told(self.id, self.place, "closed", f"it ended meanwhile: {_status(now)}")
        refusal = None if seen is None else await self._refusal(seen)
        return None if refusal is None else _told(self.id, self.place, "refused", refusal)

    def _moved(self, after: Placement, run_id: str) -> Move | None:
        if not after.pinned:
            return None  # no worker has begun it, so that Temporal has it on the build that it came from
        before = self.place
        if after.build_id == before.build_id:
            why = f"it went on as a new Temporal run, and is on build {after.build_id!r} still"
            return Move(self.id, "refused", why, before.deployment, before.build_id, None, run_id)
        why = f"from build {before.build_id!r} to {after.build_id!r}"
        return Move(self.id, "moved", why, before.deployment, before.build_id, after.build_id, run_id)

    def not_yet(self, seen: int | None) -> Move:
        """Return what is told of a run from which nothing came."""
        if seen is None:
            why = (
                f"no worker of its build {self.place.build_id!r} answers: start one "
                f"(--deployment-name {self.place.deployment} --build-id {self.place.build_id}), and it moves to build "
                f"{self.target!r}"
            )
            return _told(self.id, self.place, "unserved", why)
        why = f"not at rest yet: it moves to build {self.target!r} at its next checkpoint"
        return _told(self.id, self.place, "asked", why)

    async def events(self) -> int | None:
        """Return how many events the run had so far; None if no worker of its build answers."""
        status = await self._query("status")
        return None if status is None else wire.load(wire.RunStatus, status).events

    async def _refusal(self, seen: int) -> str | None:
        """Return why the run does not do what it was asked, if it says so after so many events."""
        page = await self._query("events", seen)
        for event in [] if page is None else wire.load(wire.EventLog, page).events:
            text = readable_value(event.data) if event.type == "warning" and event.data is not None else None
            if isinstance(text, str) and any(one in text for one in _REFUSALS):
                return text
        return None

    async def _query(self, name: str, *args: Any) -> Any:
        handle = cast("Any", self.client.get_workflow_handle(self.id, run_id=self.run_id))
        try:
            return await handle.query(name, args=args, rpc_timeout=_ANSWER_TIMEOUT)
        except (RPCError, WorkflowQueryFailedError):
            return None


def _told(workflow_id: str, place: Placement, outcome: MoveOutcome, detail: str) -> Move:
    return Move(workflow_id, outcome, detail, place.deployment, place.build_id)


def _status(description: Any) -> str:
    return "UNKNOWN" if description.status is None else description.status.name
