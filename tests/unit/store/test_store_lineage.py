from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.store import lineage_order


def header(checkpoint_id: str, parent: str | None = None, timestamp: str = "2026-01-01") -> wire.CheckpointHeader:
    return wire.CheckpointHeader(
        checkpoint_id=checkpoint_id,
        previous_checkpoint_id=parent,
        iteration=0,
        timestamp=timestamp,
        kind="superstep",
    )


def ids(headers: list[wire.CheckpointHeader]) -> str:
    return "".join(each.checkpoint_id for each in lineage_order(headers))


def test_order_follows_parents_when_timestamps_are_equal() -> None:
    assert ids([header("a", "b"), header("b", "c"), header("c")]) == "cba"


def test_order_follows_parents_when_timestamps_say_the_opposite() -> None:
    assert ids([header("a", "b", "2026-01-01"), header("b", None, "2026-01-02")]) == "ba"


def test_each_branch_of_a_fork_stays_together_the_later_one_last() -> None:
    assert ids([header("r"), header("z", "r", "1"), header("y", "z", "9"), header("b", "r", "2")]) == "rzyb"


def test_branches_of_equal_timestamp_are_ordered_by_id() -> None:
    assert ids([header("r"), header("c", "r"), header("b", "r")]) == "rbc"


def test_a_checkpoint_whose_parent_is_gone_starts_a_lineage() -> None:
    assert ids([header("b", "gone", "2"), header("c", "b", "2"), header("a", None, "1")]) == "abc"


def test_checkpoints_in_a_circle_are_listed_last_and_once() -> None:
    assert ids([header("a", "b"), header("b", "a"), header("c", "c"), header("r", None, "9")]) == "rabc"


def test_a_lineage_of_many_thousand_checkpoints_is_no_problem() -> None:
    chain = [header(f"{number:05}", f"{number - 1:05}" if number else None) for number in range(20_000)]
    assert lineage_order(reversed(chain)) == chain


@st.composite
def forests(draw: st.DrawFn) -> list[wire.CheckpointHeader]:
    found: list[wire.CheckpointHeader] = []
    for checkpoint_id in "abcdefgh":
        parent = draw(st.sampled_from([None, "gone", *(each.checkpoint_id for each in found)]))
        found.append(header(checkpoint_id, parent, draw(st.sampled_from(["1", "2"]))))
    return found


@given(forests(), st.randoms())
def test_any_forest_has_one_order_with_parents_first(forest: list[wire.CheckpointHeader], random: Random) -> None:
    expected = lineage_order(forest)
    place = {each.checkpoint_id: index for index, each in enumerate(expected)}
    assert sorted(place) == list("abcdefgh")
    for each in forest:
        assert place.get(each.previous_checkpoint_id or "", -1) < place[each.checkpoint_id]
    shuffled = list(forest)
    random.shuffle(shuffled)
    assert lineage_order(shuffled) == expected
