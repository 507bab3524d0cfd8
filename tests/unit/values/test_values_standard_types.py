"""Standard values survive the codec with their exact type."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import json
import math
import pathlib
import types
import uuid
import zoneinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.values import Codec, EncodeError
from tests.unit.values.samples import TYPES, through_json
from tests.unit.values.strategies import VALUES

CODEC = Codec(TYPES)


def assert_same(left: Any, right: Any) -> None:
    """Equal, of the same types, and in the same order where there is one."""
    assert type(left) is type(right)
    if isinstance(left, (list, tuple, collections.deque)):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            assert_same(a, b)
    elif isinstance(left, (dict, types.MappingProxyType)):
        assert_same(list(left.items()), list(right.items()))
    else:
        assert left == right
    if isinstance(left, float):
        assert math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, (datetime.datetime, datetime.time)):
        assert left.fold == right.fold
        assert type(left.tzinfo) is type(right.tzinfo)
        assert left.isoformat() == right.isoformat()
        assert str(left.tzinfo) == str(right.tzinfo)
    if isinstance(left, collections.deque):
        assert left.maxlen == right.maxlen
    if isinstance(left, collections.defaultdict):
        assert left.default_factory is right.default_factory


@given(VALUES)
def test_a_value_survives_with_its_exact_type(value: Any) -> None:
    assert_same(through_json(CODEC, value), value)


@given(VALUES)
def test_tagged_json_is_itself_a_value_that_survives(value: Any) -> None:
    encoded = CODEC.encode(value)

    assert through_json(CODEC, encoded) == encoded


@pytest.mark.parametrize(
    "value",
    [None, True, 1, 2**100, -0.5, "text", "tëxt 😀", [], [1, [2]], {}, {"b": 1, "a": [None]}, {"": 0}],
)
def test_json_stands_for_itself(value: Any) -> None:
    assert CODEC.encode(value) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_floats_that_json_lacks_survive(value: float) -> None:
    assert repr(through_json(CODEC, value)) == repr(value)


@pytest.mark.parametrize("text", ["NaN", "-NaN", "sNaN", "-0", "1E+400", "Infinity", "0.10"])
def test_a_decimal_survives_digit_by_digit(text: str) -> None:
    assert str(through_json(CODEC, decimal.Decimal(text))) == str(decimal.Decimal(text))


@given(st.decimals() | st.floats() | st.complex_numbers())
def test_a_number_survives_with_its_sign_and_all_its_digits_or_as_what_is_none(value: Any) -> None:
    restored = through_json(CODEC, value)

    assert (type(restored), repr(restored)) == (type(value), repr(value))


def test_surrogates_do_not_merge_into_a_pair() -> None:
    value = {"\ud83d": "\ud83d\ude00", "k": ["\udfff"]}

    assert through_json(CODEC, value) == value


def test_colliding_keys_stay_apart() -> None:
    value = {1: "int", "1": "str", None: "none", "null": "str", (1, 2): "tuple"}

    assert_same(through_json(CODEC, value), value)


def test_a_dict_that_looks_like_tagged_json_stays_a_dict() -> None:
    value = {"$": "pickle", "type": "os:system", "data": "AAAA"}

    assert through_json(CODEC, value) == value


def test_huge_integers_do_not_trip_the_digit_limit() -> None:
    value = [10**5000, -(10**5000), fractions.Fraction(10**5000, 3)]

    assert through_json(CODEC, value) == value


def test_fold_and_zone_survive_in_the_repeated_hour() -> None:
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    value = datetime.datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=1)

    restored = through_json(CODEC, value)

    assert (restored.tzinfo is zone, restored.fold) == (True, 1)
    assert restored.utcoffset() == datetime.timedelta(hours=1)


def test_an_offset_of_a_fraction_of_a_second_survives() -> None:
    offset = datetime.timezone(datetime.timedelta(microseconds=1))
    value = [datetime.datetime(2024, 1, 1, tzinfo=offset), datetime.time(1, tzinfo=offset)]

    assert_same(through_json(CODEC, value), value)


def test_the_utc_offset_is_in_the_text_of_a_datetime() -> None:
    value = datetime.datetime(2024, 6, 1, 12, tzinfo=datetime.timezone.utc)

    assert CODEC.encode(value) == {"$": "datetime", "value": "2024-06-01T12:00:00+00:00"}


@pytest.mark.parametrize(
    "value",
    [slice(1, None, 2), pathlib.Path("a/b"), pathlib.PureWindowsPath("c:\\a"), uuid.UUID(int=5), collections.Counter()],
)
def test_rarer_values_survive(value: Any) -> None:
    assert_same(through_json(CODEC, value), value)


@pytest.mark.parametrize("factory", [None, int, list, dict, set, str])
def test_a_defaultdict_keeps_its_factory(factory: Any) -> None:
    value = collections.defaultdict(factory, {1: 2})

    assert_same(through_json(CODEC, value), value)


def test_a_defaultdict_with_a_function_is_refused_with_the_way_out() -> None:
    with pytest.raises(EncodeError, match=r"factory is a function.*defaultdict\(list\)"):
        CODEC.encode(collections.defaultdict(lambda: 1))


def test_equal_sets_have_equal_json_whatever_their_history() -> None:
    words = [f"w{index}" for index in range(50)]
    left, right = set(words), set(words)
    for word in [f"x{index}" for index in range(500)]:
        right.add(word)
        right.discard(word)

    assert json.dumps(CODEC.encode(left)) == json.dumps(CODEC.encode(right))
