"""Every kind reads as plain JSON."""

from __future__ import annotations

import collections
import datetime
import decimal
import json
import pathlib
import types
from typing import Any

import pytest
from agent_framework import Message
from hypothesis import given

from temporal_adapter.values import Codec
from temporal_adapter.wire.tags import plain
from tests.unit.values import samples
from tests.unit.values.samples import TYPES
from tests.unit.values.strategies import RECORDS, VALUES

CODEC = Codec(TYPES)
UTC = datetime.timezone.utc


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, {2}), [1, [2]]),
        ({1: "a", (1, 2): "b", None: 0}, {"1": "a", "[1, 2]": "b", "null": 0}),
        ({"$": 1}, {"$": 1}),
        (float("inf"), "inf"),
        (b"ab", "YWI="),
        (complex(1, 2), {"real": 1.0, "imag": 2.0}),
        (decimal.Decimal("1.10"), "1.10"),
        (datetime.datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (datetime.timedelta(minutes=90), "PT5400S"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (range(3), {"start": 0, "stop": 3, "step": 1}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.defaultdict(list, a=[1]), {"a": [1]}),
        (collections.deque([1], 3), [1]),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (samples.Colour.RED, "red"),
        (samples.Right.READ | samples.Right.RUN, 5),
        (samples.Point(1, 2), {"x": 1, "y": 2}),
        (samples.Note("ab"), {"text": "ab", "tags": [], "length": 2}),
        (samples.Line(name="a"), {"name": "a", "amount": 0.0, "when": None}),
        (samples.Order(id="1", more=2), {"id": "1", "lines": [], "colour": "red", "more": 2}),
        (samples.Names(["a"]), {"root": ["a"]}),
        (samples.Tag("t"), "t"),
        (samples.Basket([1]), [1]),
        (samples.Index({"a": 1}), {"a": 1}),
        (samples.Plain(1), {"a": 1}),
        (samples.Refused(1, reason="r"), "tests.unit.values.samples:Refused: refused with 1"),
        (ValueError(), "ValueError"),
        (list[int] | None, "list[int] | None"),
        (Ellipsis, {}),
        (Message("user", []), {"role": "user", "contents": [], "author_name": None, "message_id": None,
                               "additional_properties": {}, "raw_representation": None}),
    ],
)  # fmt: skip
def test_a_kind_reads_as(value: Any, expected: Any) -> None:
    assert plain(CODEC.encode(value)) == expected


def test_a_pickle_stays_tagged() -> None:
    encoded = CODEC.encode(samples.Reduced(1))

    assert plain([encoded]) == [encoded]


@given(VALUES | RECORDS)
def test_everything_stored_reads_as_plain_json(value: Any) -> None:
    json.dumps(plain(CODEC.encode(value)), allow_nan=False)
