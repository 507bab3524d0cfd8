"""Sessions in the pure engine: inputs, responses, failures, restores and resets at any moment, the store in trouble."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .scripted import Group, Script, scripts
from .sessions import session

SOAK = int(os.environ.get("GENERATED", "0"))
LEAVING = st.sampled_from((0.0, 0.0, 0.3, 1.0))
DRAWN = settings(max_examples=SOAK or 100, deadline=None, derandomize=not SOAK, database=None)


@given(
    script=scripts(asking=0.5, failing=0.1, routing_errors=0.02, max_iterations=8),
    seed=st.integers(0, 2**32),
    failures=st.integers(0, 4),
    junk=st.integers(0, 5),
    leaving=LEAVING,
)
@DRAWN
def test_each_checkpoint_of_a_session_holds_what_its_model_says(
    script: Script, seed: int, failures: int, junk: int, leaving: float
) -> None:
    owner = session(script, seed, store_failures=failures, junk=junk, leaving=leaving)

    assert sorted(owner.answers) == sorted(owner.tickets), "a ticket without an answer"
    assert owner.ended_turns >= owner.begun_turns, "a turn that never ends"


@given(
    script=scripts(asking=0.5, failing=0.1, max_iterations=8),
    seed=st.integers(0, 2**32),
    failures=st.integers(0, 3),
    leaving=LEAVING,
)
@DRAWN
def test_the_same_facts_make_the_same_decisions(script: Script, seed: int, failures: int, leaving: float) -> None:
    one, other = (session(script, seed, store_failures=failures, junk=2, leaving=leaving) for _ in range(2))

    assert one.decisions == other.decisions
    assert one.events == other.events


@given(
    script=scripts(asking=0.5, failing=0.1, max_iterations=8),
    seed=st.integers(0, 2**32),
    failures=st.integers(0, 4),
    leaving=LEAVING,
)
@DRAWN
def test_the_store_is_told_that_a_session_was_closed_whatever_came_before(
    script: Script, seed: int, failures: int, leaving: float
) -> None:
    owner = session(script, seed, store_failures=failures, leaving=leaving)

    told = [one.ended.state for one in owner.commits if one.ended is not None]
    if owner.models:  # else no input was taken, and the store does not know the session
        assert told[-1:] == ["closed"]
        assert told.count("closed") == 1


_TWICE = Group(targets=("e0", "e1"))
FOUND = {
    "a request that is judged while the superstep that made it fails": (
        Script(
            seed=1,
            groups={"e0": (_TWICE, _TWICE), "e1": ()},
            fan_ins={},
            max_iterations=8,
            hops=2,
            pads=(0, 100, 1500, 5000),
            failing=0.1,
            asking=0.5,
            routing_errors=0.02,
        ),
        {"seed": 4, "junk": 2},
    ),
    "a first input that is refused, before there is a graph to commit for": (
        Script(
            seed=743,
            groups={"e0": (_TWICE,), "e1": ()},
            fan_ins={},
            max_iterations=8,
            hops=2,
            pads=(600, 900),
            failing=0.1,
            asking=0.5,
            routing_errors=0.02,
        ),
        {"seed": 702, "store_failures": 1, "junk": 1},
    ),
    "a close while the store is told of a reset": (
        Script(
            seed=0,
            groups={"e0": ()},
            fan_ins={},
            max_iterations=8,
            hops=1,
            pads=(600, 900),
            failing=0.1,
            asking=0.5,
        ),
        {"seed": 1, "store_failures": 1},
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_drawing_has_found_stays_mended(name: str) -> None:
    script, drawn = FOUND[name]
    owner = session(script, **drawn)

    assert sorted(owner.answers) == sorted(owner.tickets)
    told = [one.ended.state for one in owner.commits if one.ended is not None]
    assert told[-1:] == (["closed"] if owner.models else [])
