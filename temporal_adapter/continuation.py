"""Going on as another Temporal run (continue-as-new): when a run does it, and how it takes everything along.

Each Temporal run of such a run is a *link*. A run leaves a link when Temporal suggests it, at the length of history
that its workers are set to, when it is to move to another version of its worker deployment, or when it is asked to. It
does so between two supersteps or at rest, and first lets go of whoever waits for an answer. What people send while it
is about to leave waits at a closed door: signals are carried over, updates are to be sent again, so that no stream of
messages holds it up. What is carried over, and that nothing is lost by it, is the engine's (`engine.leaving`).

Whether a run ever leaves is recorded in its history (`SeedResult.continues`), so no setting of a worker can break its
replay.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.calls import in_parts
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.engine import WentOn
    from temporal_adapter.execution import CANCEL_PATIENCE, Execution
    from temporal_adapter.wire.names import CONTINUE_AS_NEW, RUN_CONTINUES

_AT_LAST = 20_000
"""Events of history at which a run leaves even where the blob store is in trouble: it waits for it then. Temporal ends
a run at 51,200 events."""

_AT_LEAST = 100
"""Events of history that a link has, beside those of its beginning, before Temporal's suggestion counts: what a run
carries may be so much that Temporal suggests it at once."""

_OPENING, _PER_PART = 12, 6
"""Events of history with which a link begins, roughly, and those more for each part of what it carries."""

_TAIL_BYTES = 32 * 1024
"""Bytes of JSON up to which what is left of a list is carried over; beyond, it goes to the blob store."""

_PAGE_BYTES = 256 * 1024
"""Bytes of JSON of the items that go to the blob store in one page."""

_CARRIED_BYTES = 512 * 1024
"""Bytes of JSON that are carried over as an argument; beyond, they go through the blob store."""

_SIGNALS_BYTES = 512 * 1024
"""Bytes of signals up to which they are carried over; beyond, they are taken first."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept:
    """JSON that the blob store was given, and where it is there: for whoever watches a replay."""

    value: wire.Value
    item: Any


