"""Whatever JSON says, reading it ends in a value or in a `DecodeError`."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter.values import Codec, DecodeError
from temporal_adapter.wire.tags import plain, type_text
from tests.unit.values.samples import TYPES
from tests.unit.values.strategies import RECORDS

CODEC = Codec(TYPES)
CLIENT = Codec(unknown="plain", allow_pickle=False)

KINDS = [*CODEC._kinds, "future", "", None, 1, [], {}]  # pyright: ignore[reportPrivateUsage]
NAMES = [*TYPES, "ValueError", "OSError", "agent_framework:Message", "agent_framework:Content", "int", "list", "os:x"]
KEYS = [
    *("$", "type", "value", "items", "fields", "attributes", "absent", "unset", "extra", "private", "args", "name"),
    *("zone", "fold", "maxlen", "factory", "start", "stop", "step", "real", "imag", "numerator", "denominator"),
    *("flavour", "data", "new", "state", "entries", "generic", "union", "literal", "a", "b", "id", "lines", "text"),
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from([*NAMES, "1", "PT1S", "2024-01-01", "nan", "QQ==", "__class__"])
)
HOSTILE = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
        | st.fixed_dictionaries({"$": st.sampled_from(KINDS), "value": inner})
        | st.fixed_dictionaries({"$": st.sampled_from(KINDS), "items": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries(
            {"$": st.sampled_from(KINDS), "type": st.sampled_from(NAMES)},
            optional={key: inner for key in KEYS if key not in ("$", "type")},
        )
    ),
    max_leaves=15,
)


@settings(max_examples=500)
@given(HOSTILE)
def test_decoding_arbitrary_json_raises_nothing_but_decode_errors(data: Any) -> None:
    for codec in (CODEC, CLIENT):
        with contextlib.suppress(DecodeError):
            codec.decode(data)
        with contextlib.suppress(DecodeError):
            codec.decode_type(data)


@settings(max_examples=500)
@given(HOSTILE)
def test_plain_reading_never_raises_and_gives_json(data: Any) -> None:
    json.dumps(plain(data))
    type_text(data)


@given(RECORDS, st.data())
def test_damaged_records_raise_nothing_but_decode_errors(record: Any, data: st.DataObject) -> None:
    encoded = CODEC.encode(record)
    if isinstance(encoded, dict):
        key = data.draw(st.sampled_from(sorted(encoded)))
        if data.draw(st.booleans()):
            del encoded[key]
        else:
            encoded[key] = data.draw(HOSTILE)

    with contextlib.suppress(DecodeError):
        CODEC.decode(encoded)
    json.dumps(plain(encoded))


def nest(levels: int, wrap: Any) -> Any:
    data: Any = 1
    for _ in range(levels):
        data = wrap(data)
    return data


@pytest.mark.parametrize(
    "wrap",
    [
        lambda data: [data],
        lambda data: {"a": data},
        lambda data: {"$": "tuple", "items": [data]},
        lambda data: {"$": "dict", "items": [[data, 0]]},
        lambda data: {"$": "datetime", "value": "2024-01-01", "zone": data},
        lambda data: {"$": "type", "value": {"literal": [data]}},
        lambda data: {"$": "type", "value": {"union": [data]}},
        lambda data: {"generic": "list", "args": [data]},
        lambda data: {"generic": "list", "args": [[data]]},
        lambda data: {"$": "enum", "type": "tests.unit.values.samples:Colour", "value": data},
    ],
)
def test_json_nested_ten_thousand_levels_deep_is_refused(wrap: Any) -> None:
    data = nest(10_000, wrap)

    with pytest.raises(DecodeError):
        CODEC.decode({"$": "type", "value": data} if "generic" in data else data)
    with pytest.raises(DecodeError):
        CODEC.decode_type(data)
    plain(data)
    type_text(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"$": "future"}, r"kind 'future' is not known.*Upgrade"),
        ({"$": 5}, r"kind int is not known"),
        ({"$": "datetime", "value": "soon"}, r"kind 'datetime' cannot be read: ValueError"),
        ({"$": "tuple"}, r"kind 'tuple' cannot be read: KeyError"),
        ({"$": "set", "items": [[1]]}, r"kind 'set' cannot be read: TypeError"),
        ({"$": "tuple", "items": {"a": 1}}, "expected a JSON array, found dict"),
        ({"$": "enum", "type": "tests.unit.values.samples:Colour", "name": "BLUE"}, "Colour has no member 'BLUE'"),
        ({"a": {1, 2}}, "set is not a type of JSON"),
    ],
)
def test_the_error_names_kind_or_type_and_what_is_wrong(data: Any, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        CODEC.decode(data)


def test_everything_within_the_limit_is_readable_from_a_deep_call_stack() -> None:
    data = CODEC.encode(nest(149, lambda inner: {(1, 2): inner}))

    def deeper(frames: int) -> Any:
        return CODEC.decode(json.loads(json.dumps(data))) if frames == 0 else deeper(frames - 1)

    assert sys.getrecursionlimit() == 1000
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(deeper(150)))
    thread.start()
    thread.join()
    assert len(results) == 1
