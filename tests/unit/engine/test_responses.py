"""Responses: each gets one answer, the first to a request wins, a refusal changes nothing, none is lost."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine import Deliver, DeliveryFinished, Fail, Finish, Judge, Phase

from .host import ILL_TYPED
from .owner import Manner, Owner
from .scripted import Script, scripts

ASKS_ONCE = Script(seed=3, groups={"e0": ()}, fan_ins={}, hops=1, asking=1.0)


LEAVING = st.sampled_from((0.0, 0.0, 0.3, 1.0))


def paused() -> Owner:
    """A run that waits for the response to request e0.0."""
    owner = Owner(ASKS_ONCE, Random(0), Manner(answers=False)).run()
    assert [request.request_id for request in owner.engine.pending_requests()] == ["e0.0"]
    return owner


def settle(owner: Owner) -> None:
    while owner.step():
        pass


def good() -> wire.Response:
    return wire.Response(request_id="e0.0", response={"hops": 0, "to": "e0.0"})


def warnings(owner: Owner) -> list[str]:
    return [str(event.data.inline) for event in owner.events if event.type == "warning" and event.data]


@given(
    script=scripts(asking=0.7),
    dice=st.randoms(use_true_random=True),
    failures=st.integers(0, 3),
    junk=st.integers(0, 8),
    leaving=LEAVING,
)
@settings(max_examples=80, deadline=None)
def test_every_ticket_has_one_answer_with_a_fate_for_each_response(
    script: Script, dice: Random, failures: int, junk: int, leaving: float
) -> None:
    owner = Owner(script, dice, Manner(store_failures=failures, junk=junk, leaving=leaving)).run()

    assert sorted(owner.answers) == sorted(owner.tickets)
    for ticket, responses in owner.tickets.items():
        fates = owner.answers[ticket]
        assert [fate.request_id for fate in fates] == [response.request_id for response in responses]
        assert all((fate.refused is None) != (fate.checkpoint_id is None) for fate in fates)


@given(script=scripts(asking=0.7), dice=st.randoms(use_true_random=True), junk=st.integers(0, 8), leaving=LEAVING)
@settings(max_examples=80, deadline=None)
def test_every_accepted_response_is_in_the_checkpoint_its_sender_was_told(
    script: Script, dice: Random, junk: int, leaving: float
) -> None:
    owner = Owner(script, dice, Manner(junk=junk, leaving=leaving)).run()

    accepted = owner.accepted_at()
    kinds = {header.checkpoint_id: header.kind for header in owner.headers}
    assert all(kinds[checkpoint_id] == "response" for checkpoint_id in accepted)
    assert sorted(kinds.values()).count("response") == len(accepted)
    all_ids = [request_id for batch in accepted.values() for request_id in batch]
    assert len(all_ids) == len(set(all_ids)), "a request was answered twice"
    asked = [event.request.request_id for event in owner.events if event.request is not None]
    if isinstance(owner.conclusion, Finish):
        assert sorted(all_ids) == sorted(asked), "a run ended with a request unanswered"


@given(script=scripts(asking=0.7, failing=0.2), dice=st.randoms(use_true_random=True), leaving=LEAVING)
@settings(max_examples=200, deadline=None)
def test_a_response_accepted_in_a_superstep_that_fails_is_in_the_checkpoint_its_sender_was_told(
    script: Script, dice: Random, leaving: float
) -> None:
    owner = Owner(script, dice, Manner(leaving=leaving)).run()

    kinds = {header.checkpoint_id: header.kind for header in owner.headers}
    events = owner.events
    last_start = max(place for place, event in enumerate(events) if event.type == "superstep_started")
    asked_in_vain = {event.request.request_id for event in events[last_start:] if event.request is not None}
    for checkpoint_id, responses in owner.accepted_at().items():
        lost_with_their_request = isinstance(owner.conclusion, Fail) and set(responses) <= asked_in_vain
        assert kinds.get(checkpoint_id) == "response" or lost_with_their_request


@given(script=scripts(asking=0.7), dice=st.randoms(use_true_random=True), junk=st.integers(1, 8), leaving=LEAVING)
@settings(max_examples=80, deadline=None)
def test_every_refusal_before_the_end_shows_in_the_events(
    script: Script, dice: Random, junk: int, leaving: float
) -> None:
    owner = Owner(script, dice, Manner(junk=junk, leaving=leaving)).run()

    refused = [fate for fates in owner.answers.values() for fate in fates if fate.refused is not None]
    shown = [text for text in warnings(owner) if text.startswith("A response to request")]
    late = [fate for fate in refused if fate.refused == "the run has ended."]  # a new link may end at once, for one
    assert len(shown) == len(refused) - len(late)
    assert bool(late) == (owner.conclusion is not None)


def test_the_first_of_two_answers_in_one_ticket_wins_and_the_other_is_refused() -> None:
    owner = paused()
    other = wire.Response(request_id="e0.0", response={"hops": 0, "other": True})

    ticket = owner.respond(good(), other)
    settle(owner)

    first, second = owner.answers[ticket]
    assert first.refused is None
    assert second.refused is not None
    assert second.refused.startswith("request 'e0.0' was already answered, with a different response, by somebody at ")


def test_a_response_sent_twice_counts_once() -> None:
    owner = paused()

    tickets = [owner.respond(good()), owner.respond(good())]
    settle(owner)

    one, other = (owner.answers[ticket] for ticket in tickets)
    assert one == other
    assert one[0].checkpoint_id is not None
    assert [header.kind for header in owner.headers].count("response") == 1


def test_an_ill_typed_response_leaves_the_request_pending_and_a_good_one_behind_it_is_taken() -> None:
    owner = paused()

    tickets = [owner.respond(wire.Response(request_id="e0.0", response=ILL_TYPED)), owner.respond(good())]
    settle(owner)

    assert owner.answers[tickets[0]][0].refused == "ill-typed"
    assert owner.answers[tickets[1]][0].refused is None
    assert warnings(owner) == ["A response to request 'e0.0' was refused: ill-typed"]


def test_an_unknown_request_is_refused_by_name_with_those_that_are_pending() -> None:
    owner = paused()

    ticket = owner.respond(wire.Response(request_id="e9", response=1))

    assert owner.answers[ticket][0].refused == "request 'e9' is unknown to this run (pending: 'e0.0')."
    assert [request.request_id for request in owner.engine.pending_requests()] == ["e0.0"]


def test_a_ticket_without_responses_is_answered_at_once() -> None:
    owner = paused()
    assert owner.answers[owner.respond()] == ()


def test_a_response_before_the_run_is_seeded_is_refused() -> None:
    owner = Owner(ASKS_ONCE, Random(0))
    owner.engine.start(owner.first, wire.StartOptions())

    ticket = owner.respond(good())

    assert owner.answers[ticket][0].refused == "request 'e0.0' is unknown to this run (no request is pending)."


def test_a_response_to_a_paused_run_is_checkpointed_by_its_own_judgement() -> None:
    owner = paused()

    owner.respond(good())

    judge = owner.decisions[-1][0]
    assert isinstance(judge, Judge)
    assert judge.input.header is not None
    assert judge.input.header.kind == "response"
    assert judge.input.header.iteration == owner.engine.status().iteration
    assert judge.input.header.previous_checkpoint_id == owner.engine.lineage.head


def test_a_request_made_again_with_the_id_of_an_answered_one_can_be_answered() -> None:
    owner = paused()
    (asked,) = owner.engine.pending_requests()
    owner.respond(good())
    owner.feed(owner.running.pop("judge")())
    delivery = next(decision for decision in owner.decisions[-1] if isinstance(decision, Deliver))

    again = wire.DeliveryResult(
        at="2026-01-01T00:00:00+00:00", events=[wire.ResultEvent(type="request_info", request=asked)]
    )
    owner.busy.clear()
    owner.running = {"again": lambda: DeliveryFinished(delivery.index, again)}
    settle(owner)

    assert owner.engine.phase is Phase.PAUSED
    assert owner.engine.pending_requests() == [asked]
    ticket = owner.respond(wire.Response(request_id="e0.0", response={"hops": 0, "other": True}))
    owner.feed(owner.running.pop("judge")())
    assert owner.answers[ticket][0].refused is None
