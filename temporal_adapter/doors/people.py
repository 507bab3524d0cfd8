"""What people tell a run: responses, cancellations of requests, and an operator's retries.

A signal must never fail, whatever is in it: it would fail the run, or its workflow task for ever. So all signals come
through one door, which reads their payloads itself; what becomes of a bad one is in the events.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.answers import fates_as_json
    from temporal_adapter.continuation import continues
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.engine import CancelRequested, Fate, ResponsesReceived
    from temporal_adapter.wire.names import CANCEL_REFUSED, CONTINUE_AS_NEW, RESPONSE_REFUSED, RETRY_REFUSED

    from .queries import Queries

SIGNALS = ("respond", "cancel_requests", "retry", CONTINUE_AS_NEW)

_ANSWERS_KEPT = 20  # of updates: their callers may ask again where the run goes on as another Temporal run

_SHOWN_REASONS = 2000  # characters of refusals in the error of an update; its details have each in full


T = TypeVar("T")


class People(Queries):
    """A run that people can answer."""

    @workflow.signal(dynamic=True)
    async def _signal(self, name: str, payloads: Sequence[RawValue]) -> None:
        self._look()
        await self._take_signal(name, payloads)

    async def _do_as_told(self, name: str, payloads: Sequence[RawValue]) -> None:
        """See base class. What becomes of a bad signal is in the events."""
        try:
            work = self._asked(name, payloads)
        except wire.WireError as error:
            name, work = "", functools.partial(self._warn, f"A {name} signal was refused: {error}")
        await self._taken(name, work)

    def _do_at_once(self, name: str, payloads: Sequence[RawValue]) -> None:
        """See base class."""
        try:
            self._asked(name, payloads)()
        except wire.WireError as error:
            self._warn(f"A {name} signal was refused: {error}")

    def _asked(self, name: str, payloads: Sequence[RawValue]) -> Callable[[], object]:
        """Return what a signal asks for, to be called in its turn.

        Raises:
            WireError: It cannot be read.
        """
        if name not in SIGNALS:
            told = f"Signal {name!r} is unknown, and was ignored; there are: {', '.join(SIGNALS)}."
            return functools.partial(self._warn, told)
        data = [_read(one) for one in payloads]
        if name == "respond":
            return functools.partial(self._receive, wire.parse_responses(*data))
        if name == "cancel_requests":
            return functools.partial(self._receive_cancellation, wire.parse_cancel_requests(*data))
        if name == CONTINUE_AS_NEW:
            return self._ask_to_leave
        return functools.partial(self._retry_by_signal, data)

    async def _taken(self, name: str, work: Callable[[], T]) -> T:
        """Do what a message asks for in its turn; in runs of earlier releases, when these did."""
        if self._calls.in_history or name == "cancel_requests":
            return await self._in_turn(work)
        if name == "retry":
            await workflow.sleep(timedelta(milliseconds=1))
        return work()

    def _ask_to_leave(self) -> None:
        """An operator wants the run to go on as a new Temporal run, on the current version of its deployment."""
        if self._engine.entered and self._engine.continues is None:
            self._warn(
                "The run cannot go on as a new Temporal run: it has no checkpoint yet, or an earlier release began it."
            )
        else:
            self._asked_to_leave = True

    async def _once(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do what an update asks for; or answer as before, where it was sent to an earlier Temporal run of this one.

        Within one Temporal run, Temporal sees to that.
        """
        self._look()
        update = workflow.current_update_info()
        assert update is not None
        known = self._answered_updates
        if update.id not in known:
            answer = await work()
            known[update.id] = answer
            if len(known) > _ANSWERS_KEPT:
                del known[next(iter(known))]
        return known[update.id]

    @workflow.update(name="respond", description="Answer pending requests; fails with the reason if refused.")
    async def _respond_update(self, responses: Any = None, *more: Any) -> Any:
        self._look()
        parsed = wire.parse_responses(responses, *more)
        return await self._answered(await self._taken("respond", lambda: self._expected(self._receive(parsed))))

    async def _answered(self, ticket: int) -> Any:
        return ordered_json(fates_as_json(await self._fates(ticket, RESPONSE_REFUSED)))

    def _expected(self, ticket: int) -> int:
        """Have the answer to a ticket kept: it may come before whoever waits for it goes on."""
        self._awaited.add(ticket)
        return ticket

    async def _fates(self, ticket: int, error_type: str) -> Sequence[Fate]:
        """Wait for the answer to a ticket that is `_expected`.

        Raises:
            ApplicationError: Of this type; something of it was refused.
        """
        await workflow.wait_condition(lambda: ticket in self._answers or ticket in self._released)
        self._awaited.discard(ticket)
        if ticket not in self._answers:
            raise continues()
        fates = self._answers.pop(ticket)
        refused = [fate.refused for fate in fates if fate.refused is not None]
        if refused:
            reasons = " ".join(refused)
            shown = reasons if len(reasons) <= _SHOWN_REASONS else f"{reasons[:_SHOWN_REASONS]}..."
            raise ApplicationError(shown, fates_as_json(fates), type=error_type, non_retryable=True)
        return fates

    @_respond_update.validator
    def _validate_respond(self, responses: Any = None, *more: Any) -> None:
        try:
            wire.parse_responses(responses, *more)
        except wire.WireError as error:
            raise ApplicationError(str(error), type=RESPONSE_REFUSED, non_retryable=True) from None

    @workflow.update(name="cancel_requests", description="Cancel pending requests, all or none; or fail with a reason.")
    async def _cancel_requests_update(self, asked: Any = None, *more: Any) -> Any:
        return await self._once(lambda: self._cancel_requests(wire.parse_cancel_requests(asked, *more)))

    async def _cancel_requests(self, parsed: wire.CancelRequests) -> dict[str, list[str]]:
        ticket = await self._in_turn(lambda: self._expected(self._receive_cancellation(parsed)))
        fates = await self._fates(ticket, CANCEL_REFUSED)
        return {"cancelled": [fate.request_id for fate in fates]}

    @_cancel_requests_update.validator
    def _validate_cancel_requests(self, asked: Any = None, *more: Any) -> None:
        try:
            wire.parse_cancel_requests(asked, *more)
        except wire.WireError as error:
            raise ApplicationError(str(error), type=CANCEL_REFUSED, non_retryable=True) from None

    def _receive_cancellation(self, asked: wire.CancelRequests) -> int:
        self._tickets += 1
        self._facts.append(CancelRequested(self._tickets, asked))
        return self._tickets

    @workflow.update(name="retry", description="Run failed executors again: those named by path, or all.")
    async def _retry_update(self, *executors: Any) -> Any:
        return await self._once(lambda: self._taken("retry", lambda: self._retry(executors)))

    def _retry_by_signal(self, executors: Sequence[Any]) -> None:
        try:
            self._retry(executors)
        except ApplicationError as error:
            self._warn(f"A retry signal was refused: {error}")

    def _retry(self, executors: Sequence[Any]) -> list[str]:
        failed = [one.executor for one in self._engine.status().failed_executors]
        unknown = [one for one in executors if one not in failed]
        if unknown or not failed:
            there = f"there are {', '.join(map(repr, failed))}" if failed else "none does"
            named = ", ".join(map(repr, unknown)) or "any"
            raise ApplicationError(
                f"No executor {named} waits for a retry; {there}.", type=RETRY_REFUSED, non_retryable=True
            )
        wanted = [one for one in failed if not executors or one in executors]
        self._error = None  # of a failure that is not the run's
        for decision in self._engine.retry(wanted):
            self._carry_out(decision)
        return wanted

    def _receive(
        self,
        responses: Sequence[wire.Response],
        *,
        whole: bool = False,
        state: Mapping[str, wire.Value] | None = None,
    ) -> int:
        self._tickets += 1
        self._facts.append(ResponsesReceived(self._tickets, tuple(responses), whole, state=state or {}))
        return self._tickets


def _read(payload: RawValue) -> Any:
    """Return the JSON of a signal's payload.

    Raises:
        WireError: It cannot be read, or has too much in it.
    """
    wire.check_text(payload.payload.data)
    try:
        return workflow.payload_converter().from_payload(payload.payload)
    except Exception as error:  # of whatever strangers send
        raise wire.WireError(f"it cannot be read as JSON ({type(error).__name__}: {error}).") from error
