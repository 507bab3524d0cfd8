"""Deadlines of pending requests: when something is due next, and what.

Keeps no time itself: it is told of instants that were due, which it named before. All times follow from what is
recorded with the requests, so a replay comes to the same ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from temporal_adapter import wire


@dataclass(frozen=True, slots=True, order=True)
class Due:
    """Something to be done about a request at a time."""

    at: datetime
    order: int  # of scheduling, among those of one time
    request: wire.Request = field(compare=False)
    what: Literal["remind", "expire"] = field(compare=False)


class Deadlines:
    """What is due, for the requests that are still pending when it is.

    Args:
        waits: Whether this very request still waits for a response.
    """

    def __init__(self, waits: Callable[[wire.Request], bool]) -> None:
        self._waits = waits
        self._due: list[Due] = []
        self._count = 0
        self._reminders: dict[str, int] = {}  # by request id

    def watch(self, request: wire.Request) -> None:
        """A request was made, or is pending in the checkpoint that the run goes on from."""
        deadline, asked = request.deadline, _asked(request)
        if deadline is None or asked is None:
            return
        self._reminders.pop(request.request_id, None)
        if deadline.expire_after is not None:
            self._schedule(asked + timedelta(seconds=deadline.expire_after), request, "expire")
        if deadline.remind_at_once:
            self._schedule(asked, request, "remind")
        elif deadline.remind_every is not None:
            self._schedule(asked + timedelta(seconds=deadline.remind_every), request, "remind")

    def reminded(self, request: wire.Request, at: str) -> None:
        """A reminder was sent: the next is due at the first of its times after this one, however many were missed."""
        deadline, asked = request.deadline, _asked(request)
        if deadline is None or deadline.remind_every is None or asked is None:
            return
        every = timedelta(seconds=deadline.remind_every)
        passed = max(0, (datetime.fromisoformat(at) - asked) // every)
        self._schedule(asked + every * (passed + 1), request, "remind")

    def next_at(self) -> str | None:
        """Return when something is due next (ISO 8601, UTC)."""
        while self._due and not self._waits(self._due[0].request):
            heapq.heappop(self._due)
        return _text(self._due[0].at) if self._due else None

    def take(self, at: str) -> Iterator[Due]:
        """Yield what is due at an instant or before, in order, once; of a request that has expired nothing more."""
        until = datetime.fromisoformat(at)
        expired: list[str] = []
        while self._due and self._due[0].at <= until:
            due = heapq.heappop(self._due)
            if due.request.request_id in expired or not self._waits(due.request):
                continue
            if due.what == "expire":
                expired.append(due.request.request_id)
            yield due

    def carried(self, requests: Mapping[str, wire.Request]) -> tuple[list[wire.CarriedDue], dict[str, int]]:
        """Return what is due, in order, and how many reminders were sent, of requests that wait."""
        due = [
            wire.CarriedDue(at=_text(one.at), request_id=one.request.request_id, what=one.what)
            for one in sorted(self._due)
            if self._waits(one.request)
        ]
        return due, {key: number for key, number in self._reminders.items() if key in requests}

    def go_on(
        self, due: Iterable[wire.CarriedDue], reminders: Mapping[str, int], requests: Mapping[str, wire.Request]
    ) -> None:
        """Keep what was due when the run went on as another Temporal run."""
        self._reminders.update(reminders)
        for one in due:
            self._schedule(datetime.fromisoformat(one.at), requests[one.request_id], one.what)

    def number_of(self, request_id: str) -> int:
        """Return the number of the reminder that is sent now, from 1."""
        number = self._reminders[request_id] = self._reminders.get(request_id, 0) + 1
        return number

    def reminders(self, request_id: str) -> int:
        """Return how many reminders of a request were sent."""
        return self._reminders.get(request_id, 0)

    def _schedule(self, at: datetime, request: wire.Request, what: Literal["remind", "expire"]) -> None:
        at = _whole_second(at)
        self._count += 1
        heapq.heappush(self._due, Due(at, self._count, request, what))


def _text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")


def _whole_second(at: datetime) -> datetime:
    """Round up: what is due within a second is due together, since a timer takes a second in any case."""
    return at if not at.microsecond else at.replace(microsecond=0) + timedelta(seconds=1)


def expires_at(request: wire.Request) -> str | None:
    """Return when a request expires (ISO 8601, UTC), if ever."""
    asked, deadline = _asked(request), request.deadline
    if asked is None or deadline is None or deadline.expire_after is None:
        return None
    return _text(asked + timedelta(seconds=deadline.expire_after))


def _asked(request: wire.Request) -> datetime | None:
    return None if request.asked_at is None else datetime.fromisoformat(request.asked_at)
