"""The engine's owner in the tests: feeds facts, carries out decisions in an order that dice decide, checks each one.

What runs is finished in any order; the store fails now and then; people answer at any moment, well or badly, and after
the end. Every test goes through `run`, so what `Owner` asserts holds in all of them.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from temporal_adapter import wire
from temporal_adapter.engine import (
    Answer,
    Commit,
    Committed,
    Decision,
    Deliver,
    DeliveryFailed,
    DeliveryFinished,
    Engine,
    Fact,
    Fail,
    Fate,
    Finish,
    Judge,
    Notified,
    Notify,
    Phase,
    ResponsesJudged,
    ResponsesReceived,
    Seeded,
    Stamp,
    TimeReached,
    WentOn,
)

from .blobs import Blobs, json_size
from .host import ILL_TYPED, Clock, Host
from .leaving import Lists, archive, carried_over, forgotten, read_events, take_up
from .reference import Course, follow
from .scripted import Script


@dataclass(frozen=True)
class Manner:
    """How the world behaves towards a run."""

    store_failures: int = 0  # at most
    junk: int = 0  # responses that are unknown, ill-typed, repeated or contradictory, at most
    answers: bool = True  # whether requests are answered
    leaving: float = 0.0  # how probably the run goes on as another Temporal run, where it may
    deadlines: int = 0  # requests have deadlines, and time passes so often, at most


@dataclass
class Owner(Lists):
    """One run under way."""

    script: Script
    dice: Random
    manner: Manner = Manner()
    facts: list[Fact] = field(default_factory=list)
    decisions: list[list[Decision]] = field(default_factory=list)
    tickets: dict[int, tuple[wire.Response, ...]] = field(default_factory=dict)
    answers: dict[int, tuple[Fate, ...]] = field(default_factory=dict)
    conclusion: Finish | Fail | None = None
    history_bytes: list[int] = field(default_factory=list)  # of each delivery's input

    def __post_init__(self) -> None:
        self._numbers: Iterator[int] = itertools.count(1)
        self.engine = self.new_engine()
        self._store_failures, self._junk = self.manner.store_failures, self.manner.junk
        self.clock, self._times = Clock() if self.manner.deadlines else None, self.manner.deadlines
        self.blobs = Blobs(self._store_fails)
        self.host = Host(self.script, self.blobs, self.clock)
        self.leaving_dice = self.dice
        self.links = 1
        self._leaves_next = False  # it is wanted, until it is done
        self._just_came = False  # as another Temporal run, and nothing has happened in that
        self.reminded: list[tuple[wire.Request, int, str]] = []  # number, and when that was due
        self.running: dict[str, Callable[[], Fact]] = {}
        self.busy: dict[str, int] = {}  # executor -> index of its running delivery
        self._last: defaultdict[str, int] = defaultdict(lambda: -1)
        self._judge: wire.RespondInput | None = None

    def new_engine(self) -> Engine:
        """Return an engine for a Temporal run; ids go on from one to the next."""
        return Engine(lambda: stamp(next(self._numbers)), leaves=self._leaves)

    # --- the run ---

    @property
    def first(self) -> Any:
        return {"name": "input", "hops": self.script.hops, "pad": ""}

    def run(self) -> Owner:
        """Run to the end, or to a pause that nobody answers."""
        seed = self.engine.start(self.first, wire.StartOptions())
        self.feed(Seeded(self.host.seed(seed)))
        while self.step():
            pass
        if self.conclusion is not None:
            self._late_response()
        return self

    def step(self) -> bool:
        """Let one thing happen; return whether anything could."""
        moves = sorted(self.running)
        if self.engine.phase in (Phase.RUNNING, Phase.PAUSED):
            if self.manner.answers and self.engine.pending_requests():
                moves.append("answer")
            if self._junk:
                moves.append("junk")
        moves += self.moves_of_the_world()
        if not moves:
            return False
        self.make(self.dice.choice(moves))
        return True

    def moves_of_the_world(self) -> list[str]:
        """Return what may happen whatever people do: time passes, or the run goes on as another Temporal run."""
        moves: list[str] = []
        if self._times and self.engine.next_due() is not None:
            moves.append("time")
        if self._may_leave():
            moves.append("leave")
        assert not (self.engine.held and self.engine.entered) or self.running or moves, "it is held, and cannot leave"
        return moves

    def make(self, move: str) -> None:
        """Let something happen."""
        if move in self.running:
            self.feed(self.running.pop(move)())
        elif move == "leave":
            self.leave()
        elif move == "time":
            self._times -= 1
            self.let_time_pass()
        else:
            self.respond(*(self._answers() if move == "answer" else self._nonsense()))

    def feed(self, fact: Fact) -> None:
        """Give the engine a fact, check its decisions, and start what it decided."""
        self._note(fact)
        decisions = self.engine.receive(fact)
        self.decisions.append(decisions)
        if self.conclusion is not None:
            assert all(isinstance(decision, Answer) for decision in decisions), "a decision after the end"
        for decision in decisions:
            self._carry_out(decision)
        if self.engine.phase in (Phase.ENDING, Phase.ENDED):
            for index in list(self.busy.values()):  # a sibling failed: the owner cancels what still runs
                cancelled = self.running.pop(f"delivery {index}")
                if self.dice.random() < 0.5:
                    cancelled()  # it was too late: what it wrote to the store is there
            self.busy.clear()

    def _note(self, fact: Fact) -> None:
        self.facts.append(fact)
        self._just_came = self._just_came and isinstance(fact, WentOn)

    def _carry_out(self, decision: Decision) -> None:
        match decision:
            case Deliver(index, data):
                self._check_delivery(index, data)
                self.running[f"delivery {index}"] = lambda: self._delivered(index, data)
            case Judge(data):
                assert self._judge is None, "two judgements at once"
                self._judge = data
                self.running["judge"] = lambda: self._judged(data)
            case Commit(data):
                assert "commit" not in self.running, "two commits at once"
                self.running["commit"] = lambda: Committed(self._written(data))
            case Notify(data, due):
                self._check_reminder(data, due)
                self.running[f"notify {data.request.request_id} {due}"] = lambda: Notified(
                    data.request, self._late(due)
                )
            case Answer(ticket, fates) if not ticket and not self.tickets.get(0):
                pass  # of a deadline, and nobody's
            case Answer(ticket, fates):
                assert ticket not in self.answers, "a ticket is answered twice"
                self.answers[ticket] = fates
            case Finish() | Fail():
                assert self.conclusion is None
                assert self._all_mirrored(), "the run ends before everything is mirrored"
                assert "commit" not in self.running
                self.conclusion = decision

    def _check_delivery(self, index: int, data: wire.DeliveryInput) -> None:
        executor = data.executor_id
        assert executor not in self.busy, "an executor has two deliveries at once"
        assert index > self._last[executor], "an executor's deliveries run out of order"
        self.busy[executor] = self._last[executor] = index
        assert data.snapshot is not None or data.records
        if data.records:
            assert not self._commit_writes, "two writers of checkpoints at once"
        self.history_bytes.append(json_size(data))

    def _written(self, data: wire.CommitInput) -> wire.CommitOutcome:
        for checkpoint_id in data.discard:
            self.blobs.checkpoints.pop(checkpoint_id, None)
        return self.blobs.write(data.records) if data.records else wire.CommitOutcome()

    def _all_mirrored(self) -> bool:
        return [header.checkpoint_id for header in self.headers] == list(self.blobs.checkpoints)

    @property
    def _commit_writes(self) -> bool:
        """Whether a commit with checkpoints is under way."""
        return "commit" in self.running

    def _delivered(self, index: int, data: wire.DeliveryInput) -> Fact:
        self.busy.pop(data.executor_id)
        result = self.host.deliver(data)
        if isinstance(result, wire.Failure):
            return DeliveryFailed(index, result)
        return DeliveryFinished(index, result)

    def _judged(self, data: wire.RespondInput) -> Fact:
        self._judge = None
        return ResponsesJudged(self.host.judge(data))

    def _store_fails(self) -> bool:
        if self._store_failures and self.dice.random() < 0.5:
            self._store_failures -= 1
            return True
        return False

    # --- time ---

    def let_time_pass(self) -> None:
        """Let it be the time at which something is due."""
        due = self.engine.next_due()
        assert due is not None
        assert self.clock is not None
        at = max(due, self._late(due))
        self.clock.reach(at)
        self.feed(TimeReached(at))
        following = self.engine.next_due()
        assert following is None or following > at or not self.engine.entered, "what was due is due still"

    def _late(self, due: str) -> str:
        assert self.clock is not None
        return max(due, self.clock.tick() if self.dice.random() < 0.3 else self.clock.now)

    def _check_reminder(self, data: wire.NotifyInput, due: str) -> None:
        request = data.request
        before = [
            (number, at)
            for one, number, at in self.reminded
            if (one.request_id, one.asked_at) == (request.request_id, request.asked_at)
        ]
        assert data.number == len(before) + 1, "reminders are not counted on"
        assert all(at < due for _, at in before), "reminded twice of the same"
        self.reminded.append((request, data.number, due))

    # --- another Temporal run ---

    def _leaves(self, troubled: bool) -> bool:
        """Whether the run is to go on as another; once it is, it is to until it has."""
        if self.manner.leaving and not self._leaves_next and not self._just_came:
            self._leaves_next = self.leaving_dice.random() < self.manner.leaving * (0.5 if troubled else 1)
        return self._leaves_next

    def _may_leave(self) -> bool:
        if not self.manner.leaving or self.running or not self.engine.may_leave:
            return False
        return self.engine.held or self._leaves(False)

    def leave(self) -> None:
        """Go on in a new engine, that knows nothing but what came over as text; or let something come in between."""
        dice = self.leaving_dice
        for name in self.engine.logs:
            if dice.random() < 0.4:
                archive(self.engine, name, self.blobs, dice)
        if dice.random() < 0.1:
            return
        text = carried_over(self.engine)
        old, self.engine = self.engine, self.new_engine()
        take_up(self.engine, text)
        assert forgotten(old, self.engine) == []
        self._check_answers_of(old, text)
        start = dice.randint(0, self.engine.journal.length)
        assert read_events(self.engine, self.blobs, start) == self.events[start:]
        self.links += 1
        self._leaves_next, self._just_came = False, True
        self._last.clear()
        self.running["carry on"] = lambda: WentOn(wire.CarryOnResult(continues=1, at="2026-01-01T00:00:00+00:00"))

    def leave_now(self) -> None:
        """Go on in a new engine, and let that be told."""
        while "carry on" not in self.running:
            self.leave()
        self.make("carry on")

    def _check_answers_of(self, old: Engine, text: str) -> None:
        """Whoever sends again what was judged before, or something else, is told what they would have been told."""
        numbers, self._numbers = self._numbers, itertools.count(100_000)
        new = Engine(lambda: stamp(next(self._numbers)), leaves=lambda _: True)
        take_up(new, text)
        new._may_hold = True  # as the old one is held
        new.receive(WentOn(wire.CarryOnResult(continues=1, at="2026-01-01T00:00:00+00:00")))
        known = {response.request_id: response for sent in self.tickets.values() for response in sent}
        ids = [*known, *old._responses.inbox._gone, "unknown"]
        some = self.leaving_dice.sample(ids, min(4, len(ids)))
        for ticket, request_id in enumerate(some, 100_000):
            other = wire.Response(request_id=request_id, response={"hops": 0, "probe": True})
            if old.check_pending([request_id]) is not None:  # else it would be judged
                sent = ResponsesReceived(ticket, (known.get(request_id, other), other))
                assert new.receive(sent) == old.receive(sent)
            assert new.check_pending([request_id]) == old.check_pending([request_id])
        self._numbers = numbers

    # --- people ---

    def respond(self, *responses: wire.Response) -> int:
        """Send responses; return their ticket."""
        ticket = len(self.tickets) + 1
        self.tickets[ticket] = responses
        self.feed(ResponsesReceived(ticket, responses))
        return ticket

    def _answers(self) -> list[wire.Response]:
        pending = self.engine.pending_requests()
        return [self._answer(one) for one in self.dice.sample(pending, self.dice.randint(1, len(pending)))]

    def _answer(self, request: wire.Request) -> wire.Response:
        hops = self.blobs.read(request.data)["hops"]
        return wire.Response(request_id=request.request_id, response={"hops": hops, "to": request.request_id})

    def _nonsense(self) -> list[wire.Response]:
        self._junk -= 1
        known = [response for sent in self.tickets.values() for response in sent]
        pending = [request.request_id for request in self.engine.pending_requests()]
        some_id = self.dice.choice([*pending, *(one.request_id for one in known), "unknown"])
        contradiction = wire.Response(request_id=some_id, response={"hops": 0, "other": self._junk})
        choices = [wire.Response(request_id=some_id, response=ILL_TYPED), *known[-3:], contradiction]
        return self.dice.sample(choices, self.dice.randint(0, len(choices)))

    def _late_response(self) -> None:
        ticket = self.respond(wire.Response(request_id="late", response=1))
        assert [fate.refused is not None for fate in self.answers[ticket]] == [True]

    # --- what came of it ---

    def accepted_at(self) -> dict[str, dict[str, Any]]:
        """Return the accepted responses: checkpoint id -> request id -> response."""
        found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for ticket, fates in self.answers.items():
            for response, fate in zip(self.tickets[ticket], fates, strict=True):
                assert fate.request_id == response.request_id
                if fate.refused is None:
                    assert fate.checkpoint_id is not None
                    known = found[fate.checkpoint_id].setdefault(response.request_id, response.response)
                    assert known == response.response, "two different responses to one request were accepted"
        return dict(found)

    def course(self) -> Course:
        """Return what the reference says of a run that accepted these responses where this one did."""
        accepted = self.accepted_at()
        responses: dict[int, list[tuple[str, Any]]] = {}
        headers = self.headers
        for place, header in enumerate(headers):
            if header.kind == "response":
                given = accepted[header.checkpoint_id]
                order = [one for one in self._order_of(header.checkpoint_id) if one in given]
                # What a superstep asked that then failed, nobody has answered: its responses go with it.
                failed = isinstance(self.conclusion, Fail) and place == len(headers) - 1
                assert set(order) <= set(given) if failed else sorted(order) == sorted(given)
                responses[place] = [(request_id, given[request_id]) for request_id in order]
        return follow(self.script, self.first, responses)

    def _order_of(self, checkpoint_id: str) -> list[str]:
        messages = self.blobs.checkpoints[checkpoint_id][2]
        return [message.request.request_id for message in messages if message.request is not None]


def stamp(number: int) -> Stamp:
    return Stamp(id=f"id-{number:04}", timestamp=f"2026-01-01T00:00:00.{number:06}+00:00")
