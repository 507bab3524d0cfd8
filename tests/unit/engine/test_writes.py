"""Writes of one superstep to shared state: what can be kept of two is kept, what cannot is told."""

from __future__ import annotations

from temporal_adapter import wire
from temporal_adapter.engine.superstep import Delivery, Superstep
from temporal_adapter.engine.writes import Conflict, merge_writes


def value(inline: object) -> wire.Value:
    return wire.Value(inline=inline, size=1)


def superstep(*writes: tuple[str, object, object]) -> Superstep:
    """Return a superstep whose deliveries wrote the key `k`: executor, value, patch ("unread" where there is none)."""
    made = Superstep([Delivery(executor, [], []) for executor, _, _ in writes])
    for position, (_, written, patch) in enumerate(writes):
        made.results[position] = wire.DeliveryResult(
            at="",
            values=[value(written), value(patch)],
            state={"k": None if written is None else 0},
            patches={} if patch == "unread" else {"k": None if patch is None else 1},
        )
    return made


def test_a_single_write_is_taken_as_it_is() -> None:
    assert merge_writes(superstep(("a", [1], {"append": [1]}))) == ({"k": value([1])}, [])


def test_a_later_write_that_knew_the_key_is_laid_over_the_earlier() -> None:
    written, conflicts = merge_writes(superstep(("a", [1], {"append": [1]}), ("b", [2], {"append": [2]})))

    assert written == {"k": wire.replace(value([1]), patches=[value({"append": [2]})])}
    assert conflicts == [Conflict("k", earlier="a", later="b", kept=True)]


def test_a_later_write_that_did_not_read_the_key_replaces_the_earlier_as_in_process() -> None:
    assert merge_writes(superstep(("a", [1], {"append": [1]}), ("b", [2], "unread"))) == ({"k": value([2])}, [])


def test_a_write_that_has_no_patch_is_a_conflict_with_the_last_of_another_executor() -> None:
    written, conflicts = merge_writes(superstep(("a", 1, None), ("b", 2, None)))

    assert written == {"k": value(2)}
    assert conflicts == [Conflict("k", earlier="a", later="b", kept=False)]


def test_two_that_write_the_same_do_not_conflict() -> None:
    assert merge_writes(superstep(("a", "x", None), ("b", "x", None))) == ({"k": value("x")}, [])


def test_two_that_count_to_the_same_number_do() -> None:
    _, conflicts = merge_writes(superstep(("a", 1, None), ("b", 1, None)))

    assert conflicts == [Conflict("k", earlier="a", later="b", kept=False)]


def test_an_executor_does_not_conflict_with_itself() -> None:
    assert merge_writes(superstep(("a", 1, None), ("a", 2, None))) == ({"k": value(2)}, [])


def test_what_is_added_to_a_deleted_value_begins_empty() -> None:
    written, conflicts = merge_writes(superstep(("a", None, "unread"), ("b", [2], {"append": [2]})))

    [kept] = [one for one in written.values() if one is not None]
    assert wire.patched(kept.inline, kept.patches[0].inline) == [2]
    assert [one.kept for one in conflicts] == [True]
