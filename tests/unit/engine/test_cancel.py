"""Cancelled requests: taken whole or not at all, told to their executors once, and followed by a superstep."""

from __future__ import annotations

import itertools
import os
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine import (
    CancelRequested,
    Deliver,
    Engine,
    Fail,
    Finish,
    Judge,
    Phase,
    ResponsesReceived,
    Seeded,
)

from .cancelling import CancellingOwner, is_cancellation, pairs, run, session
from .host import ILL_TYPED
from .owner import Manner, stamp
from .scripted import Group, Script, scripts

SOAK = int(os.environ.get("GENERATED", "0"))
DRAWN = settings(max_examples=SOAK or 40, deadline=None, derandomize=not SOAK, database=None)
SEEDS = st.integers(0, 2**32)
LEAVING = st.sampled_from((0.0, 0.0, 0.3, 1.0))
TIMES = st.sampled_from((0, 0, 5, 10))  # that time passes


# --- whatever happens ---------------------------------------------------------------------------------------


@given(
    script=scripts(asking=0.7, failing=0.03),
    seed=SEEDS,
    failures=st.integers(0, 3),
    junk=st.integers(0, 6),
    leaving=LEAVING,
    deadlines=TIMES,
)
@DRAWN
def test_each_checkpoint_of_a_run_holds_what_its_model_says(
    script: Script, seed: int, failures: int, junk: int, leaving: float, deadlines: int
) -> None:
    owner = run(script, seed, store_failures=failures, junk=junk, leaving=leaving, deadlines=deadlines)

    assert sorted(owner.answers) == sorted(owner.tickets), "a ticket without an answer"


@given(
    script=scripts(asking=0.5, failing=0.1, routing_errors=0.02, max_iterations=8),
    seed=SEEDS,
    failures=st.integers(0, 4),
    junk=st.integers(0, 5),
    leaving=LEAVING,
    deadlines=TIMES,
)
@DRAWN
def test_each_checkpoint_of_a_session_holds_what_its_model_says(
    script: Script, seed: int, failures: int, junk: int, leaving: float, deadlines: int
) -> None:
    owner = session(script, seed, store_failures=failures, junk=junk, leaving=leaving, deadlines=deadlines)

    assert sorted(owner.answers) == sorted(owner.tickets), "a ticket without an answer"
    assert owner.ended_turns >= owner.begun_turns, "a turn that never ends"


@given(script=scripts(asking=0.7), seed=SEEDS, failures=st.integers(0, 3), junk=st.integers(0, 6), leaving=LEAVING)
@DRAWN
def test_what_is_cancelled_is_told_once_and_never_answered(
    script: Script, seed: int, failures: int, junk: int, leaving: float
) -> None:
    owner = run(script, seed, store_failures=failures, junk=junk, leaving=leaving)

    cancelled = owner.accepted_cancellations()
    told = [one for ids in owner.told() for one in ids]
    answered = [one.request_id for one in owner.trail if one.outcome == "accepted"]
    if isinstance(owner.conclusion, Finish):
        assert sorted(told) == sorted(cancelled)
    assert len(told) == len(set(told))
    assert not set(answered) & set(told)
    assert owner.engine.pending_requests() == []


@given(script=scripts(asking=0.7), seed=SEEDS, junk=st.integers(0, 6), leaving=LEAVING)
@DRAWN
def test_a_cancellation_is_taken_whole_or_not_at_all(script: Script, seed: int, junk: int, leaving: float) -> None:
    owner = run(script, seed, junk=junk, leaving=leaving)

    for ticket, request_ids in owner.cancelled.items():
        fates = owner.answers[ticket]
        assert {fate.request_id for fate in fates} <= set(request_ids)
        assert len({fate.refused is None for fate in fates}) == 1
        if fates[0].refused is None:
            assert [fate.request_id for fate in fates] == list(dict.fromkeys(request_ids))


