"""A MAF workflow run twice in this process: by MAF's own runner, and by the engine with the real router and executors.

Values are opaque numbers of objects kept here, so the engine alone is compared, without the codec and the store.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_framework import (
    INTERNAL_SOURCE_ID,
    InMemoryCheckpointStorage,
    InProcRunnerContext,
    Workflow,
    WorkflowEvent,
    WorkflowMessage,
)

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
    Finish,
    Judge,
    ResponsesJudged,
    ResponsesReceived,
    Seeded,
)
from temporal_adapter.failures import failure_of
from temporal_adapter.maf import EDGE_STATE_KEY, FAN_IN_BUFFER_KEY, MessageType, State
from temporal_adapter.routing import Router

from .blobs import Blobs
from .owner import stamp

Shown = tuple[str, str | None, str, int | None, str | None, Any]


@dataclass(frozen=True)
class Saved:
    """A checkpoint: what both sides say of it."""

    iteration: int
    state: dict[str, Any]
    messages: dict[str, list[Any]]
    requests: list[str]
    buffers: dict[str, dict[str, list[Any]]]


@dataclass
class Trace:
    events: list[Shown] = field(default_factory=list)
    checkpoints: list[Saved] = field(default_factory=list)
    error: str | None = None

    def supersteps(self) -> list[list[Shown]]:
        """Return the events with those of concurrent executors put in order of their ids."""
        parts: list[list[Shown]] = [[]]
        for event in self.events:
            if event[0].startswith("superstep") or event[0] == "status":
                parts.extend(([event], []))
            else:
                parts[-1].append(event)
        return [sorted(part, key=lambda event: event[1] or "") for part in parts if part]


Responses = Sequence[Mapping[str, Any]]


async def by_maf(workflow: Workflow, message: Any, responses: Responses = ()) -> Trace:
    """Run with MAF's runner; each of `responses` answers a pause."""
    storage, trace = InMemoryCheckpointStorage(), Trace()
    runs = [{"message": message}, *({"responses": dict(one)} for one in responses)]
    try:
        for given in runs:
            async for event in workflow.run(**given, stream=True, checkpoint_storage=storage):
                trace.events.append(_shown(event))
    except Exception as error:
        trace.error = str(error)
    for saved in await storage.list_checkpoints(workflow_name=workflow.name):
        edges: dict[str, Any] = saved.state.get(EDGE_STATE_KEY, {})
        trace.checkpoints.append(
            Saved(
                iteration=saved.iteration_count,
                state={key: value for key, value in saved.state.items() if not key.startswith("_")},
                messages={source: [one.data for one in held] for source, held in saved.messages.items()},
                requests=sorted(saved.pending_request_info_events),
                buffers={
                    key: {source: [one.data for one in held] for source, held in edge[FAN_IN_BUFFER_KEY].items()}
                    for key, edge in edges.items()
                },
            )
        )
    return trace


def _shown(event: WorkflowEvent[Any]) -> Shown:
    data = event.details.message if event.details is not None else event.data
    who = event.executor_id or (event.source_executor_id if event.type == "request_info" else None)
    return event.type, who, event.origin.value, event.iteration, event.state.value if event.state else None, data


async def by_engine(workflow: Workflow, message: Any, responses: Responses = ()) -> Trace:
    """Run with the engine; each of `responses` answers a pause."""
    return await _Driver(workflow).run(message, responses)


