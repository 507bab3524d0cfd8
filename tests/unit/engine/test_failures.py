"""A superstep that fails: what shows, what is merged, what is mirrored, and when."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine import (
    Commit,
    Committed,
    Decision,
    Deliver,
    DeliveryFailed,
    DeliveryFinished,
    Engine,
    Fail,
    Finish,
    Phase,
    ResponsesReceived,
    Seeded,
)

from .owner import Manner, Owner, stamp
from .scripted import Script, failure, scripts

BASE = wire.Base(checkpoint_id="c", object="o", digest="d")
WRITTEN = wire.CommitOutcome(base=BASE)
GRAPH = wire.Graph(
    name="fan", signature="s", start_executor_id="start", executors=["start", "left", "right"], max_iterations=10
)


def seeded(
    graph: wire.Graph = GRAPH, commit: wire.CommitOutcome | None = None, *, marks_end: bool = False
) -> tuple[Engine, list[Decision]]:
    """An engine whose start executor runs; by itself it does not tell the store how it ended."""
    numbers = iter(range(1, 1000))
    engine = Engine(lambda: stamp(next(numbers)), marks_end=lambda: marks_end)
    engine.start("input", wire.StartOptions())
    message = wire.Message(source_id="internal:start", data=text("input"), target_id="start")
    routes = [wire.Route(group=0, targets=["start"], source_ids=["internal:start"])]
    routed = wire.RoutedMessage(message=message, routes=routes)
    seed = wire.SeedResult(at="2026-01-01T00:00:00+00:00", graph=graph, message=routed, commit=commit or WRITTEN)
    return engine, engine.receive(Seeded(seed))


def text(words: str) -> wire.Value:
    return wire.Value(inline=words, size=len(words) + 2)


def sending(*routes: wire.Route, own: wire.CommitOutcome | None = WRITTEN) -> wire.DeliveryResult:
    sent = [wire.SentMessage(data=0, routes=[route]) for route in routes]
    return wire.DeliveryResult(at="2026-01-01T00:00:00+00:00", values=[text("sent")], messages=sent, own=own)


def forked() -> Engine:
    """An engine whose executors left and right run, side by side, as deliveries 1 and 2."""
    engine, _ = seeded()
    decisions = engine.receive(
        DeliveryFinished(0, sending(wire.Route(group=0, targets=["left", "right"], source_ids=["start"])))
    )
    assert [one.index for one in decisions if isinstance(one, Deliver)] == [1, 2]
    return engine


def shown(engine: Engine) -> list[tuple[str, str | None]]:
    return [(event.type, event.executor_id or event.state) for event in engine.journal.events]


def test_a_failed_delivery_fails_the_run_with_the_events_maf_shows() -> None:
    engine = forked()
    before = len(engine.journal.events)

    decisions = engine.receive(DeliveryFailed(1, failure("ValueError", "no")))

    assert decisions == [Fail(failure("ValueError", "no"))]
    assert shown(engine)[before:] == [
        ("executor_invoked", "left"),
        ("executor_failed", "left"),
        ("failed", None),
        ("status", "FAILED"),
    ]


def test_nothing_of_a_sibling_that_finishes_after_a_failure_is_merged() -> None:
    engine = forked()
    engine.receive(DeliveryFailed(1, failure("ValueError", "no")))
    before, headers = list(engine.journal.events), list(engine.lineage.headers)

    late = wire.DeliveryResult(
        at="2026-01-01T00:00:00+00:00",
        values=[text("late")],
        events=[wire.ResultEvent(type="output", data=0)],
        state={"key": 0},
    )

    assert engine.receive(DeliveryFinished(2, late)) == []
    assert engine.receive(DeliveryFailed(2, failure("Late", "late"))) == []
    assert engine.journal.events == before
    assert engine.lineage.headers == headers


def test_a_failed_run_ends_only_when_every_recorded_checkpoint_is_mirrored() -> None:
    engine, _ = seeded(commit=wire.CommitOutcome(error="away"))

    assert engine.receive(DeliveryFailed(0, failure("ValueError", "no"))) == []
    assert engine.phase is Phase.ENDING
    assert engine.receive(Committed(WRITTEN)) == [Fail(failure("ValueError", "no"))]


def test_records_that_a_failed_delivery_carried_are_committed_before_the_run_ends() -> None:
    engine = forked()
    for index in (1, 2):
        decisions = engine.receive(
            DeliveryFinished(index, sending(wire.Route(group=0, targets=["start"], source_ids=["left"]), own=None))
        )
    carrying = next(one for one in decisions if isinstance(one, Deliver))
    assert carrying.input.records

    (commit,) = engine.receive(DeliveryFailed(carrying.index, failure("ValueError", "no")))

    assert isinstance(commit, Commit)
    assert commit.input.records == carrying.input.records
    assert engine.receive(Committed(WRITTEN)) == [Fail(failure("ValueError", "no"))]


def test_an_error_of_a_condition_fails_the_superstep_that_would_have_delivered_the_message() -> None:
    engine, _ = seeded()
    error = failure("KeyError", "condition")

    decisions = engine.receive(DeliveryFinished(0, sending(wire.Route(group=0, error=error))))

    assert decisions == [Fail(error)]
    assert shown(engine)[-4:] == [
        ("superstep_completed", None),
        ("superstep_started", None),
        ("failed", None),
        ("status", "FAILED"),
    ]


def test_a_run_that_sends_on_for_ever_fails_after_max_iterations_as_in_maf() -> None:
    engine, _ = seeded(wire.replace(GRAPH, max_iterations=1))

    (decision,) = engine.receive(
        DeliveryFinished(0, sending(wire.Route(group=0, targets=["left"], source_ids=["start"])))
    )

    assert isinstance(decision, Fail)
    assert decision.failure.error_type == "WorkflowConvergenceException"
    assert decision.failure.message == "Runner did not converge after 1 iterations."
    assert [event.iteration for event in engine.journal.events if event.type == "superstep_started"] == [1]
    assert [header.kind for header in engine.lineage.headers] == ["entry", "superstep"]


def test_an_unfilled_fan_in_is_a_warning_at_the_end() -> None:
    graph = wire.replace(GRAPH, fan_ins={"fan": wire.FanIn(sources=["start", "left"], target="right")})
    engine, _ = seeded(graph)

    decisions = engine.receive(DeliveryFinished(0, sending(wire.Route(group=0, fan_in="fan"))))

    commits = [one for one in decisions if isinstance(one, Commit)]
    assert len(commits) == 1
    (finish,) = engine.receive(Committed(WRITTEN))
    assert isinstance(finish, Finish)
    (warning,) = [event for event in engine.journal.events if event.type == "warning"]
    assert warning.data is not None
    assert warning.data.inline == (
        "Fan-in to executor 'right' never fired: 1 message(s) are buffered, and nothing came from 'left'."
    )


def test_mirror_trouble_is_a_warning_and_a_commit_of_its_own() -> None:
    engine, decisions = seeded(commit=wire.CommitOutcome(error="away"))

    assert {type(one) for one in decisions} == {Commit, Deliver}
    status = engine.status()
    assert (status.unmirrored_checkpoints, status.mirror_error) == (1, "away")
    engine.receive(Committed(WRITTEN))
    status = engine.status()
    assert (status.unmirrored_checkpoints, status.mirror_error) == (0, None)


def test_the_store_is_told_how_a_run_ended_before_it_ends() -> None:
    engine, _ = seeded(marks_end=True)

    (commit,) = engine.receive(DeliveryFailed(0, failure("ValueError", "no")))

    assert isinstance(commit, Commit)
    assert commit.input.ended is not None
    assert (commit.input.ended.state, commit.input.ended.checkpoint_id) == ("failed", engine.lineage.head)
    assert engine.receive(Committed(wire.CommitOutcome())) == [Fail(failure("ValueError", "no"))]


def test_the_store_is_told_of_the_end_with_the_last_of_the_checkpoints() -> None:
    engine, decisions = seeded(commit=wire.CommitOutcome(error="away"), marks_end=True)
    (first,) = (one for one in decisions if isinstance(one, Commit))

    assert engine.receive(DeliveryFailed(0, failure("ValueError", "no"))) == []  # the commit under way comes first
    (second,) = engine.receive(Committed(WRITTEN))

    assert first.input.ended is None
    assert isinstance(second, Commit)
    assert second.input.ended is not None
    assert engine.receive(Committed(wire.CommitOutcome())) == [Fail(failure("ValueError", "no"))]


def test_a_run_that_could_not_be_seeded_has_failed_and_refuses_responses() -> None:
    numbers = iter(range(10))
    engine = Engine(lambda: stamp(next(numbers)))
    engine.start("input", wire.StartOptions())

    engine.abort(failure("InputNotHandled", "no handler"))

    assert engine.status().state == "FAILED"
    assert engine.lineage.headers == []
    (answer,) = engine.receive(ResponsesReceived(1, (wire.Response(request_id="r", response=1),)))
    assert answer.fates[0].refused == "the run has ended."  # type: ignore[union-attr]


@given(script=scripts(failing=0.15), dice=st.randoms(use_true_random=True), failures=st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_a_failed_run_shows_its_failure_once_and_last(script: Script, dice: Random, failures: int) -> None:
    owner = Owner(script, dice, Manner(store_failures=failures)).run()

    types = [event.type for event in owner.engine.journal.events if event.type != "warning"]
    if isinstance(owner.conclusion, Fail):
        assert types[-2:] == ["failed", "status"]
        assert types.count("failed") == 1
    else:
        assert "failed" not in types