@given(script=scripts(asking=0.7), seed=SEEDS, leaving=LEAVING)
@DRAWN
def test_a_superstep_follows_a_cancellation_though_nothing_is_in_flight(
    script: Script, seed: int, leaving: float
) -> None:
    owner = run(script, seed, leaving=leaving)

    for cancelled, following in pairs(owner.headers):
        if is_cancellation(cancelled):
            assert following.kind == "response" or following.iteration == cancelled.iteration + 1
    if isinstance(owner.conclusion, Finish):
        assert not is_cancellation(owner.headers[-1])


@given(script=scripts(asking=0.6, failing=0.05), seed=SEEDS, failures=st.integers(0, 3), junk=st.integers(0, 4))
@DRAWN
def test_the_same_facts_make_the_same_decisions(script: Script, seed: int, failures: int, junk: int) -> None:
    owner = run(script, seed, store_failures=failures, junk=junk)
    numbers = itertools.count(1)
    replayed = Engine(lambda: stamp(next(numbers)))

    replayed.start(owner.first, wire.StartOptions())

    assert [replayed.receive(fact) for fact in owner.facts] == owner.decisions
    assert replayed.journal.events == owner.events


# --- one by one ---------------------------------------------------------------------------------------------

ASKS_ONCE = Script(seed=3, groups={"e0": ()}, fan_ins={}, hops=1, asking=1.0)
ASKS_AND_GOES_ON = Script(seed=3, groups={"e0": (Group(targets=("e0",)),)}, fan_ins={}, hops=4, asking=1.0)


def paused(script: Script = ASKS_ONCE) -> CancellingOwner:
    """A run that waits for responses: the first to request e0.0."""
    owner = CancellingOwner(script, Random(0), Manner(answers=False), cancels=0)
    owner.run()
    assert owner.engine.phase is Phase.PAUSED
    assert owner.engine.pending_requests()[0].request_id == "e0.0"
    return owner


def settle(owner: CancellingOwner) -> None:
    while owner.step():
        pass


def warnings(owner: CancellingOwner) -> list[str]:
    return [str(event.data.inline) for event in owner.events if event.type == "warning" and event.data]


def good(request_id: str = "e0.0") -> wire.Response:
    return wire.Response(request_id=request_id, response={"hops": 0, "to": request_id})


def test_a_run_at_rest_tells_the_executor_at_once_and_no_longer_shows_the_request() -> None:
    owner = paused()
    head = owner.engine.lineage.head

    ticket = owner.cancel("e0.0")

    assert [fate.request_id for fate in owner.answers[ticket]] == ["e0.0"]
    assert owner.engine.pending_requests() == []
    [delivery] = [one for one in owner.decisions[-1] if isinstance(one, Deliver)]
    assert delivery.input.cancelled == ["e0.0"]
    assert delivery.input.messages == []
    assert delivery.input.key.startswith(f"{head}/cancelled/")
    assert delivery.input.own is not None
    assert (delivery.input.own.kind, delivery.input.own.previous_checkpoint_id) == ("response", head)


def test_a_cancellation_shows_the_events_of_a_run_that_goes_on_and_counts_no_superstep_of_its_own() -> None:
    owner = paused()
    shown, iteration = len(owner.events), owner.engine.status().iteration

    owner.cancel("e0.0")
    settle(owner)

    told = [(event.type, event.iteration) for event in owner.events[shown:] if event.type != "output"]
    assert told[:2] == [("started", None), ("status", None)]
    following = iteration + 1
    assert [one for one in told if one[0].startswith("superstep")][:2] == [
        ("superstep_started", following),
        ("superstep_completed", following),
    ]
    assert isinstance(owner.conclusion, Finish)


def test_the_checkpoint_says_who_cancelled_what_when_and_why() -> None:
    owner = paused()

    owner.cancel("e0.0")
    settle(owner)

    [header] = [one for one in owner.headers if is_cancellation(one)]
    [told] = header.metadata["responses"]
    at = told.pop("at")
    assert told == {
        "request_id": "e0.0",
        "executor_id": "e0",
        "outcome": "cancelled",
        "source": "person",
        "responder": "Ada",
        "comment": "no longer needed",
    }
    [record] = owner.trail
    assert (record.request_id, record.outcome, record.at) == ("e0.0", "cancelled", at)
    assert record.checkpoint_id == header.checkpoint_id


