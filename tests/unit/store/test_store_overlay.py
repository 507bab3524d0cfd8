from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.store import overlay

KEYS = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.integers(0, 3).map(lambda number: wire.Value(inline=number, size=1))
BUFFERS = st.lists(VALUES.map(lambda value: wire.Message(source_id="s", data=value)), max_size=2)
REQUESTS = VALUES.map(
    lambda value: wire.Request(
        request_id="q", source_executor_id="s", data=value, request_type="str", response_type="str"
    )
)

CHANGES = st.builds(
    wire.Changes,
    state=st.dictionaries(KEYS, st.none() | VALUES),
    executors=st.dictionaries(KEYS, st.none() | VALUES),
    attributes=st.dictionaries(KEYS, st.none() | VALUES),
    buffers=st.dictionaries(KEYS, st.none() | BUFFERS),
    requests=st.dictionaries(KEYS, st.none() | REQUESTS),
)
BASES = CHANGES.map(lambda changes: overlay(wire.SnapshotEntries(), changes))
MAPS = ("state", "executors", "attributes", "buffers", "requests")


@given(BASES, CHANGES)
def test_each_entry_is_the_changed_one_or_else_that_of_the_base(
    base: wire.SnapshotEntries, changes: wire.Changes
) -> None:
    result = overlay(base, changes)
    for name in MAPS:
        before, changed, after = getattr(base, name), getattr(changes, name), getattr(result, name)
        for key in "abcd":
            assert after.get(key) == (changed[key] if key in changed else before.get(key))
        assert None not in after.values()


@given(BASES, CHANGES)
def test_neither_base_nor_changes_are_touched(base: wire.SnapshotEntries, changes: wire.Changes) -> None:
    before = (wire.dump(base), wire.dump(changes))
    result = overlay(base, changes)
    for name in MAPS:
        getattr(result, name)["added later"] = None
    assert (wire.dump(base), wire.dump(changes)) == before


@given(BASES, CHANGES)
def test_the_same_changes_twice_are_the_same_as_once(base: wire.SnapshotEntries, changes: wire.Changes) -> None:
    once = overlay(base, changes)
    assert overlay(once, changes) == once


@given(BASES)
def test_no_changes_leave_the_base_in_its_order(base: wire.SnapshotEntries) -> None:
    result = overlay(base, wire.Changes())
    assert [list(getattr(result, name).items()) for name in MAPS] == [
        list(getattr(base, name).items()) for name in MAPS
    ]


def test_an_empty_buffer_is_an_entry_and_not_a_deletion() -> None:
    assert overlay(wire.SnapshotEntries(), wire.Changes(buffers={"f": []})).buffers == {"f": []}


def test_a_value_that_is_null_is_an_entry_and_not_a_deletion() -> None:
    null = wire.Value(inline=None, size=4)
    assert overlay(wire.SnapshotEntries(), wire.Changes(state={"k": null})).state == {"k": null}
