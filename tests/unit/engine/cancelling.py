"""Runs and sessions whose requests are cancelled at any moment; each checkpoint is held to a model when it is recorded.

What a scripted executor does when it is told of a cancellation follows from the requests, the state it sees and its own
state, as all that it does.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from temporal_adapter import wire
from temporal_adapter.engine import CancelRequested, Engine, Phase
from temporal_adapter.host.deliver import _own_record  # pyright: ignore[reportPrivateUsage]

from .host import Host
from .owner import Manner, Owner
from .reference import Sent, _Run, _write  # pyright: ignore[reportPrivateUsage]
from .scripted import Ask, Doing, Script, Send, failure
from .sessions import SessionHost, SessionOwner


def release(script: Script, executor: str, cancelled: Sequence[str], state: dict[str, Any], memory: Any) -> Doing:
    """Do what an executor does when it is told that these requests are cancelled."""
    dice = script._dice(executor, "cancelled", list(cancelled), sorted(state.items()), memory)
    turn = 0 if memory is None else memory["turn"]
    doing = Doing(memory={"turn": turn + 1, "pad": script._pad(dice)})
    if dice.random() < script.failing:
        doing.fails = True
        return doing
    for number, request_id in enumerate(cancelled):
        if dice.random() < 0.5:
            name = f"{executor}.{turn}.{number} in place of {request_id}"
            doing.sends.append(Send({"name": name, "hops": dice.choice((0, 1)), "pad": script._pad(dice)}))
        if dice.random() < 0.5:
            doing.writes[dice.choice("abcdef")] = {"released": request_id, "turn": turn}
    if dice.random() < 0.1:
        doing.asks.append(Ask(f"{executor}.{turn}", {"hops": 0, "pad": ""}))
    if dice.random() < 0.3:
        doing.outputs.append({"released": list(cancelled), "turn": turn})
    return doing


class CancellingModel(_Run):
    """The reference, with cancellations."""

    def cancel(self, request_ids: Sequence[str]) -> None:
        """Tell executors, each with what it saw before; nothing is counted."""
        by_executor: dict[str, list[str]] = {}
        for request_id in request_ids:
            by_executor.setdefault(self.requests.pop(request_id)[0], []).append(request_id)
        before = dict(self.state)
        for executor, cancelled in by_executor.items():
            doing = release(self.script, executor, cancelled, dict(before), self.memories.get(executor))
            assert not doing.fails, "a checkpoint follows a cancellation that failed"
            self.memories[executor] = doing.memory
            _write(self.state, doing.writes)
            self.requests.update((ask.request_id, (executor, ask)) for ask in doing.asks)
            self.messages.extend(Sent(executor, send.data, send.target_id) for send in doing.sends)
        self.take("response")


class _Releasing(Host):
    def deliver(self, data: wire.DeliveryInput) -> wire.DeliveryResult | wire.Failure:
        if not data.cancelled:
            return super().deliver(data)
        assert data.messages == []
        records = self.blobs.write(data.records) if data.records else None
        snapshot = data.snapshot or data.records[-1].snapshot
        entries = self.blobs.entries(snapshot)
        assert not set(data.cancelled) & set(entries.requests), "an executor is told of what still waits"
        kept = entries.attributes if self.script.keeps_attributes(data.executor_id) else entries.executors
        state = {key: self.blobs.read(value) for key, value in entries.state.items()}
        memory = self.blobs.read(kept[data.executor_id]) if data.executor_id in kept else None
        doing = release(self.script, data.executor_id, data.cancelled, state, memory)
        if doing.fails:
            return failure("ScriptedError", f"{data.executor_id} failed to release")
        result = self._result(data.executor_id, doing)
        events = [one for one in result.events if one.type not in ("executor_invoked", "executor_completed")]
        result = wire.replace(result, events=events)
        own: wire.CommitOutcome | None = None
        if data.own is not None and (records is None or records.base is not None):
            own = self.blobs.write([_own_record(data, snapshot, result)])
        return wire.replace(result, records=records, own=own)


class ReleasingHost(_Releasing):
    """The activities of a run."""


class ReleasingSessionHost(_Releasing, SessionHost):
    """The activities of a session."""


class _Cancels(Owner):
    """What both owners do beside their own moves."""

    cancels: int
    cancelled: dict[int, tuple[str, ...]]

    def step(self) -> bool:
        """Let one thing happen; now and then, somebody cancels requests."""
        at_work = self.engine.phase in (Phase.RUNNING, Phase.PAUSED, Phase.SEEDING)
        if self.cancels and at_work and self.engine.pending_requests() and self.dice.random() < 0.4:
            self.cancels -= 1
            self.cancel(*self._some())
            return True
        return super().step()

    def cancel(self, *request_ids: str, source: str = "person") -> int:
        """Ask for a cancellation; return its ticket."""
        ticket = len(self.tickets) + 1
        self.tickets[ticket] = ()
        self.cancelled[ticket] = request_ids
        asked = wire.CancelRequests(request_ids=list(request_ids), responder="Ada", comment="no longer needed")
        self.feed(CancelRequested(ticket, asked))
        return ticket

    def _some(self) -> list[str]:
        pending = [request.request_id for request in self.engine.pending_requests()]
        chosen = self.dice.sample(pending, self.dice.randint(1, len(pending)))
        if self._junk and self.dice.random() < 0.4:
            self._junk -= 1
            known = [response.request_id for sent in self.tickets.values() for response in sent]
            before = [one for ids in self.cancelled.values() for one in ids]
            chosen.append(self.dice.choice(["unknown", *known, *before]))
        return chosen

    def accepted_cancellations(self) -> list[str]:
        """Return the requests whose cancellation was accepted, in order."""
        return [
            fate.request_id
            for ticket in self.cancelled
            for fate in self.answers.get(ticket, ())
            if fate.refused is None
        ]

    def told(self) -> list[list[str]]:
        """Return which requests each checkpoint that follows a cancellation names, in order."""
        named = [
            [one["request_id"] for one in header.metadata.get("responses", []) if one["outcome"] == "cancelled"]
            for header in self.headers
        ]
        return [ids for ids in named if ids]


def is_cancellation(header: wire.CheckpointHeader) -> bool:
    """Whether a checkpoint follows a cancellation."""
    return any(one["outcome"] == "cancelled" for one in header.metadata.get("responses", []))


@dataclass
class CancellingOwner(_Cancels):
    """One run under way."""

    cancels: int = 4
    cancelled: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.host = ReleasingHost(self.script, self.blobs, self.clock)
        self.model = CancellingModel(self.script, self.first)
        self._scratch = SessionOwner(self.script, self.dice)  # for its reading of records
        self._scratch.blobs = self.blobs

    def new_engine(self) -> Engine:
        engine = super().new_engine()
        engine.observe(self._recorded)
        return engine

    def _recorded(self, record: wire.CheckpointRecord) -> None:
        match record.header.kind:
            case "entry":
                self.model.take("entry")
            case "response":
                _respond(self.model, record, self.blobs.read)
            case _:
                assert self.model.superstep()
        assert self._scratch.moment(record) == self.model.course.moments[-1]


@dataclass
class CancellingSession(_Cancels, SessionOwner):
    """One session under way."""

    cancels: int = 4
    cancelled: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.host = ReleasingSessionHost(self.script, self.blobs, self.clock)
        self.model = CancellingModel(self.script, None)

    def _reset(self) -> None:
        super()._reset()
        if not isinstance(self.model, CancellingModel):
            self.model = CancellingModel(self.script, None)

    def _recorded(self, record: wire.CheckpointRecord) -> None:
        header = record.header
        if not is_cancellation(header):
            super()._recorded(record)
            return
        parent = header.previous_checkpoint_id
        assert parent in self.models, "a parent that was never recorded"
        self.lineage_of[header.checkpoint_id] = self.lineage_of[parent]
        self._check_base(record.snapshot, self.lineage_of[header.checkpoint_id])
        _respond(self.model, record, self.blobs.read)
        assert self.moment(record) == self.model.course.moments[-1]
        self.models[header.checkpoint_id] = copy.deepcopy(self.model)


def _respond(model: _Run, record: wire.CheckpointRecord, read: Any) -> None:
    if is_cancellation(record.header):
        assert isinstance(model, CancellingModel)
        model.cancel([one["request_id"] for one in record.header.metadata["responses"]])
        return
    model.answer(
        [
            (one.request.request_id, read(one.data))
            for one in record.messages
            if one.request is not None and one.request.request_id in model.requests
        ]
    )


def run(
    script: Script, seed: int, *, store_failures: int = 0, junk: int = 0, leaving: float = 0.0, deadlines: int = 0
) -> CancellingOwner:
    """Run to the end, or to a pause that nobody answers."""
    manner = Manner(store_failures=store_failures, junk=junk, leaving=leaving, deadlines=deadlines)
    owner = CancellingOwner(script, Random(seed), manner)
    owner.run()
    return owner


def session(
    script: Script, seed: int, *, store_failures: int = 0, junk: int = 0, leaving: float = 0.0, deadlines: int = 0
) -> CancellingSession:
    """Run a session to its end."""
    manner = Manner(store_failures=store_failures, junk=junk, leaving=leaving, deadlines=deadlines)
    owner = CancellingSession(script, Random(seed), manner)
    owner.run()
    return owner


def pairs(headers: Sequence[wire.CheckpointHeader]) -> list[tuple[wire.CheckpointHeader, wire.CheckpointHeader]]:
    """Return checkpoints, each with the one after it."""
    return list(itertools.pairwise(headers))
