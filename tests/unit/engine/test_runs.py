"""Random graphs, run in random orders over a store in trouble: what a run comes to, whatever the order."""

from __future__ import annotations

import itertools
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine import Commit, Decision, Deliver, Fail, Finish

from .owner import Manner, Owner
from .scripted import Group, Script, scripts

dice = st.randoms(use_true_random=True)
leaving = st.sampled_from((0.0, 0.0, 0.3, 1.0))
manners = st.builds(Manner, store_failures=st.integers(0, 6), junk=st.integers(0, 4), leaving=leaving)


def check_against_reference(owner: Owner) -> None:
    """Every checkpoint in the store, the outputs and the end are what the reference says."""
    course = owner.course()
    headers = owner.headers
    stored = [owner.blobs.moment(header.checkpoint_id) for header in headers]
    assert [(one.kind, one.iteration) for one in stored] == [(one.kind, one.iteration) for one in course.moments]
    for moment, expected in zip(stored, course.moments, strict=True):
        assert moment == expected
    state = owner.engine.status().state
    if course.end == "IDLE":
        assert isinstance(owner.conclusion, Finish)
        assert owner.outputs == course.outputs
        assert state == owner.conclusion.result.state == "IDLE"
    elif course.end == "FAILED":
        assert isinstance(owner.conclusion, Fail)
        assert owner.conclusion.failure.message in course.failures
        assert state == "FAILED"
    else:
        assert owner.conclusion is None
        assert state == "IDLE_WITH_PENDING_REQUESTS"


@given(script=scripts(), dice=dice, manner=manners)
@settings(max_examples=250, deadline=None)
def test_every_checkpoint_and_output_is_what_maf_semantics_say(script: Script, dice: Random, manner: Manner) -> None:
    check_against_reference(Owner(script, dice, manner).run())


@given(script=scripts(failing=0.05, routing_errors=0.03), dice=dice, manner=manners)
@settings(max_examples=120, deadline=None)
def test_a_failed_superstep_leaves_nothing_in_the_lineage(script: Script, dice: Random, manner: Manner) -> None:
    check_against_reference(Owner(script, dice, manner).run())


@given(script=scripts(max_iterations=3), dice=dice, manner=manners)
@settings(max_examples=60, deadline=None)
def test_a_run_that_does_not_converge_fails_after_its_last_superstep(
    script: Script, dice: Random, manner: Manner
) -> None:
    check_against_reference(Owner(script, dice, manner).run())


@given(script=scripts(asking=0.7), dice=dice, failures=st.integers(0, 5), leaving=leaving)
@settings(max_examples=60, deadline=None)
def test_a_pause_that_nobody_answers_has_every_checkpoint_mirrored(
    script: Script, dice: Random, failures: int, leaving: float
) -> None:
    manner = Manner(store_failures=failures, answers=False, leaving=leaving)
    check_against_reference(Owner(script, dice, manner).run())


@given(script=scripts(asking=0.0), one=dice, other=dice, failures=st.integers(0, 5), leaving=leaving)
@settings(max_examples=80, deadline=None)
def test_the_order_in_which_siblings_finish_and_mirror_trouble_and_leaving_change_nothing(
    script: Script, one: Random, other: Random, failures: int, leaving: float
) -> None:
    calm = Owner(script, one).run()
    stormy = Owner(script, other, Manner(store_failures=failures, leaving=leaving)).run()

    assert type(calm.conclusion) is type(stormy.conclusion)
    assert [(one.kind, one.iteration) for one in calm.headers] == [(one.kind, one.iteration) for one in stormy.headers]
    if isinstance(calm.conclusion, Finish) and isinstance(stormy.conclusion, Finish):
        assert calm.outputs == stormy.outputs
        head, other_head = calm.engine.lineage.head, stormy.engine.lineage.head
        assert head is not None
        assert other_head is not None
        assert calm.blobs.moment(head) == stormy.blobs.moment(other_head)


@given(script=scripts(), dice=dice, manner=manners)
@settings(max_examples=80, deadline=None)
def test_the_lineage_is_one_chain_from_the_entry_checkpoint(script: Script, dice: Random, manner: Manner) -> None:
    owner = Owner(script, dice, manner).run()

    headers = owner.headers
    parents = [header.previous_checkpoint_id for header in headers]
    assert parents == [None, *(header.checkpoint_id for header in headers[:-1])]
    assert (headers[0].kind, headers[0].iteration) == ("entry", 0)
    assert [one.iteration for one in headers if one.kind == "superstep"] == list(
        range(1, owner.engine.status().iteration + 1)
    )
    for before, header in itertools.pairwise(headers):
        assert header.kind != "entry"
        if header.kind == "response":
            assert header.iteration == before.iteration
    assert len({header.checkpoint_id for header in headers}) == len(headers)


class CountingOwner(Owner):
    """Counts the commits that a superstep waits for, since what its many deliveries are to see is much."""

    waited_for = 0

    def _carry_out(self, decision: Decision) -> None:
        if isinstance(decision, Commit) and self.engine._commits.held:
            self.waited_for += 1
        super()._carry_out(decision)


# A wide superstep over a large state.
@example(
    script=Script(
        seed=26,
        groups={
            "e0": (
                Group((), "fan1"),
                Group((), "fan0"),
                Group(("e0",), None),
                Group(("e0",), None),
            )
        },
        fan_ins={"fan0": wire.FanIn(sources=["e0"], target="e0"), "fan1": wire.FanIn(sources=["e0"], target="e0")},
        max_iterations=30,
        hops=3,
        pads=(600, 900),
        failing=0.0,
        asking=0.0,
        routing_errors=0.0,
    ),
    dice=Random(0),
)
@given(script=scripts(asking=0.0), dice=dice)
@settings(max_examples=60, deadline=None)
def test_a_superstep_of_one_delivery_needs_no_commit_of_its_own(script: Script, dice: Random) -> None:
    owner = CountingOwner(script, dice)
    owner.run()

    made = [decision for decisions in owner.decisions for decision in decisions]
    supersteps: dict[int, list[Deliver]] = {}
    for decision in made:
        if isinstance(decision, Deliver):
            supersteps.setdefault(decision.input.iteration, []).append(decision)
    for deliveries in supersteps.values():
        assert (deliveries[0].input.own is not None) == (len(deliveries) == 1)
    last = supersteps.get(owner.engine.status().iteration, [])
    commits = [decision.input for decision in made if isinstance(decision, Commit)]
    assert sum(bool(one.records) for one in commits) - owner.waited_for == (0 if len(last) == 1 else 1)
    assert all(one.records or one.ended for one in commits)  # of a run that fails, the store is told so
