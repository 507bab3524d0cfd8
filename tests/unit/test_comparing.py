"""The comparison that the differential tests rest on tells apart what must be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from temporal_adapter.testing.comparing import first_difference

A, B, C = (str(UUID(int=number)) for number in (1, 2, 3))


@dataclass
class Point:
    x: Any


@pytest.mark.parametrize(
    "same",
    [None, 0, "", [1, (2, {3})], {"a": {"b": b"c"}}, Point([1]), ValueError("a", 1), int],
)
def test_equal_trees_do_not_differ(same: Any) -> None:
    assert first_difference(same, same) is None


@pytest.mark.parametrize(
    ("expected", "actual", "path"),
    [
        (1, True, "x"),
        (1, 1.0, "x"),
        ([1], (1,), "x"),
        (None, "", "x"),
        ([1, 2], [1, 3], "x[1]"),
        ([1], [1, 2], "x: 1 items"),
        ({"a": 1}, {}, "x: key 'a' is in-process only"),
        ({}, {"a": 1}, "x: key 'a' is on Temporal only"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "x: keys are in order"),
        (Point([1]), Point([2]), "x.x[0]"),
        (ValueError("a"), ValueError("b"), "x.args[0]"),
        (ValueError("a"), KeyError("a"), "x"),
    ],
)
def test_a_difference_is_named_with_its_path(expected: Any, actual: Any, path: str) -> None:
    difference = first_difference(expected, actual, "x")

    assert difference is not None
    assert difference.startswith(path)


def test_uuids_may_differ_if_they_differ_alike() -> None:
    assert first_difference([A, B, A], [C, B, C]) is None
    assert first_difference([A, A], [B, C]) is not None


def test_the_sides_are_called_as_the_caller_calls_them() -> None:
    difference = first_difference([1], [2], "x", sides=("at home", "abroad"))

    assert difference == "x[0]: at home 1 (int), abroad 2 (int)"