class _Driver:
    def __init__(self, workflow: Workflow) -> None:
        numbers = itertools.count(1)
        self.workflow, self.router = workflow, Router(workflow)
        self.engine, self.blobs = Engine(lambda: stamp(next(numbers))), Blobs()
        self.objects: list[Any] = []
        self.todo: list[Decision] = []

    def keep(self, obj: Any) -> wire.Value:
        self.objects.append(copy.deepcopy(obj))
        return wire.Value(inline=len(self.objects) - 1, size=4)

    def get(self, value: wire.Value) -> Any:
        return copy.deepcopy(self.objects[value.inline])  # type: ignore[call-overload]

    async def run(self, message: Any, responses: Responses) -> Trace:
        seed = self.engine.start(message, wire.StartOptions())
        self.feed(Seeded(await self.seed(message, seed.header)))
        trace = Trace()
        for batch in [None, *responses]:
            if batch is not None:
                sent = tuple(wire.Response(request_id=key, response=value) for key, value in batch.items())
                self.feed(ResponsesReceived(1, sent))
            while self.todo:
                match self.todo.pop(0):
                    case Deliver(index, data):
                        self.feed(await self.deliver(index, data))
                    case Judge(data):
                        self.feed(ResponsesJudged(await self.judge(data)))
                    case Commit(data):
                        self.feed(Committed(self.blobs.write(data.records)))
                    case Fail(failure):
                        trace.error = failure.message
                    case Answer() | Finish():
                        pass
        trace.events = [self.shown(event) for event in self.engine.journal.events]
        trace.checkpoints = [self.saved(header.checkpoint_id) for header in self.engine.lineage.headers]
        return trace

    def feed(self, fact: Fact) -> None:
        self.todo.extend(self.engine.receive(fact))

    async def routed(self, message: WorkflowMessage, request: wire.Request | None = None) -> wire.RoutedMessage:
        shape = wire.Message(
            source_id=message.source_id,
            data=self.keep(message.data),
            target_id=message.target_id,
            type="standard" if request is None else "response",
            request=request,
        )
        return wire.RoutedMessage(message=shape, routes=await self.router.route(message))

    async def seed(self, data: Any, header: wire.CheckpointHeader) -> wire.SeedResult:
        start = self.workflow.start_executor_id
        routed = await self.routed(WorkflowMessage(data=data, source_id=INTERNAL_SOURCE_ID(start), target_id=start))
        graph = wire.Graph(
            name=self.workflow.name,
            signature=self.workflow.graph_signature_hash,
            start_executor_id=start,
            executors=list(self.workflow.executors),
            max_iterations=self.workflow.max_iterations,
            fan_ins=self.router.fan_ins,
        )
        record = wire.CheckpointRecord(
            header=header, snapshot=wire.Snapshot(changes=wire.Changes()), messages=[routed.message]
        )
        return wire.SeedResult(
            at="2026-01-01T00:00:00+00:00", graph=graph, message=routed, commit=self.blobs.write([record])
        )

    async def deliver(self, index: int, data: wire.DeliveryInput) -> Fact:
        records = self.blobs.write(data.records) if data.records else None
        entries = self.blobs.entries(data.snapshot or data.records[-1].snapshot)
        state, context = State(), InProcRunnerContext()
        state.import_state({key: self.get(value) for key, value in entries.state.items()})
        context.set_yield_output_classifier(
            lambda one: "output" if self.workflow.is_terminal_executor(one) else "intermediate"
        )
        messages = [self.message(message) for message in data.messages]
        given, sources = messages[0], data.source_ids
        if data.fan_in is not None:
            batch = await self.router.aggregate(data.fan_in, messages)
            given, sources = batch.message, batch.source_ids
        try:
            await self.workflow.executors[data.executor_id].execute(given, sources, state, context)
        except Exception as error:
            return DeliveryFailed(index, failure_of(error))
        return DeliveryFinished(index, await self.result(state, context, records))

    async def result(
        self, state: State, context: InProcRunnerContext, records: wire.CommitOutcome | None
    ) -> wire.DeliveryResult:
        values: list[wire.Value] = []

        def index(obj: Any) -> int:
            values.append(self.keep(obj))
            return len(values) - 1

        sent = [one for held in (await context.drain_messages()).values() for one in held]
        events = [self.event(event, index) for event in await context.drain_events()]
        written = list(state._pending)
        state.commit()
        after = state.export_state()
        return wire.DeliveryResult(
            at="2026-01-01T00:00:00+00:00",
            messages=[
                wire.SentMessage(data=index(one.data), target_id=one.target_id, routes=await self.router.route(one))
                for one in sent
            ],
            events=events,
            state={key: index(after[key]) if key in after else None for key in written},
            values=values,
            records=records,
        )

    def event(self, event: WorkflowEvent[Any], index: Any) -> wire.ResultEvent:
        known = event.type in ("executor_invoked", "request_info", "executor_failed") or event.data is None
        request: wire.Request | None = None
        if event.type == "request_info":
            request = wire.Request(
                request_id=event.request_id,
                source_executor_id=event.source_executor_id,
                data=self.keep(event.data),
                request_type="type",
                response_type="type",
            )
        several = event.type == "executor_completed" and not known
        return wire.ResultEvent(
            type=event.type,
            origin=event.origin.value,
            data=None if known or several else index(event.data),
            items=[index(one) for one in event.data] if several else None,
            executor_id=event.executor_id,
            request=request,
        )

    def message(self, message: wire.Message) -> WorkflowMessage:
        request = message.request
        return WorkflowMessage(
            data=self.get(message.data),
            source_id=message.source_id,
            target_id=message.target_id,
            type=MessageType(message.type),
            original_request_info_event=None
            if request is None
            else WorkflowEvent.request_info(
                request.request_id, request.source_executor_id, self.get(request.data), str
            ),
        )

    async def judge(self, data: wire.RespondInput) -> wire.RespondResult:
        judgements: list[wire.Judgement] = []
        for request, response in zip(data.requests, data.responses, strict=True):
            source = request.source_executor_id
            message = WorkflowMessage(data=response.response, source_id=INTERNAL_SOURCE_ID(source), target_id=source)
            message.type = MessageType.RESPONSE
            message.original_request_info_event = WorkflowEvent.request_info(
                request.request_id, source, self.get(request.data), type(response.response)
            )
            routed = await self.routed(message, request)
            judgements.append(wire.Judgement(request_id=request.request_id, message=routed))
        return wire.RespondResult(at="2026-01-01T00:00:00+00:00", judgements=judgements)

    # --- what it came to ---

    def shown(self, event: wire.Event) -> Shown:
        data: Any = None
        if event.details is not None:
            data = event.details.message
        elif event.request is not None:
            data = self.get(event.request.data)
        elif event.items is not None:
            data = [self.get(item) for item in event.items]
        elif event.data is not None:
            data = event.data.inline if event.type == "warning" else self.get(event.data)
        who = event.executor_id or (event.request.source_executor_id if event.request else None)
        return event.type, who, event.origin, event.iteration, event.state, data

    def saved(self, checkpoint_id: str) -> Saved:
        header, entries, messages = self.blobs.checkpoints[checkpoint_id]
        return Saved(
            iteration=header.iteration,
            state={key: self.get(value) for key, value in entries.state.items()},
            messages=self._by_source(messages),
            requests=sorted(entries.requests),
            buffers={key: self._by_source(held) for key, held in entries.buffers.items()},
        )

    def _by_source(self, messages: Sequence[wire.Message]) -> dict[str, list[Any]]:
        grouped: dict[str, list[Any]] = {}
        for message in messages:
            grouped.setdefault(message.source_id, []).append(self.get(message.data))
        return grouped
