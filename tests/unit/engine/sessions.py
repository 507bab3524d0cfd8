"""The owner of a session in the tests: inputs, responses, resets and restores at moments that dice decide.

A model keeps step with the engine, checkpoint by checkpoint: after an input, a response or a superstep it says what the
checkpoint must hold; a reset begins a new model, a restore goes back to the one of that checkpoint.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from temporal_adapter import wire
from temporal_adapter.engine import (
    Answer,
    Commit,
    Committed,
    Decision,
    Engine,
    Fact,
    Fate,
    Finish,
    InputRefused,
    Phase,
    Seeded,
    SessionRefused,
    TurnEnded,
)
from temporal_adapter.wire.names import REQUEST_EXPIRED

from .blobs import Blobs
from .host import Host, _internal  # pyright: ignore[reportPrivateUsage]
from .owner import Manner, Owner
from .reference import Moment, Sent, _Run  # pyright: ignore[reportPrivateUsage]
from .scripted import Script, Send, failure

_NOW = "2026-01-01T00:00:00+00:00"


class SessionHost(Host):
    """What the seeding activity does for further inputs, and for checkpoints, as `host/seed` and `host/restore`."""

    def further(self, data: wire.SeedInput) -> wire.SeedResult:
        if data.options.restore is not None:
            return self._restored(data, data.options.restore)
        assert data.header is not None
        message = wire.Message(source_id="internal:e0", data=self.blobs.value(data.message), target_id="e0")
        commit: wire.CommitOutcome | None = None
        if not data.further or data.snapshot is not None:
            snapshot = data.snapshot or wire.Snapshot(changes=wire.Changes())
            commit = self.blobs.write(
                [wire.CheckpointRecord(header=data.header, snapshot=snapshot, messages=[message])]
            )
        routed = wire.RoutedMessage(message=message, routes=[_internal("e0")])
        return wire.SeedResult(at=_NOW, graph=self.script.graph, message=routed, commit=commit)

    def _restored(self, data: wire.SeedInput, wanted: wire.Restore) -> wire.SeedResult:
        header, entries, messages = self.blobs.checkpoints[wanted.checkpoint_id]
        base = wire.Base(checkpoint_id=header.checkpoint_id, object=header.checkpoint_id, digest="digest")
        given = {
            request_id: self._judge(entries.requests[request_id], wire.Response(request_id=request_id, response=one))
            for request_id, one in wanted.responses.items()
        }
        routed = [self._routed(one) for one in messages]
        routed += [one.message for one in given.values() if one.message is not None]
        commit: wire.CommitOutcome | None = None
        if data.header is not None:
            record = wire.CheckpointRecord(
                header=wire.replace(data.header, iteration=header.iteration),
                snapshot=wire.Snapshot(base=base, changes=wire.Changes(requests=dict.fromkeys(given))),
                messages=[one.message for one in routed],
            )
            commit = self.blobs.write([record])
        level = wire.RestoredLevel(iteration=header.iteration, buffers=entries.buffers, requests=entries.requests)
        restored = wire.Restored(base=base, header=header, messages=routed, levels={"": level}, answered=list(given))
        return wire.SeedResult(at=_NOW, graph=self.script.graph, restored=restored, commit=commit)

    def _routed(self, message: wire.Message) -> wire.RoutedMessage:
        target = message.source_id.removeprefix("internal:")
        if target != message.source_id:
            return wire.RoutedMessage(message=message, routes=[_internal(target)])
        sent = Send(self.blobs.read(message.data), message.target_id)
        return wire.RoutedMessage(message=message, routes=self.script.route(message.source_id, sent))


@dataclass
class SessionOwner(Owner):
    """One session under way; `turns` operations are drawn, then it is closed."""

    turns: int = 6
    refusals: int = 0  # operations that were refused because the session was at work
    resets: int = 0
    restores: int = 0
    failed_turns: int = 0
    _inputs: int = 0
    lineage_of: dict[str, int] = field(default_factory=dict)  # checkpoint -> how many resets came before
    commits: list[wire.CommitInput] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.host = SessionHost(self.script, self.blobs, self.clock)
        self.model = _Run(self.script, None)
        self.models: dict[str, _Run] = {}
        self._given: Any = None
        self._restoring: str | None = None
        self.ended_turns = 0
        self.begun_turns = 0

    def new_engine(self) -> Engine:
        engine = super().new_engine()
        engine.observe(self._recorded)
        return engine

    # --- operations ---

    def run(self) -> SessionOwner:
        self.engine.open_session(wire.StartOptions(session=True))
        while self.step():
            pass
        self._carry_all(self.engine.close())
        while self.step():
            pass
        assert isinstance(self.conclusion, Finish)
        self._late_response()
        return self

    def step(self) -> bool:
        moves = sorted(self.running)
        closed = self.engine.phase in (Phase.ENDING, Phase.ENDED)
        if not closed and self.turns and self.engine.entered:  # as the doors of a session wait for it to go on
            moves += ["input", "input", "reset", "restore"]
        if not closed and self.engine.phase in (Phase.RUNNING, Phase.PAUSED, Phase.SEEDING):
            if self.manner.answers and self.engine.pending_requests():
                moves += ["answer"] if self.turns else []
            if self._junk:
                moves.append("junk")
        moves += self.moves_of_the_world()
        if not moves:
            return False
        self.make(self.dice.choice(moves))
        return True

    def make(self, move: str) -> None:
        if move not in ("input", "reset", "restore"):
            super().make(move)
            return
        self.turns -= 1
        self._just_came = False
        getattr(self, f"_{move}")()

    def _input(self) -> None:
        self._inputs += 1
        message = {"name": f"input {self._inputs}", "hops": self.script.hops, "pad": ""}
        if self._seed(message, wire.StartOptions(), refused=self.dice.random() < 0.15):
            self._given = message

    def _reset(self) -> None:
        status = self.engine.status()
        try:
            decisions = self.engine.reset()
        except SessionRefused:
            self.refusals += 1
            assert self.engine.status() == status, "a refused reset changed something"
            return
        self.resets += 1
        self.model = _Run(self.script, None)
        assert self.engine.pending_requests() == []
        self._carry_all(decisions)

    def _restore(self) -> None:
        written = [one for one in self.blobs.checkpoints if one in self.models]
        if not written:
            return
        wanted = self.dice.choice(written)
        pending = self.blobs.checkpoints[wanted][1].requests
        some = self.dice.sample(sorted(pending), self.dice.randint(0, len(pending)))
        responses = {key: self._answer(pending[key]).response for key in some}
        restore = wire.Restore(verb="resume", checkpoint_id=wanted, responses=responses)
        if self._seed(None, wire.StartOptions(restore=restore), refused=self.dice.random() < 0.15):
            self.restores += 1

    def _seed(self, message: Any, options: wire.StartOptions, *, refused: bool) -> bool:
        status = self.engine.status()
        try:
            data = self.engine.input(message, options)
        except SessionRefused:
            self.refusals += 1
            assert self.engine.status() == status, "a refused input changed something"
            return False
        self.begun_turns += 1
        self.running["seed"] = lambda: self._seeded(data, refused)
        return not refused

    def _seeded(self, data: wire.SeedInput, refused: bool) -> Fact:
        if refused:
            return InputRefused(failure("InputNotHandled", "no"))
        result = self.host.further(data)
        if result.restored is not None:
            self.model = copy.deepcopy(self.models[result.restored.header.checkpoint_id])
            self.reminded = []  # its requests are asked anew, with the time at which they were asked first
            self._restoring = result.restored.header.checkpoint_id
        return Seeded(result)

    # --- what follows ---

    def feed(self, fact: Fact) -> None:
        self._note(fact)
        decisions = self.engine.receive(fact)
        self.decisions.append(decisions)
        if self.conclusion is not None:
            assert all(isinstance(decision, Answer) for decision in decisions), "a decision after the end"
        self._carry_all(decisions)

    def _carry_all(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            if isinstance(decision, TurnEnded):
                self.ended_turns += 1
                if decision.failure is not None:
                    self._turn_failed(decision.failure)
            elif isinstance(decision, Commit):
                data = decision.input
                assert data.graph == "signature", "a commit for a graph that nobody knows"
                assert "commit" not in self.running, "two commits at once"
                self.commits.append(data)
                self.running["commit"] = lambda data=data: Committed(self._written(data))
            else:
                self._carry_out(decision)

    def _all_mirrored(self) -> bool:  # several lineages may be written in another order than they are recorded
        return {header.checkpoint_id for header in self.headers} == set(self.blobs.checkpoints)

    def _turn_failed(self, failed: wire.Failure) -> None:
        if failed.error_type == "InputNotHandled":
            return
        self.failed_turns += 1
        self.model.messages = []
        if failed.error_type == REQUEST_EXPIRED:
            self.model.requests.pop(failed.message.split("'")[1], None)
        for index in list(self.busy.values()):
            cancelled = self.running.pop(f"delivery {index}")
            if self.dice.random() < 0.5:
                cancelled()  # it was too late: what it wrote to the store is there
        self.busy.clear()
        self._last.clear()

    @property
    def _commit_writes(self) -> bool:
        return "commit" in self.running and bool(self.commits[-1].records)

    def _check_delivery(self, index: int, data: wire.DeliveryInput) -> None:
        super()._check_delivery(index, data)
        self._check_base(data.snapshot)
        for record in data.records:
            self._check_base(record.snapshot, self.lineage_of[record.header.checkpoint_id])

    def _check_base(self, snapshot: wire.Snapshot | None, lineage: int | None = None) -> None:
        if snapshot is not None and snapshot.base is not None:
            expected = self.lineage_of[self.engine.lineage.head or ""] if lineage is None else lineage
            assert self.lineage_of[snapshot.base.checkpoint_id] == expected, "a base of another lineage"

    # --- the model ---

    def _recorded(self, record: wire.CheckpointRecord) -> None:
        """Hold a checkpoint to the model, in the moment it is recorded."""
        header = record.header
        parent = header.previous_checkpoint_id
        assert parent is None or parent in self.models, "a parent that was never recorded"
        self.lineage_of[header.checkpoint_id] = self.resets if parent is None else self.lineage_of[parent]
        self._check_base(record.snapshot, self.lineage_of[header.checkpoint_id])
        match header.kind:
            case "entry":
                self.model.iteration = 0
                self.model.messages = [Sent("internal:e0", self._given, "e0")]
                self.model.take("entry")
            case "response":
                self.model.answer(
                    [
                        (one.request.request_id, self.blobs.read(one.data))
                        for one in record.messages
                        if one.request is not None and one.request.request_id in self.model.requests
                    ]
                )
            case _:
                self.model.superstep()
        assert self.moment(record) == self.model.course.moments[-1]
        self.models[header.checkpoint_id] = copy.deepcopy(self.model)

    def moment(self, record: wire.CheckpointRecord) -> Moment:
        entries, header = self.blobs.entries(record.snapshot), record.header
        scratch = Blobs()
        scratch._values = self.blobs._values  # pyright: ignore[reportPrivateUsage]
        scratch.checkpoints[header.checkpoint_id] = (header, entries, list(record.messages))
        return scratch.moment(header.checkpoint_id)

    def fates(self) -> list[Fate]:
        """Return what became of all responses."""
        return [fate for fates in self.answers.values() for fate in fates]


def session(
    script: Script, seed: int, *, store_failures: int = 0, junk: int = 0, leaving: float = 0.0, turns: int = 6
) -> SessionOwner:
    """Run a session to its end."""
    manner = Manner(store_failures=store_failures, junk=junk, leaving=leaving)
    return SessionOwner(script, Random(seed), manner, turns=turns).run()
