"""A patch is what one executor changed of a value, so that it can be applied to what another one made of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.wire import ABSENT, patch_between, patched

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "$"]), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES | st.just(ABSENT), VALUES)
def test_a_patch_turns_the_one_into_the_other(before: Any, after: Any) -> None:
    patch = patch_between(before, after)

    if patch is not None:
        assert patched(before, patch) == after


@given(st.lists(VALUES, max_size=3), st.lists(VALUES, max_size=3), st.lists(VALUES, max_size=3))
def test_what_two_append_to_one_list_is_all_there_in_order(before: list[Any], one: list[Any], two: list[Any]) -> None:
    patch = patch_between(before, [*before, *two])

    assert patch is not None
    assert patched([*before, *one], patch) == [*before, *one, *two]


@given(st.dictionaries(st.sampled_from("abc"), SCALARS), SCALARS, SCALARS)
def test_what_two_put_into_one_dict_under_keys_of_their_own_is_all_there(
    before: dict[str, Any], one: Any, two: Any
) -> None:
    patch = patch_between(before, {**before, "two": [two]})

    assert patch is not None
    assert patched({**before, "one": [one]}, patch) == {**before, "one": [one], "two": [two]}


def test_dicts_in_dicts_are_merged_at_every_depth() -> None:
    before = {"totals": {"a": 1}, "names": ["x"]}
    patch = patch_between(before, {"totals": {"a": 1, "c": 3}, "names": ["x", "z"]})

    assert patch is not None
    merged = patched({"totals": {"a": 1, "b": 2}, "names": ["x", "y"]}, patch)
    assert merged == {"totals": {"a": 1, "b": 2, "c": 3}, "names": ["x", "y", "z"]}


def test_lists_that_are_new_in_a_dict_are_merged_too() -> None:
    patch = patch_between({}, {"items": ["b"]})

    assert patch is not None
    assert patched({"items": ["a"]}, patch) == {"items": ["a", "b"]}


def test_a_number_that_only_changes_its_type_is_no_addition() -> None:
    assert patch_between([1, 2], [True, 2.0, 3]) is None


def test_a_key_that_one_deletes_goes() -> None:
    patch = patch_between({"a": 1, "b": 2}, {"b": 2})

    assert patch == {"delete": ["a"]}
    assert patched({"a": 1, "b": 2, "c": 3}, patch) == {"b": 2, "c": 3}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, 2),
        ([1, 2], [1]),
        ([1], [2]),
        ({"a": 1}, [1]),
        ({"$": "set", "items": [1]}, {"$": "set", "items": [1, 2]}),
        ("a", "ab"),
        (ABSENT, 1),
    ],
    ids=repr,
)
def test_other_changes_have_no_patch(before: Any, after: Any) -> None:
    assert patch_between(before, after) is None


def test_a_value_that_only_changes_its_type_is_a_change() -> None:
    assert patch_between({"a": 1}, {"a": True}) == {"set": {"a": True}}
