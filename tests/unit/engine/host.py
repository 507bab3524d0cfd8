"""What activities do for a run, for a scripted graph: deliver, judge, commit. Follows `temporal_adapter/host`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

from temporal_adapter import wire
from temporal_adapter.host.deliver import _own_record  # pyright: ignore[reportPrivateUsage]

from .blobs import Blobs
from .scripted import START, Doing, Script, failure

ILL_TYPED = "ill-typed"
"""A response that no request takes."""


class Clock:
    """The time by which requests are asked, where they have deadlines."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=timezone.utc)

    def tick(self) -> str:
        """Let a second pass; return the time."""
        self._now += timedelta(seconds=1)
        return self.now

    def reach(self, at: str) -> None:
        """Let the time pass until an instant, if it has not."""
        self._now = max(self._now, datetime.fromisoformat(at))

    @property
    def now(self) -> str:
        """The time (ISO 8601, UTC)."""
        return self._now.isoformat(timespec="microseconds")


class Host:
    """The activities of a scripted graph over a blob store; requests have deadlines where there is a clock."""

    def __init__(self, script: Script, blobs: Blobs, clock: Clock | None = None) -> None:
        self.script = script
        self.blobs = blobs
        self.clock = clock

    def seed(self, data: wire.SeedInput) -> wire.SeedResult:
        message = wire.Message(source_id=f"internal:{START}", data=self.blobs.value(data.message), target_id=START)
        record = wire.CheckpointRecord(
            header=data.header, snapshot=wire.Snapshot(changes=wire.Changes()), messages=[message]
        )
        routed = wire.RoutedMessage(message=message, routes=[_internal(START)])
        return wire.SeedResult(
            at="2026-01-01T00:00:00+00:00", graph=self.script.graph, message=routed, commit=self.blobs.write([record])
        )

    def deliver(self, data: wire.DeliveryInput) -> wire.DeliveryResult | wire.Failure:
        records = self.blobs.write(data.records) if data.records else None
        snapshot = data.snapshot or data.records[-1].snapshot
        entries = self.blobs.entries(snapshot)
        kept = entries.attributes if self.script.keeps_attributes(data.executor_id) else entries.executors
        doing = self.script.do(
            data.executor_id,
            self._batch(data),
            {key: self.blobs.read(value) for key, value in entries.state.items()},
            self.blobs.read(kept[data.executor_id]) if data.executor_id in kept else None,
        )
        if doing.fails:
            return failure("ScriptedError", f"{data.executor_id} failed")
        result = self._result(data.executor_id, doing)
        own: wire.CommitOutcome | None = None
        if data.own is not None and (records is None or records.base is not None):
            own = self.blobs.write([_own_record(data, snapshot, result)])
        return wire.replace(result, records=records, own=own)

    def _batch(self, data: wire.DeliveryInput) -> list[Any]:
        if data.fan_in is None:
            return [self.blobs.read(message.data) for message in data.messages]
        sources = self.script.fan_ins[data.fan_in].sources
        assert data.source_ids == sources
        return [
            self.blobs.read(message.data)
            for source in sources
            for message in data.messages
            if message.source_id == source
        ]

    def _result(self, executor: str, doing: Doing) -> wire.DeliveryResult:
        values: list[wire.Value] = []

        def index(obj: Any) -> int:
            values.append(self.blobs.value(obj))
            return len(values) - 1

        messages = [
            wire.SentMessage(data=index(send.data), target_id=send.target_id, routes=self.script.route(executor, send))
            for send in doing.sends
        ]
        memory = index(doing.memory)
        hookless = self.script.keeps_attributes(executor)
        return wire.DeliveryResult(
            at="2026-01-01T00:00:00+00:00",
            messages=messages,
            events=[
                wire.ResultEvent(type="executor_invoked", executor_id=executor),
                *(self._asked(executor, ask.request_id, ask.data) for ask in doing.asks),
                *(
                    wire.ResultEvent(type="output", origin="EXECUTOR", executor_id=executor, data=index(output))
                    for output in doing.outputs
                ),
                wire.ResultEvent(
                    type="executor_completed", executor_id=executor, items=[sent.data for sent in messages]
                ),
            ],
            state={key: None if value is None else index(value) for key, value in doing.writes.items()},
            executor_state=None if hookless else memory,
            attributes=memory if hookless else None,
            values=values,
        )

    def _asked(self, executor: str, request_id: str, data: Any) -> wire.ResultEvent:
        request = wire.Request(
            request_id=request_id,
            source_executor_id=executor,
            data=self.blobs.value(data),
            request_type="dict",
            response_type="dict",
            asked_at=None if self.clock is None else self.clock.tick(),
            deadline=None if self.clock is None else _deadline(request_id, self.script.seed),
        )
        return wire.ResultEvent(type="request_info", origin="EXECUTOR", request=request)

    def judge(self, data: wire.RespondInput) -> wire.RespondResult:
        judgements = [
            self._judge(request, response) for request, response in zip(data.requests, data.responses, strict=True)
        ]
        accepted = [judgement for judgement in judgements if judgement.message is not None]
        if data.header is None or data.snapshot is None or not accepted:
            return wire.RespondResult(at="2026-01-01T00:00:00+00:00", judgements=judgements)
        changes = data.snapshot.changes
        requests = {**changes.requests, **dict.fromkeys(judgement.request_id for judgement in accepted)}
        record = wire.CheckpointRecord(
            header=data.header,
            snapshot=wire.Snapshot(base=data.snapshot.base, changes=wire.replace(changes, requests=requests)),
            messages=[judgement.message.message for judgement in accepted if judgement.message is not None],
        )
        return wire.RespondResult(
            at="2026-01-01T00:00:00+00:00", judgements=judgements, commit=self.blobs.write([record])
        )

    def _judge(self, request: wire.Request, response: wire.Response) -> wire.Judgement:
        assert request.request_id == response.request_id
        if response.response == ILL_TYPED:
            return wire.Judgement(request_id=request.request_id, refused="ill-typed")
        executor = request.source_executor_id
        message = wire.Message(
            source_id=f"internal:{executor}",
            data=self.blobs.value(response.response),
            target_id=executor,
            type="response",
            request=request,
        )
        routed = wire.RoutedMessage(message=message, routes=[_internal(executor)])
        return wire.Judgement(request_id=request.request_id, message=routed)


def _deadline(request_id: str, seed: int) -> wire.Deadline | None:
    """Return what is done while a request waits; the same for all requests of an id."""
    dice = Random(f"{seed} {request_id}")
    if dice.random() < 0.2:
        return None
    return wire.Deadline(
        remind_every=dice.choice((None, 2.0, 3.0)),
        remind_at_once=dice.random() < 0.3,
        expire_after=dice.choice((None, 4.0, 7.5)),
        on_expiry=dice.choice(("fail", "cancel", "cancel", "default", "default")),
        default=ILL_TYPED if dice.random() < 0.2 else {"hops": 0, "to": request_id},
    )


def _internal(executor: str) -> wire.Route:
    return wire.Route(group=0, targets=[executor], source_ids=[f"internal:{executor}"])
