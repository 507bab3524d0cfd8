"""Which checkpoints a policy lets go, for whatever lineages there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.retention.policy import (
    CLOSED,
    LIVE_CHECKPOINTS,
    STATES,
    Found,
    Policy,
    RunState,
    heads_of,
    kept,
    live_ends,
)

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def found(
    id: str, parent: str | None = None, *, day: int = 0, state: RunState = "completed", workflow_id: str = "w"
) -> Found:
    header = wire.CheckpointHeader(
        checkpoint_id=id,
        previous_checkpoint_id=parent,
        iteration=0,
        timestamp=(START + day * DAY).isoformat(),
        kind="superstep",
    )
    return Found(header, "flow", workflow_id, frozenset([f"run of {workflow_id}"]), state)


def lineage(length: int, *, state: RunState = "completed", workflow_id: str = "w") -> list[Found]:
    """A checkpoint a day, each the child of the one before: w0, w1, ..."""
    ids = [f"{workflow_id}{number}" for number in range(length)]
    parents = [None, *ids[:-1]]
    return [
        found(id, parent, day=day, state=state, workflow_id=workflow_id)
        for day, (id, parent) in enumerate(zip(ids, parents, strict=True))
    ]


def staying(checkpoints: Sequence[Found], policy: Policy) -> list[str]:
    return [one.id for one in checkpoints if one.id in kept(checkpoints, policy, {})]


def test_what_was_made_before_a_moment_goes() -> None:
    assert staying(lineage(5), Policy(CLOSED, before=START + 3 * DAY)) == ["w3", "w4"]


def test_the_last_so_many_stay() -> None:
    assert staying(lineage(5), Policy(CLOSED, keep_last=2)) == ["w3", "w4"]


def test_age_and_count_must_both_hold() -> None:
    assert staying(lineage(5), Policy(CLOSED, before=START + 4 * DAY, keep_last=3)) == ["w2", "w3", "w4"]
    assert staying(lineage(5), Policy(CLOSED, before=START + 1 * DAY, keep_last=3)) == ["w1", "w2", "w3", "w4"]


def test_each_branch_has_its_last_ones() -> None:
    branches = [*lineage(4), found("b2", "w1", day=9), found("b3", "b2", day=9)]
    assert staying(branches, Policy(CLOSED, keep_last=2)) == ["w2", "w3", "b2", "b3"]


def test_each_workflow_id_has_its_last_ones() -> None:
    fork = found("f0", "w1", day=9, workflow_id="fork")
    assert staying([*lineage(3), fork], Policy(CLOSED, keep_last=1)) == ["w2", "f0"]


@pytest.mark.parametrize("state", STATES)
def test_only_runs_in_the_given_states_are_touched(state: RunState) -> None:
    others = frozenset(STATES) - {state}
    assert staying(lineage(3, state=state), Policy(others, before=START + 9 * DAY)) == ["w0", "w1", "w2"]
    assert staying(lineage(3, state=state), Policy({state}, before=START + 9 * DAY)) == []


def test_only_the_named_workflow_is_touched() -> None:
    assert staying(lineage(2), Policy(CLOSED, before=START + 9 * DAY, workflow_name="another")) == ["w0", "w1"]


def test_what_somebody_needs_stays_with_the_reason() -> None:
    policy = Policy(STATES, before=START + 9 * DAY)
    assert kept(lineage(3), policy, {"w1": "a fork builds on it"}) == {"w1": "a fork builds on it"}


def test_a_time_that_cannot_be_read_is_too_young() -> None:
    [one] = lineage(1)
    one = replace(one, header=wire.replace(one.header, timestamp="yesterday"))
    assert kept([one], Policy(CLOSED, before=START + 9 * DAY), {}) == {"w0": "it is too young"}


def test_what_never_happened_goes_with_its_run_and_counts_for_nothing() -> None:
    zombie = replace(found("z", "w1", day=9), happened=False)
    assert staying([*lineage(2), zombie], Policy(CLOSED, keep_last=1)) == ["w1", "z"]
    assert staying([*lineage(2), zombie], Policy(CLOSED, keep_last=0)) == []


def test_the_end_of_an_open_runs_lineage_is_needed_whoever_wrote_it() -> None:
    failed = lineage(8, state="failed")
    resumed = [found("r0", "w7", day=8, state="open"), found("r1", "r0", day=9, state="open")]
    assert live_ends([*failed, *resumed]) == {"r1", "r0", *(f"w{number}" for number in range(8))}
    assert live_ends(lineage(30, state="open")) == {f"w{number}" for number in range(20, 30)}


# --- whatever lineages there are ----------------------------------------------------------------------------


@st.composite
def stores(draw: st.DrawFn) -> list[Found]:
    """Trees over several workflow ids: forks, resets, gaps, and ids of parents that were never there."""
    size = draw(st.integers(0, 25))
    made: list[Found] = []
    for number in range(size):
        parent = draw(st.sampled_from([None, "nobody", *(one.id for one in made)]))
        one = found(
            f"c{number}",
            parent,
            day=draw(st.integers(0, 5)),
            state=draw(st.sampled_from(STATES)),
            workflow_id=draw(st.sampled_from("abc")),
        )
        made.append(replace(one, happened=draw(st.integers(0, 9)) > 0))
    return draw(st.permutations(made))


policies = st.builds(
    Policy,
    states=st.frozensets(st.sampled_from(STATES)),
    before=st.none() | st.integers(0, 6).map(lambda day: START + day * DAY),
    keep_last=st.none() | st.integers(0, 3),
)


@settings(max_examples=60, deadline=None)
@given(stores(), policies)
def test_pruning_again_takes_no_more(checkpoints: list[Found], policy: Policy) -> None:
    staying = kept(checkpoints, policy, dict.fromkeys(live_ends(checkpoints), "live"))
    left = [one for one in checkpoints if one.id in staying]
    assert kept(left, policy, dict.fromkeys(live_ends(left), "live")).keys() == staying.keys()


@settings(max_examples=60, deadline=None)
@given(stores(), policies)
def test_heads_of_open_lineages_never_go_nor_those_before_them(checkpoints: list[Found], policy: Policy) -> None:
    staying = kept(checkpoints, policy, dict.fromkeys(live_ends(checkpoints), "live"))
    by_id = {one.id: one for one in checkpoints if one.happened}
    for head in heads_of(checkpoints):
        at = head if head.state == "open" else None
        for _ in range(LIVE_CHECKPOINTS):
            assert at is None or at.id in staying
            at = by_id.get(at.header.previous_checkpoint_id or "") if at is not None else None


@settings(max_examples=60, deadline=None)
@given(stores(), policies)
def test_nothing_goes_that_the_policy_does_not_name(checkpoints: list[Found], policy: Policy) -> None:
    staying = kept(checkpoints, policy, {})
    for one in checkpoints:
        if one.id not in staying:
            assert one.state in policy.states
            assert not one.happened or policy.before is None or START + timedelta(0) <= policy.before
            if one.happened and policy.before is not None:
                assert datetime.fromisoformat(one.header.timestamp) < policy.before


@settings(max_examples=60, deadline=None)
@given(stores(), st.integers(1, 3))
def test_a_count_keeps_every_head(checkpoints: list[Found], count: int) -> None:
    staying = kept(checkpoints, Policy(STATES, keep_last=count), {})
    assert {one.id for one in heads_of(checkpoints)} <= staying.keys()


@settings(max_examples=60, deadline=None)
@given(stores())
def test_lineages_that_go_round_in_a_circle_end(checkpoints: list[Found]) -> None:
    circle = [found("x", "y"), found("y", "x")]
    everything = [*checkpoints, *(replace(one, workflow_id="circle") for one in circle)]
    assert {"x", "y"} <= kept(everything, Policy(STATES, keep_last=1), {}).keys()
