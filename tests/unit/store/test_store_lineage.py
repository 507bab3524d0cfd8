from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.store import heads_of, lineage_order, youngest_head


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


def at(id: str, parent: str | None, number: int | None, timestamp: str, run_id: str = "run") -> wire.IndexEntry:
    """An index entry that says so."""
    header = wire.CheckpointHeader(
        checkpoint_id=id,
        previous_checkpoint_id=parent,
        iteration=0,
        timestamp=timestamp,
        kind="entry",
        number=number,
    )
    return wire.IndexEntry(header=header, workflow_name="w", workflow_id="w-1", run_id=run_id)


NOON, ONE = "2026-01-01T12:00:00+00:00", "2026-01-01T13:00:00+00:00"


def test_in_one_run_the_head_that_was_recorded_last_is_the_youngest_whatever_clocks_say() -> None:
    before, after = at("z", None, 0, ONE), at("a", None, 1, NOON)

    assert youngest_head([before, after]) is after
    assert youngest_head([after, before]) is after


def test_of_several_runs_the_one_with_the_youngest_head_counts() -> None:
    first, second = at("a", None, 7, NOON, "one"), at("b", None, 0, ONE, "two")

    assert youngest_head([first, second]) is second


def test_a_parent_is_no_head_and_of_a_circle_something_is_returned() -> None:
    parent, child = at("a", None, 0, ONE), at("b", "a", 1, NOON)
    circle = [at("x", "y", 0, NOON), at("y", "x", 1, NOON)]

    assert heads_of([parent, child]) == [child]
    assert youngest_head(circle) is circle[1]
