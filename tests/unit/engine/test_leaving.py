"""A run that goes on as another Temporal run, at any moment at which it may, is as one that does not.

That each checkpoint, response, cancellation and reminder is right in runs that leave is in the tests of those: their
owners leave, too.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine import (
    CancelRequested,
    Deliver,
    Notified,
    Notify,
    Phase,
    ResponsesReceived,
    Seeded,
    TimeReached,
    WentOn,
)

from .cancelling import CancellingOwner, is_cancellation
from .leaving import carried_over, take_up
from .owner import Manner, Owner
from .scripted import Group, Script, scripts
from .sessions import SessionOwner
from .steady import SteadyRun, SteadySession, run, shown

SOAK = int(os.environ.get("GENERATED", "0"))
DRAWN = settings(max_examples=SOAK or 60, deadline=None, derandomize=not SOAK, database=None)
TIMES = st.sampled_from((0, 4, 9))


@pytest.mark.parametrize("kind", [SteadyRun, SteadySession])
def test_a_run_that_leaves_shows_what_one_that_stays_shows(kind: type[Owner]) -> None:
    links: list[int] = []

    @DRAWN
    @given(
        script=scripts(asking=0.6, failing=0.04, routing_errors=0.01, max_iterations=8),
        leaving=st.sampled_from((0.3, 1.0)),
        junk=st.integers(0, 4),
        deadlines=TIMES,
    )
    def same(script: Script, leaving: float, junk: int, deadlines: int) -> None:
        stays = run(kind, script, leaving=0, junk=junk, deadlines=deadlines)
        leaves = run(kind, script, leaving=leaving, junk=junk, deadlines=deadlines)

        expected, found = shown(stays), shown(leaves)
        assert [key for key in expected if expected[key] != found[key]] == []
        links.append(leaves.links)

    same()
    assert max(links) > 4, "nearly no run has left"


ASKS_AND_GOES_ON = Script(seed=3, groups={"e0": (Group(targets=("e0",)),)}, fan_ins={}, hops=4, asking=1.0)


def held() -> CancellingOwner:
    """A run that is held after its first superstep, and waits for a response to e0.0."""
    owner = CancellingOwner(ASKS_AND_GOES_ON, Random(0), Manner(answers=False, leaving=1.0), cancels=0)
    seed = owner.engine.start(owner.first, wire.StartOptions())
    owner.feed(Seeded(owner.host.seed(seed)))
    if owner.engine.held:
        owner.leave_now()
    while not owner.engine.held:
        owner.feed(owner.running.pop(sorted(owner.running)[0])())
    while owner.running:
        owner.feed(owner.running.pop(sorted(owner.running)[0])())
    assert [one.request_id for one in owner.engine.pending_requests()] == ["e0.0"]
    return owner


def good(response: int = 0) -> wire.Response:
    return wire.Response(request_id="e0.0", response={"hops": response, "to": "e0.0"})


def test_a_cancellation_that_waits_for_a_response_which_needs_no_judgement_does_not_hold_a_run_for_good() -> None:
    owner = held()

    owner.respond(good())
    behind = owner.respond(good())  # waits for that, and then needs no judgement of its own
    cancellation = owner.cancel("e0.0")
    owner.feed(owner.running.pop("judge")())

    assert owner.answers[behind][0].refused is None
    assert owner.answers[cancellation][0].refused == "request 'e0.0' was already answered."
    while owner.running:
        owner.feed(owner.running.pop(sorted(owner.running)[0])())
    assert owner.engine.may_leave


def test_a_response_that_comes_while_a_run_is_held_is_in_flight_in_the_superstep_that_is() -> None:
    owner = held()

    owner.respond(good())
    owner.feed(owner.running.pop("judge")())
    owner.feed(owner.running.pop("commit")())
    owner.leave_now()

    assert [one.kind for one in owner.headers][-2:] == ["superstep", "response"]
    assert owner.running.keys() == {"delivery 0"}


def test_a_run_that_is_cancelled_before_it_has_gone_on_ends() -> None:
    owner = held()
    text = carried_over(owner.engine)
    owner.engine = owner.new_engine()
    take_up(owner.engine, text)

    for decision in owner.engine.cancel():
        owner._carry_out(decision)
    owner.feed(WentOn(wire.CarryOnResult(continues=1, at="2026-01-01T00:00:00+00:00")))
    owner.feed(owner.running.pop("commit")())

    assert owner.engine.phase is Phase.ENDED
    assert owner.engine.status().state == "CANCELLED"


def not_yet_gone_on(owner: CancellingOwner) -> None:
    """Carry a run over, but for the fact that it has gone on."""
    text = carried_over(owner.engine)
    owner.engine = owner.new_engine()
    owner._last.clear()
    take_up(owner.engine, text)


def test_what_came_before_a_run_has_gone_on_waits_for_that_and_is_taken_before_the_superstep() -> None:
    owner = held()
    not_yet_gone_on(owner)
    owner.tickets.update({7: (), 8: (good(),)})

    owner.feed(CancelRequested(7, wire.CancelRequests(request_ids=["e0.0"])))
    owner.feed(ResponsesReceived(8, (good(),)))
    assert not owner.running
    owner.feed(WentOn(wire.CarryOnResult(continues=1, at="2026-01-01T00:00:00+00:00")))

    assert owner.answers[7][0].refused is None
    assert owner.answers[8][0].refused == "request 'e0.0' was cancelled."
    while not is_cancellation(owner.headers[-1]):
        owner.feed(owner.running.pop(sorted(owner.running)[0])())
    assert [one.kind for one in owner.headers] == ["entry", "superstep", "response"]


def migrated(owner: CancellingOwner) -> WentOn:
    """Say that a run went on in another graph, of which all is as it was."""
    header = wire.replace(owner.engine.promise_migration(), metadata={"migrated_from": owner.engine.lineage.head})
    _, entries, messages = owner.blobs.checkpoints[owner.engine.lineage.head or ""]
    owner.blobs.checkpoints[header.checkpoint_id] = (header, entries, messages)
    base = wire.Base(checkpoint_id=header.checkpoint_id, object=header.checkpoint_id, digest="digest")
    restored = wire.Restored(
        base=base,
        header=header,
        messages=owner.engine._root.messages,
        levels={"": owner.engine._root.kept()},
    )
    graph = wire.replace(owner.engine._root.graph, signature="another")
    return WentOn(wire.CarryOnResult(continues=1, graph=graph, restored=restored, at="2026-01-01T00:00:00+00:00"))


def test_a_cancellation_that_came_before_a_migration_is_told_to_the_executors_of_the_new_graph() -> None:
    owner = held()
    owner.engine.observe(lambda _: None)
    not_yet_gone_on(owner)
    owner.engine.observe(lambda _: None)
    fact = migrated(owner)
    owner.tickets[7] = ()

    owner.feed(CancelRequested(7, wire.CancelRequests(request_ids=["e0.0"])))
    owner.feed(fact)

    [delivery] = [one for one in owner.decisions[-1] if isinstance(one, Deliver)]
    assert (delivery.input.graph, delivery.input.cancelled) == ("another", ["e0.0"])
    owner.feed(owner.running.pop(sorted(owner.running)[0])())
    assert is_cancellation(owner.headers[-1])


def test_a_migrated_run_reminds_of_its_requests_as_before() -> None:
    deadline = wire.Deadline(remind_every=10.0, expire_after=100.0)
    owner = held()
    root = owner.engine._root
    asked = wire.replace(root.requests["e0.0"], asked_at="2026-01-01T00:00:00+00:00", deadline=deadline)
    root.requests["e0.0"] = asked
    owner.engine._deadlines.watch(asked)
    owner.engine.receive(TimeReached("2026-01-01T00:00:10+00:00"))
    owner.engine.receive(Notified(asked, "2026-01-01T00:00:10+00:00"))
    not_yet_gone_on(owner)
    owner.engine.observe(lambda _: None)

    owner.engine.receive(migrated(owner))

    assert owner.engine.reminders("e0.0") == 1
    assert owner.engine.next_due() == "2026-01-01T00:00:20.000000+00:00"
    reminders = [
        one for one in owner.engine.receive(TimeReached("2026-01-01T00:00:20+00:00")) if isinstance(one, Notify)
    ]
    assert [one.input.number for one in reminders] == [2]


def test_a_replay_that_leaves_gives_the_responses_that_are_still_to_be_repeated() -> None:
    owner = held()
    owner.engine.observe(lambda _: None)
    asked = owner.engine._root.requests["e0.0"]
    routed = owner.host._judge(asked, good()).message
    repeated = wire.RecordedResponse(checkpoint_id="then", iteration=2, routed=routed)
    owner.engine._responses.repeat([repeated])

    owner.leave_now()
    owner.engine.observe(lambda _: None)
    owner.feed(owner.running.pop(sorted(owner.running)[0])())

    assert [(one.request_id, one.source) for one in owner.trail] == [("e0.0", "replay")]


def test_how_a_run_was_set_up_when_it_began_holds_in_all_links() -> None:
    owner = held()
    owner.engine.waits_for_operator = owner.engine.counts_requests = True

    owner.leave_now()

    assert owner.engine.waits_for_operator
    assert owner.engine.counts_requests


def test_a_session_that_was_reset_is_still_without_an_input_when_it_has_left() -> None:
    owner = SessionOwner(ASKS_AND_GOES_ON, Random(0), Manner(leaving=1.0))
    owner.engine.open_session(wire.StartOptions(session=True))
    owner._seed({"name": "in", "hops": 0, "pad": ""}, wire.StartOptions(), refused=False)
    owner._given = {"name": "in", "hops": 0, "pad": ""}
    settle(owner)
    owner._reset()
    settle(owner)

    owner.leave_now()

    seed = owner.engine.input("in", wire.StartOptions())
    assert (seed.further, seed.graph, seed.snapshot) == (False, None, None)
    assert seed.header is not None
    assert seed.header.previous_checkpoint_id is None


def settle(owner: SessionOwner) -> None:
    while owner.running or owner.engine.held:
        owner.make(sorted(owner.running)[0]) if owner.running else owner.leave_now()