def test_a_cancellation_during_a_superstep_counts_at_once_and_is_told_when_that_is_over() -> None:
    owner = CancellingOwner(ASKS_AND_GOES_ON, Random(0), Manner(answers=False), cancels=0)
    owner.engine.start(owner.first, wire.StartOptions())
    seed = owner.host.seed(
        wire.SeedInput(message=owner.first, options=wire.StartOptions(), header=owner.engine._recorder._promised)
    )
    owner.feed(Seeded(seed))
    owner.step()  # the first superstep; the second is under way
    assert [one.request_id for one in owner.engine.pending_requests()] == ["e0.0"]

    owner.cancel("e0.0")
    assert not any(isinstance(one, Deliver) for one in owner.decisions[-1])
    assert owner.engine.pending_requests() == []
    late = owner.respond(good())
    settle(owner)

    assert owner.answers[late][0].refused == "request 'e0.0' was cancelled."
    kinds = [(one.kind, one.iteration, is_cancellation(one)) for one in owner.headers]
    assert kinds[:5] == [
        ("entry", 0, False),
        ("superstep", 1, False),
        ("superstep", 2, False),
        ("response", 2, True),
        ("superstep", 3, False),
    ]


def test_a_response_under_judgement_is_faster_and_the_cancellation_is_refused() -> None:
    owner = paused()
    given = owner.respond(good())

    ticket = owner.cancel("e0.0")
    assert ticket not in owner.answers
    settle(owner)

    assert owner.answers[given][0].refused is None
    assert owner.answers[ticket][0].refused == "request 'e0.0' was already answered."
    assert warnings(owner) == ["The cancellation of request 'e0.0' was refused: request 'e0.0' was already answered."]
    refused = owner.trail[-1]
    assert (refused.outcome, refused.reason) == (
        "refused",
        "It was to be cancelled: request 'e0.0' was already answered.",
    )


def test_a_cancellation_goes_on_when_the_response_before_it_is_refused() -> None:
    owner = paused()
    owner.respond(wire.Response(request_id="e0.0", response=ILL_TYPED))

    ticket = owner.cancel("e0.0")
    settle(owner)

    assert owner.answers[ticket][0].refused is None
    assert owner.told() == [["e0.0"]]


def test_a_response_behind_a_cancellation_is_refused_though_it_is_judged_together_with_others() -> None:
    owner = paused(ASKS_AND_GOES_ON)
    first, second = (one.request_id for one in owner.engine.pending_requests()[:2])
    owner.respond(good(first))  # is judged now

    ticket = owner.cancel(second)
    behind = owner.respond(good(second))
    settle(owner)

    assert owner.answers[ticket][0].refused is None
    assert owner.answers[behind][0].refused == f"request {second!r} was cancelled."


def test_a_run_that_takes_a_response_in_tells_of_what_was_cancelled_meanwhile_after_the_next_superstep() -> None:
    owner = paused(ASKS_AND_GOES_ON)
    first, second = (one.request_id for one in owner.engine.pending_requests()[:2])
    owner.respond(good(first))
    [judge] = [one for one in owner.decisions[-1] if isinstance(one, Judge)]
    assert judge.input.header is not None, "the judgement writes the checkpoint"

    owner.cancel(second)
    settle(owner)

    kinds = [(one.kind, is_cancellation(one)) for one in owner.headers]
    place = kinds.index(("response", False))
    assert kinds[place:][:4] == [("response", False), ("superstep", False), ("response", True), ("superstep", False)]


def test_a_second_cancellation_is_refused() -> None:
    owner = paused()

    owner.cancel("e0.0")
    again = owner.cancel("e0.0")
    settle(owner)

    assert owner.answers[again][0].refused == "request 'e0.0' was cancelled."
    assert owner.told() == [["e0.0"]]


