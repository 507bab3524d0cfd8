from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.store.seal import seal, unseal

FIELDS = {"v": 1, "text": "Ünïcode \ud800", "nested": {"b": [1, None], "a": 10**30}}


def test_sealed_fields_read_back_in_their_order() -> None:
    assert json.dumps(unseal(seal(FIELDS))) == json.dumps(FIELDS)


def test_a_sealed_object_is_ordinary_json() -> None:
    assert {**FIELDS, "sha256": json.loads(seal(FIELDS))["sha256"]} == json.loads(seal(FIELDS))


@given(st.integers(min_value=0, max_value=len(seal(FIELDS)) - 1), st.integers(min_value=1, max_value=255))
def test_any_changed_byte_is_noticed(position: int, difference: int) -> None:
    damaged = bytearray(seal(FIELDS))
    damaged[position] ^= difference
    with pytest.raises(ValueError, match="digest"):
        unseal(bytes(damaged))


@given(st.integers(min_value=0, max_value=len(seal(FIELDS)) - 1))
def test_an_object_cut_short_anywhere_is_noticed(length: int) -> None:
    with pytest.raises(ValueError, match="digest"):
        unseal(seal(FIELDS)[:length])
