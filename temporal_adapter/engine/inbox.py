"""Responses on their way: which are judged now, which wait, and what their senders are told.

A response is judged against its request by an activity, since coercing it needs the user's types. Judgements go one
batch at a time, in order of arrival, so that of two answers to one request the first wins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeVar

from temporal_adapter import wire

from .decisions import Answer, Fate

Source = Literal["person", "deadline"]

EntryT = TypeVar("EntryT")

_SHOWN_REQUESTS = 10  # to whoever answers an unknown one

_CARRIED = 2000
"""Requests of which a run that goes on as another Temporal run still knows that they were answered, or why they wait no
more. Of older ones it says that they are unknown to it; nothing is answered twice for that."""


@dataclass(slots=True)
class _Ticket:
    number: int
    responses: tuple[wire.Response, ...]
    whole: bool = False  # all responses are accepted, or none
    source: Source = "person"
    state: Mapping[str, wire.Value] = field(default_factory=dict[str, wire.Value])
    fates: dict[int, Fate] = field(default_factory=dict[int, Fate])


@dataclass(frozen=True, slots=True)
class Queued:
    """A response and its place in its ticket."""

    ticket: _Ticket
    position: int

    @property
    def response(self) -> wire.Response:
        return self.ticket.responses[self.position]

    @property
    def source(self) -> Source:
        return self.ticket.source

    @property
    def whole(self) -> bool:
        """Whether it is accepted only with all others of its ticket."""
        return self.ticket.whole

    @property
    def state(self) -> Mapping[str, wire.Value]:
        """Shared state that is set where it is accepted."""
        return self.ticket.state


@dataclass(frozen=True, slots=True)
class _Accepted:
    fingerprint: str
    checkpoint_id: str
    told: str  # by whom and when


class Inbox:
    """Queued responses, the batch being judged, and the answers already given."""

    def __init__(self) -> None:
        self._queue: list[Queued] = []
        self.judging: list[Queued] = []
        self._answered: dict[str, _Accepted] = {}  # by request id
        self._gone: dict[str, str] = {}  # request id -> why it is pending no more
        self._answers: list[Answer] = []
        self._refusals: list[tuple[Queued, Fate]] = []

    def add(
        self,
        number: int,
        responses: tuple[wire.Response, ...],
        *,
        whole: bool = False,
        source: Source = "person",
        state: Mapping[str, wire.Value] | None = None,
    ) -> None:
        """Queue the responses of a signal or update; `whole` where all are to be accepted, or none."""
        ticket = _Ticket(number, responses, whole, source, state or {})
        self._queue.extend(Queued(ticket, position) for position in range(len(responses)))
        if not responses:
            self._answers.append(Answer(number, ()))

    def put_back(self) -> None:
        """The batch is judged later, by other workers."""
        self._queue, self.judging = [*self.judging, *self._queue], []

    def release(self, number: int) -> None:
        """Whoever sent this ticket is told to send it again."""
        self._queue = [queued for queued in self._queue if queued.ticket.number != number]

    def waiting(self) -> list[wire.CarriedResponses]:
        """Return what is queued, by ticket."""
        by_ticket: dict[int, list[Queued]] = {}
        for queued in self._queue:
            by_ticket.setdefault(queued.ticket.number, []).append(queued)
        return [
            wire.CarriedResponses(
                responses=[one.response for one in queued],
                whole=queued[0].whole,
                source=queued[0].source,
                state=dict(queued[0].state),
            )
            for queued in by_ticket.values()
        ]

    def is_answered(self, request_id: str) -> bool:
        """Whether a response to the request was accepted."""
        return request_id in self._answered

    def is_open(self, request_id: str) -> bool:
        """Whether a pending request can be answered: no response was accepted, nor was it cancelled."""
        return request_id not in self._answered and request_id not in self._gone

    def may_be_answered(self, request_ids: Collection[str], before: int | None) -> bool:
        """Whether a response to one of these requests has yet to be judged, of an earlier ticket than this, or any."""
        wanted = frozenset(request_ids)
        return any(
            queued.response.request_id in wanted and (before is None or queued.ticket.number < before)
            for queued in [*self.judging, *self._queue]
        )

    def ask_again(self, request_id: str) -> None:
        """A request with this id was made: an answer to an earlier one with the same id is no answer to it."""
        self._answered.pop(request_id, None)
        self._gone.pop(request_id, None)

    def withdraw(self, request_ids: Collection[str], reason: str) -> None:
        """These requests wait no more, nor did they ever: whoever answers one is told why."""
        for request_id in request_ids:
            self._answered.pop(request_id, None)
        self._gone.update(dict.fromkeys(request_ids, reason))

    def answered_from_record(self, request_id: str, checkpoint_id: str) -> None:
        """The response of the run that is repeated was given to the request: any other differs from it."""
        self._answered[request_id] = _Accepted("", checkpoint_id, wire.answered_by("replay", None, None))

    def why_not_pending(self, request_id: str, pending: Mapping[str, wire.Request]) -> str | None:
        """Return why a request waits for no response, or None."""
        if request_id in self._answered:
            return f"request {request_id!r} was already answered."
        if request_id in self._gone:
            return self._gone[request_id]
        return None if request_id in pending else self._unknown(request_id, pending)

    def next_batch(self, pending: Mapping[str, wire.Request]) -> list[Queued]:
        """Return the responses to judge next; those that need no judgement get their fate here.

        Empty while a batch is being judged.
        """
        if self.judging:
            return []
        batch: dict[str, Queued] = {}
        waiting: list[Queued] = []
        for queued in self._queue:
            request_id = queued.response.request_id
            if request_id in batch:
                waiting.append(queued)
            elif request_id in self._answered:
                self.settle(queued, self._repeat(queued.response))
            elif request_id not in pending or request_id in self._gone:
                self.settle(queued, Fate(request_id, refused=self.why_not_pending(request_id, pending)))
            else:
                batch[request_id] = queued
        self._queue = waiting
        self.judging = list(batch.values())
        return self.judging

    def accept(self, queued: Queued, checkpoint_id: str, at: str) -> None:
        """A judgement accepted the response; `at` is when."""
        response = queued.response
        told = wire.answered_by(queued.source, response.responder, at)
        self._answered[response.request_id] = _Accepted(wire.fingerprint(response.response), checkpoint_id, told)
        self.settle(queued, Fate(queued.response.request_id, checkpoint_id=checkpoint_id))

    def settle(self, queued: Queued, fate: Fate) -> None:
        """Fix the fate of one response; a ticket with all its fates becomes an answer."""
        ticket = queued.ticket
        ticket.fates[queued.position] = fate
        if fate.refused is not None:
            self._refusals.append((queued, fate))
        if len(ticket.fates) == len(ticket.responses):
            self._answers.append(Answer(ticket.number, tuple(ticket.fates[i] for i in range(len(ticket.responses)))))

    @property
    def busy(self) -> bool:
        """Whether a response is being judged, or its sender is not told of its fate."""
        return bool(self.judging or self._answers or self._refusals)

    @property
    def queued(self) -> bool:
        """Whether a response has yet to be judged."""
        return bool(self._queue)

    def carried(self, pending: Collection[str]) -> tuple[dict[str, wire.CarriedAnswer], dict[str, str]]:
        """Return what was answered and why requests wait no more: of pending ones, and of the last ones else."""
        answered = {
            key: wire.CarriedAnswer(fingerprint=one.fingerprint, checkpoint_id=one.checkpoint_id, told=one.told)
            for key, one in _last(self._answered, pending).items()
        }
        return answered, _last(self._gone, pending)

    def go_on(self, answered: Mapping[str, wire.CarriedAnswer], gone: Mapping[str, str]) -> None:
        """Know what was known when the run went on as another Temporal run."""
        self._answered = {key: _Accepted(one.fingerprint, one.checkpoint_id, one.told) for key, one in answered.items()}
        self._gone = dict(gone)

    def refuse_all(self, reason: str) -> None:
        """The run ends: nothing that waits will be judged. What was answered before, or is gone, is told as ever."""
        for queued in [*self.judging, *self._queue]:
            request_id = queued.response.request_id
            if request_id in self._answered:
                self.settle(queued, self._repeat(queued.response))
            else:
                self.settle(queued, Fate(request_id, refused=self._gone.get(request_id, reason)))
        self.judging, self._queue = [], []

    def take_answers(self) -> list[Answer]:
        """Return the answers complete by now, each once."""
        answers, self._answers = self._answers, []
        return answers

    def take_refusals(self) -> list[tuple[Queued, Fate]]:
        """Return the responses refused since the last call, with why."""
        refusals, self._refusals = self._refusals, []
        return refusals

    def _unknown(self, request_id: str, pending: Mapping[str, wire.Request]) -> str:
        """Return why an unknown request waits for no response; a thousand of them may come at once."""
        some = list(islice((one for one in pending if self.is_open(one)), _SHOWN_REQUESTS))
        known = f"pending: {', '.join(map(repr, some))}" if some else "no request is pending"
        return f"request {request_id!r} is unknown to this run ({known})."

    def _repeat(self, response: wire.Response) -> Fate:
        accepted = self._answered[response.request_id]
        if accepted.fingerprint == wire.fingerprint(response.response):
            return Fate(response.request_id, checkpoint_id=accepted.checkpoint_id)
        return Fate(response.request_id, refused=wire.answered_otherwise(response.request_id, accepted.told))


def _last(entries: Mapping[str, EntryT], anyway: Collection[str]) -> dict[str, EntryT]:
    """Return the last entries, and those of some keys in any case."""
    beyond = len(entries) - _CARRIED
    return {key: one for place, (key, one) in enumerate(entries.items()) if place >= beyond or key in anyway}