class Continuation(Execution):
    """A run that goes on as another Temporal run, now and then.

    Args:
        options: Of the run.
        carried: What the link before has carried over; None for a run's first link.
    """

    def __init__(self, options: Any, carried: Any) -> None:
        # A newer release's is refused: that fails the workflow task, which is tried again until a worker can read it.
        self._carried = None if carried is None else wire.load(wire.Carried, carried)
        super().__init__(options, self._carried)
        self._taken_up = self._carried is None
        self._length = 0  # events of history when it was looked at last, without those with which this link began
        self._suggested = self._version_changed = False
        # What people send waits where the run is about to leave; once it is sure to, it is to come to the next link.
        self._door: Literal["open", "closed", "left"] = "open"
        self._signals_left: list[wire.CarriedSignal] = []
        self._signals_again: set[asyncio.Task[None]] = set()
        if self._carried is not None and self._carried.signals:
            self._door, self._signals_left = "closed", list(self._carried.signals)  # they come before all others
        if self._carried is not None and self._carried.state is not None:
            self._take_up(self._carried, self._carried.tails or wire.Tails(), self._carried.state)

    # --- a new link -----------------------------------------------------------------------------------------

    async def _begin(self, message: Any, options: Any) -> None:
        """See base class. A link but the first goes on where the one before was."""
        if self._carried is None:
            await super()._begin(message, options)
            return
        if not self._taken_up:
            await self._read(self._carried)
        signals, self._signals_left = self._signals_left, []
        for one in signals:  # before them came nothing
            self._do_at_once(one.name, _payloads(one))
        self._open_door()
        await self._carry_on(self._carried)

    async def _cancel(self) -> None:
        """See base class. What to tell the blob store is known once the run knows what it carries."""
        self._open_door()
        if self._carried is not None and not self._taken_up:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._read(self._carried), CANCEL_PATIENCE.total_seconds())
        await super()._cancel()

    async def _read(self, carried: wire.Carried) -> None:
        text = "".join([await self._fetched(part) for part in carried.parts])
        whole = wire.load(wire.CarriedText, json.loads(text))
        self._take_up(carried, whole.tails, whole.state)

    def _take_up(self, carried: wire.Carried, tails: wire.Tails, state: wire.CarriedState) -> None:
        if self._observe is not None:
            self._observe(wire.CarriedText(tails=tails, state=state))
        self._engine.go_on(state, tails, carried.archived)
        self._taken_up = True

    async def _carry_on(self, carried: wire.Carried) -> None:
        engine = self._engine
        data = wire.CarryOnInput(
            graph=engine.graph_signature,
            options=engine.options_to_carry(),
            continued=workflow.info().continued_run_id or "",
            waits_for_operator=engine.waits_for_operator,
            checkpoint_id=engine.lineage.head,
            migrates=carried.migrates,
            header=engine.promise_migration() if carried.migrates else None,
            clock=self._clock,
        )
        if self._observe is not None:
            self._observe(data)
        result = await self._calls.surely("The run", self._calls.own("carry_on", data))
        self._facts.append(WentOn(self._recorded(wire.CarryOnResult, result)))

    async def _fetched(self, part: wire.Value) -> str:
        data = wire.FetchInput(value=part)
        result = await self._calls.surely("The run", self._calls.own("fetch", data))
        item = self._recorded(wire.FetchResult, result).item
        if self._observe is not None:
            self._observe(Kept(part, item))
        return item

    # --- leaving --------------------------------------------------------------------------------------------

    def _leaves(self, troubled: bool) -> bool:
        """See base class."""
        continues, length = self._engine.continues, self._length
        if continues is None:
            return False
        if troubled:
            return length >= _AT_LAST
        long = length >= continues or (length >= _AT_LEAST and self._suggested)
        return long or self._asked_to_leave or self._migrates or self._moves()

    def _look(self) -> None:
        """See base class.

        Only an activation that an event of history brings about has the same length and suggestions in a replay.
        """
        info = workflow.info()
        carried = 0 if self._carried is None else _OPENING + _PER_PART * len(self._carried.parts)
        self._length = max(self._length, info.get_current_history_length() - carried)
        self._suggested = info.is_continue_as_new_suggested()
        self._version_changed = info.is_target_worker_deployment_version_changed()

    def _moves(self) -> bool:
        """Whether the run is to move to another version of its worker deployment.

        A run that came here to move, and was not (its version is overridden, say), does not try again and again.
        """
        carried = self._carried
        if not self._engine.moves or (carried is not None and carried.moved and carried.moved_from == _build()):
            return False
        return self._version_changed

    def _over(self) -> bool:
        """Whether the run is over, or to go on as another Temporal run."""
        return self._concluded() or self._may_leave()

    def _may_leave(self) -> bool:
        """Whether the run is to leave, and nothing is under way."""
        under_way = self._facts or self._deliveries or self._others or self._turn_asks is not None
        if under_way or self._conclusion is not None or self._crash is not None:
            return False
        # What is held goes on in another link, also where the reason to leave has passed since.
        return self._engine.may_leave and (self._engine.held or self._leaves(False))

    async def _leave(self) -> None:
        """Go on as another Temporal run; return if something came in between."""
        if not self._may_leave():
            return
        self._door = "closed"
        self._turns.pause()
        # Whoever waits now for what comes in another link is told so.
        self._released, self._released_turn = set(self._awaited), self._turn
        self._engine.release(self._released)
        try:
            await self._go()
        finally:
            self._released_turn = None
        self._open_door()

    async def _go(self) -> None:
        # By the end of an activity it is in history that the door is closed: a replay closes it for the same messages.
        await self._wait_for_turn()
        if not self._may_leave() or not await self._archive():
            return
        carried = self._to_carry()
        text, parts = _text(carried), None
        if len(text) > _CARRIED_BYTES:
            parts = await self._kept(in_parts(text))
            if parts is None:
                return
        self._door = "left"
        self._turns.dismiss(continues)
        await workflow.wait_condition(lambda: self._everybody_left() or not self._may_leave())
        carried = self._to_carry()
        if not self._everybody_left() or not self._may_leave() or text != _text(carried):
            return
        if sum(len(text) for one in self._signals_left for text in one.payloads) > _SIGNALS_BYTES:
            return
        if parts is not None:
            carried = wire.replace(carried, tails=None, state=None, parts=parts)
        self._continue_as_new(wire.replace(carried, signals=self._signals_left))

    def _everybody_left(self) -> bool:
        return not self._signals_again and self._nobody_waits()

    # --- the door -------------------------------------------------------------------------------------------

    def _open_door(self) -> None:
        """Take what waits: first the signals that were to be carried over, as they came."""
        self._door = "open"
        self._turns.resume()
        signals, self._signals_left = self._signals_left, []
        for one in signals:
            task = self._spawn(self._take_signal(one.name, _payloads(one)))
            self._signals_again.add(task)
            task.add_done_callback(self._signals_again.discard)

    async def _in_turn(self, work: Callable[[], T]) -> T:
        """See base class.

        Raises:
            ApplicationError: The run has gone on as a new Temporal run; it was not done.
        """
        if self._door != "open":
            await workflow.wait_condition(lambda: self._door != "closed")
            if self._door == "left":
                raise continues()
        return await super()._in_turn(work)

    async def _take_signal(self, name: str, payloads: Sequence[RawValue]) -> None:
        """Do what a signal asks for, or leave it to the next link."""
        try:
            await self._do_as_told(name, payloads)
        except ApplicationError as error:
            if error.type != RUN_CONTINUES:
                raise
            if name == CONTINUE_AS_NEW:  # that is what the run does
                return
            texts = [base64.b64encode(one.payload.SerializeToString()).decode("ascii") for one in payloads]
            self._signals_left.append(wire.CarriedSignal(name=name, payloads=texts))

    async def _do_as_told(self, name: str, payloads: Sequence[RawValue]) -> None:
        """Do what a signal asks for, in turn; it must not fail of anything that is in it."""

    def _do_at_once(self, name: str, payloads: Sequence[RawValue]) -> None:
        """Do what a signal asks for that was carried over; likewise."""

    def _continue_as_new(self, carried: wire.Carried) -> None:
        options = ordered_json(wire.dump(self._engine.options_to_carry()))
        moves = carried.moved and workflow.info().get_current_deployment_version() is not None
        workflow.continue_as_new(
            args=[None, options, ordered_json(wire.dump(carried))],
            initial_versioning_behavior=workflow.ContinueAsNewVersioningBehavior.AUTO_UPGRADE if moves else None,
        )

    def _to_carry(self) -> wire.Carried:
        engine, turns = self._engine, self._turn_progress.items()
        return wire.Carried(
            clock=self._clock,
            moved=self._asked_to_leave or self._moves(),
            moved_from=_build(),
            migrates=self._migrates,
            counted=self._attendance.counted,
            live=0 if self._stream is None else self._stream.offset,
            streams=self._streams,
            turn=self._turn,
            turns=[wire.CarriedTurn(update_id=one, progress=progress) for one, progress in turns],
            updates=self._answered_updates,
            archived=engine.archived(),
            tails=engine.tails(),
            state=engine.carried(),
        )

    async def _archive(self) -> bool:
        """Bring lists that have become long to the blob store; return whether nothing came in between."""
        for name, log in self._engine.logs.items():
            items: list[Any] = [msgspec.to_builtins(item) for item in log.items]
            sizes = [len(wire.to_bytes(item)) for item in items]
            if sum(sizes) <= _TAIL_BYTES:
                continue
            pages = _paged(sizes)
            values = await self._kept([items[first:next] for first, next in pages])
            if values is None:
                return False
            archived = [
                wire.ArchivedPage(first=log.offset_of(first), next=log.offset_of(next), page=value)
                for (first, next), value in zip(pages, values, strict=True)
            ]
            self._engine.archive(name, archived)
        return self._may_leave()

    async def _kept(self, items: Sequence[Any]) -> list[wire.Value] | None:
        """Write JSON to the blob store; return where it is, or None if something came in between."""
        values: list[wire.Value] = []
        for item in items:
            try:
                result = await self._calls.keep(item)
            except FailureError as error:
                if is_cancelled_exception(error):
                    raise
                self._others.add(self._spawn(self._keep_at_length(item, error)))
                return None
            [value] = self._recorded(wire.KeepResult, result).values
            if self._observe is not None:
                self._observe(Kept(value, item))
            values.append(value)
            if not self._may_leave():
                return None
        return values

    async def _keep_at_length(self, item: Any, error: FailureError) -> None:
        """Stay until the blob store takes this: people are answered meanwhile."""
        self._tell_of_wait("Going on as a new Temporal run", error)
        await self._calls.keep(item, patiently=True)


def continues() -> ApplicationError:
    """Return the answer to an update that the run can take only once it has gone on as a new Temporal run."""
    return ApplicationError(
        "The run goes on as a new Temporal run, in the graph that its workers have now. Send this again.",
        type=RUN_CONTINUES,
        non_retryable=True,
    )


def _payloads(signal: wire.CarriedSignal) -> list[RawValue]:
    return [RawValue(Payload.FromString(base64.b64decode(one))) for one in signal.payloads]


def _paged(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return where pages of so large items begin and end."""
    pages: list[tuple[int, int]] = []
    first, size = 0, 0
    for place, own in enumerate(sizes):
        if place > first and size + own > _PAGE_BYTES:
            pages.append((first, place))
            first, size = place, 0
        size += own
    return [*pages, (first, len(sizes))]


def _build() -> str:
    """Return the build of the worker that the run is on; empty without worker versioning."""
    version = workflow.info().get_current_deployment_version()
    return "" if version is None else version.build_id


def _text(carried: wire.Carried) -> str:
    """Return the JSON text of what may go through the blob store."""
    assert carried.tails is not None
    assert carried.state is not None
    return wire.to_bytes(wire.dump(wire.CarriedText(tails=carried.tails, state=carried.state))).decode("ascii")
