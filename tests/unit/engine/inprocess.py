"""A graph run by the engine with the real activities, codec, store and executors: all of Temporal's side but Temporal.

What runs at the same time is finished one by one, in an order that dice decide. `Observed` is what the conformance kit
compares, so that MAF's own runner can be held against it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from agent_framework import Workflow
from temporalio import activity
from temporalio.common import RawValue
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from temporal_adapter import AgentFrameworkPlugin, BlobCheckpointStorage, BlobStore, wire
from temporal_adapter.activity_errors import failure_of
from temporal_adapter.client.reading import EventReader
from temporal_adapter.converter import ordered_json
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
    Finish,
    Judge,
    Phase,
    ResponsesJudged,
    ResponsesReceived,
    Seeded,
    WentOn,
)
from temporal_adapter.payload import Reader
from temporal_adapter.store import ValueStore
from temporal_adapter.testing import Observed, Script
from temporal_adapter.values import client_codec, to_plain_json
from temporal_adapter.wire.names import executor_activity_type, service_activity_type

from .blobs import Blobs
from .leaving import all_of, archive, carried_over, forgotten, take_up
from .owner import stamp


async def run_by_engine(
    factory: Callable[[], Workflow], script: Script, dice: Random | None = None, leaving: float = 0.0
) -> Observed:
    """Run a graph with the engine; requests are answered when the run pauses, as in-process.

    `leaving` is how probably the run goes on as another Temporal run, where it may.
    """
    run = _Run(factory, dice or Random(0), leaving)
    await run.start(script)
    while run.engine.phase is Phase.PAUSED:
        requests = [await run.reader.request(request) for request in run.engine.pending_requests()]
        run.seen.pauses.append(requests)
        given = script.responses(requests)
        if not given:
            break
        await run.respond(given)
    run.seen.events = [await run.reader.event(event) for event in all_of(run.engine, "events", run.pages)]
    storage = BlobCheckpointStorage(run.store, workflow=run.workflow)
    run.seen.checkpoints = await storage.list_checkpoints(workflow_name=run.name)
    return run.seen


# Activities ask their client for nothing but its codec.
_WITHOUT_SERVER: Any = SimpleNamespace(data_converter=DataConverter.default)


class _Run:
    """One run: facts in, decisions carried out."""

    def __init__(self, factory: Callable[[], Workflow], dice: Random, leaving: float) -> None:
        self._numbers = itertools.count(1)
        self._leaving, self._just_came = leaving, False
        self.engine = self._new_engine()
        self.pages = Blobs()  # of lists; values and checkpoints are in the store
        self.store = BlobStore("memory://")
        self.workflow = factory()
        self.name = self.workflow.name
        self.reader = EventReader(Reader(client_codec(), ValueStore(self.store, "default")))
        self.seen = Observed()
        self._dice = dice
        self._activities = _by_type(AgentFrameworkPlugin([factory], checkpoint_store=self.store))
        self._environment = ActivityEnvironment(client=_WITHOUT_SERVER)
        self._running: dict[str, Callable[[], Awaitable[Fact]]] = {}

    def _new_engine(self) -> Engine:
        return Engine(lambda: stamp(next(self._numbers)), leaves=self._leaves)

    def _leaves(self, troubled: bool) -> bool:
        return self._leaving > 0 and not self._just_came and self._dice.random() < self._leaving

    async def _leave(self) -> None:
        """Go on in a new engine, that knows nothing but what came over as text."""
        for name in self.engine.logs:
            if self._dice.random() < 0.4:
                archive(self.engine, name, self.pages, self._dice)
        text = carried_over(self.engine)
        old, self.engine, self._just_came = self.engine, self._new_engine(), True
        take_up(self.engine, text)
        assert forgotten(old, self.engine) == []
        await self._take(WentOn(wire.CarryOnResult(continues=1, at="2026-01-01T00:00:00+00:00")))

    async def start(self, script: Script) -> None:
        message = _as_json(ordered_json(client_codec().encode(script.message, "message")))
        seed = self.engine.start(message, wire.StartOptions(encoding="tagged"))
        result = await self._activity(service_activity_type(self.name, "seed"), seed)
        await self._take(Seeded(wire.load(wire.SeedResult, result)))

    async def respond(self, given: dict[str, Any]) -> None:
        responses = [{"request_id": key, "response": to_plain_json(response)} for key, response in given.items()]
        await self._take(ResponsesReceived(1, tuple(wire.parse_responses(responses))))

    async def _take(self, fact: Fact) -> None:
        """Give the engine a fact, and all that follows from it."""
        self._just_came = isinstance(fact, WentOn)
        self._carry_out(self.engine.receive(fact))
        while self._running:
            name = self._dice.choice(sorted(self._running))
            self._just_came = False
            self._carry_out(self.engine.receive(await self._running.pop(name)()))
            if self.engine.phase in (Phase.ENDING, Phase.ENDED):
                self._running = {key: one for key, one in self._running.items() if not key.startswith("delivery")}
        if self.engine.may_leave and (self.engine.held or self._leaves(False)):
            await self._leave()

    def _carry_out(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            match decision:
                case Deliver(index):
                    self._running[f"delivery {index}"] = lambda decision=decision: self._deliver(decision)
                case Judge(data):
                    self._running["judge"] = lambda data=data: self._judge(data)
                case Commit(data):
                    self._running["commit"] = lambda data=data: self._commit(data)
                case Answer(_, fates):
                    assert [fate for fate in fates if fate.refused is not None] == []
                case Fail(failure):
                    self.seen.error = (failure.error_type, failure.message)
                case Finish():
                    pass

    async def _deliver(self, decision: Deliver) -> Fact:
        path = [*getattr(decision.input, "path", []), decision.input.executor_id]
        try:
            result = await self._activity(executor_activity_type(self.name, path), decision.input)
        except ApplicationError as error:
            return DeliveryFailed(decision.index, failure_of(error))
        return DeliveryFinished(decision.index, wire.load(wire.DeliveryResult, result))

    async def _judge(self, data: wire.RespondInput) -> Fact:
        result = await self._activity(service_activity_type(self.name, "respond"), data)
        return ResponsesJudged(wire.load(wire.RespondResult, result))

    async def _commit(self, data: wire.CommitInput) -> Fact:
        result = await self._activity(service_activity_type(self.name, "commit"), data)
        committed = wire.load(wire.CommitResult, result)
        return Committed(committed.records, tuple(committed.stowed))

    async def _activity(self, activity_type: str, data: Any) -> Any:
        """Run an activity as a worker would, with JSON in and out."""
        given = _as_json(ordered_json(wire.dump(data)))
        return _as_json(await self._environment.run(self._activities[activity_type], given))


def _by_type(plugin: AgentFrameworkPlugin) -> dict[str, Callable[..., Any]]:
    definitions = [(activity._Definition.must_from_callable(one), one) for one in plugin.activities or []]  # type: ignore[union-attr]
    return {definition.name or "": one for definition, one in definitions}


def _as_json(raw: RawValue) -> Any:
    return json.loads(raw.payload.data)
