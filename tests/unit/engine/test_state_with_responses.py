"""Shared state that comes with a session's responses (run kwargs): it is in the checkpoint that has them in flight."""

from __future__ import annotations

import itertools
from typing import Any

from temporal_adapter import wire
from temporal_adapter.engine import (
    Commit,
    Deliver,
    DeliveryFinished,
    Engine,
    Judge,
    ResponsesJudged,
    ResponsesReceived,
    Seeded,
    Stamp,
)

NOW = "2026-01-01T00:00:00+00:00"
GRAPH = wire.Graph(name="asking", signature="signature", start_executor_id="ask", executors=["ask"], max_iterations=9)
REQUEST = wire.Request(
    request_id="r",
    source_executor_id="ask",
    data=wire.Value(inline="?", size=3),
    request_type="str",
    response_type="bool",
)
KWARGS = {"kwargs": wire.Value(inline={"a": 1}, size=7)}


def routed(message: wire.Message) -> wire.RoutedMessage:
    return wire.RoutedMessage(message=message, routes=[wire.Route(group=0, targets=["ask"], source_ids=["ask"])])


def committed(number: int) -> wire.CommitOutcome:
    return wire.CommitOutcome(base=wire.Base(checkpoint_id=f"c{number}", object=f"c{number}", digest="digest"))


def paused() -> tuple[Engine, list[wire.CheckpointRecord]]:
    """Return a session that waits for a response, and the records that it makes from now on."""
    numbers, records = itertools.count(), list[wire.CheckpointRecord]()
    engine = Engine(lambda: Stamp(f"c{next(numbers)}", NOW))
    engine.open_session(wire.StartOptions(session=True))
    engine.input(1, wire.StartOptions())
    first = wire.Message(source_id="internal:ask", data=wire.Value(inline=1, size=1), target_id="ask")
    [deliver] = engine.receive(Seeded(wire.SeedResult(graph=GRAPH, message=routed(first), commit=committed(0), at=NOW)))
    assert isinstance(deliver, Deliver)
    asked = [wire.ResultEvent(type="request_info", request=REQUEST)]
    engine.receive(DeliveryFinished(deliver.index, wire.DeliveryResult(events=asked, own=committed(1), at=NOW)))
    engine.observe(records.append)
    return engine, records


def judged(**outcome: Any) -> ResponsesJudged:
    judgement = wire.Judgement(request_id="r", **outcome)
    return ResponsesJudged(wire.RespondResult(judgements=[judgement], at=NOW, stamped=True, audited=True))


def respond(engine: Engine) -> Judge:
    given = (wire.Response(request_id="r", response=True),)
    [decision] = engine.receive(ResponsesReceived(1, given, state=KWARGS))
    assert isinstance(decision, Judge)
    return decision


def test_it_is_in_the_checkpoint_that_has_the_response_in_flight() -> None:
    engine, records = paused()

    judge = respond(engine)
    answer = wire.Message(
        source_id="internal:ask",
        data=wire.Value(inline=True, size=4),
        target_id="ask",
        type="response",
        request=REQUEST,
    )
    decisions = engine.receive(judged(message=routed(answer)))

    assert judge.input.header is None  # whoever judges does not know the state, so that the run records it
    [record] = records
    assert record.header.kind == "response"
    assert record.snapshot.changes.state == KWARGS
    [deliver] = [one for one in decisions if isinstance(one, Deliver)]
    assert [one.snapshot.changes.state for one in deliver.input.records] == [KWARGS]


def test_a_refusal_leaves_it_unset() -> None:
    engine, records = paused()
    respond(engine)

    decisions = engine.receive(judged(refused="no"))

    assert records == []
    assert not any(isinstance(one, (Commit, Deliver)) for one in decisions)
    assert [one.request_id for one in engine.pending_requests()] == ["r"]