def test_an_unknown_request_is_refused_with_those_that_are_pending_and_nothing_is_cancelled() -> None:
    owner = paused()

    ticket = owner.cancel("e0.0", "e9")

    [fate] = owner.answers[ticket]
    assert fate.request_id == "e9"
    assert fate.refused == "request 'e9' is unknown to this run (pending: 'e0.0')."
    assert [one.request_id for one in owner.engine.pending_requests()] == ["e0.0"]
    assert owner.engine.phase is Phase.PAUSED


def test_a_request_named_twice_is_cancelled_once() -> None:
    owner = paused()

    ticket = owner.cancel("e0.0", "e0.0")
    settle(owner)

    assert [fate.request_id for fate in owner.answers[ticket]] == ["e0.0"]
    assert owner.told() == [["e0.0"]]


def test_a_run_that_has_ended_refuses() -> None:
    owner = paused()
    owner.cancel("e0.0")
    settle(owner)
    assert isinstance(owner.conclusion, Finish)

    ticket = owner.cancel("e0.0")

    assert owner.answers[ticket][0].refused == "the run has ended."


def test_a_run_that_is_not_seeded_refuses() -> None:
    owner = CancellingOwner(ASKS_ONCE, Random(0), cancels=0)
    owner.engine.start(owner.first, wire.StartOptions())

    ticket = owner.cancel("e0.0")

    assert owner.answers[ticket][0].refused == "request 'e0.0' is unknown to this run (no request is pending)."


def test_a_deadline_that_a_response_was_faster_than_leaves_no_trace() -> None:
    owner = paused()
    owner.respond(good())

    asked = wire.CancelRequests(request_ids=["e0.0"])
    owner.tickets[0] = ()
    owner.feed(CancelRequested(0, asked, "deadline"))
    settle(owner)

    assert warnings(owner) == []
    assert [one.outcome for one in owner.trail] == ["accepted"]


def test_a_deadline_cancels_and_is_named_as_the_source() -> None:
    owner = paused()

    owner.tickets[0] = ()
    owner.feed(CancelRequested(0, wire.CancelRequests(request_ids=["e0.0"]), "deadline"))
    settle(owner)

    [header] = [one for one in owner.headers if is_cancellation(one)]
    assert header.metadata["responses"][0]["source"] == "deadline"


def test_an_executor_that_fails_when_it_is_told_fails_the_run_without_having_been_invoked() -> None:
    script = Script(seed=3, groups={"e0": ()}, fan_ins={}, hops=1, asking=1.0, failing=0.0)
    owner = paused(script)
    object.__setattr__(owner.host, "script", Script(seed=3, groups={"e0": ()}, fan_ins={}, hops=1, failing=1.0))
    shown, recorded = len(owner.events), list(owner.headers)

    owner.cancel("e0.0")
    settle(owner)

    assert isinstance(owner.conclusion, Fail)
    assert [event.type for event in owner.events[shown:]] == ["started", "status", "failed", "status"]
    assert owner.headers == recorded
    assert [one.outcome for one in owner.trail] == ["cancelled", "refused"]


def test_companions_of_a_computer_call_go_along_but_for_those_that_are_answered() -> None:
    owner = paused(ASKS_AND_GOES_ON)
    ids = [one.request_id for one in owner.engine.pending_requests()]
    assert len(ids) > 2
    root = owner.engine._root
    root.requests[ids[0]] = wire.replace(root.requests[ids[0]], cancelled_together=True)
    owner.respond(good(ids[1]))

    ticket = owner.cancel(ids[0])
    settle(owner)

    assert [fate.request_id for fate in owner.answers[ticket]] == [ids[0], *ids[2:]]


def test_a_response_that_comes_while_executors_are_told_enters_before_the_superstep() -> None:
    owner = paused(ASKS_AND_GOES_ON)
    first, second = (one.request_id for one in owner.engine.pending_requests()[:2])
    owner.cancel(first)

    owner.feed(ResponsesReceived(99, (good(second),)))
    owner.feed(owner.running.pop("judge")())
    owner.tickets[99] = (good(second),)
    settle(owner)

    kinds = [(one.kind, is_cancellation(one)) for one in owner.headers]
    place = kinds.index(("response", True))
    assert kinds[place : place + 3] == [("response", True), ("response", False), ("superstep", False)]
