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
from temporal_adapter.engine import CancelRequested, Phase, ResponsesReceived, Seeded, WentOn

from .cancelling import CancellingOwner
from .leaving import carried_over, take_up
from .owner import Manner, Owner
from .scripted import Group, Script, scripts
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


def test_what_came_before_a_run_has_gone_on_is_taken_as_if_it_had_come_after() -> None:
    owner = held()
    text = carried_over(owner.engine)
    owner.engine = owner.new_engine()
    take_up(owner.engine, text)
    owner.tickets.update({7: (), 8: (good(),)})

    owner.feed(CancelRequested(7, wire.CancelRequests(request_ids=["e0.0"])))
    owner.feed(ResponsesReceived(8, (good(),)))
    owner.feed(WentOn(wire.CarryOnResult(continues=1, at="2026-01-01T00:00:00+00:00")))

    assert owner.answers[7][0].refused is None
    assert owner.answers[8][0].refused == "request 'e0.0' was cancelled."
