"""What histories and sub-workflows' stowed entries refer to."""

from __future__ import annotations

import json

import pytest

from temporal_adapter import wire
from temporal_adapter.retention.histories import Mentions, refs_in_text
from temporal_adapter.retention.sweeping import referred_to
from temporal_adapter.store.chunks import LARGEST
from temporal_adapter.store.names import value_object

from .conftest import Filled

ONE, TWO = "1" * 64, "2" * 64
UNKNOWN = LARGEST + 1  # a size that is looked up


@pytest.mark.parametrize(
    ("text", "refs"),
    [
        (json.dumps({"a": [{"ref": ONE, "size": 5}], "b": {"ref": TWO, "size": 6}}), {ONE: 5, TWO: 6}),
        (json.dumps({"ref": ONE}), {ONE: UNKNOWN}),
        (json.dumps([{"ref": ONE, "size": 5}, {"ref": ONE, "size": 7}]), {ONE: 7}),
        (json.dumps({"ref": "main", "size": 5}), {}),
        (f"no JSON: {ONE}", {ONE: UNKNOWN}),
        ("[" * 100_000 + f'"{ONE}"', {ONE: UNKNOWN}),
        ("", {}),
    ],
)
def test_whatever_looks_like_a_reference_is_taken_for_one(text: str, refs: dict[str, int]) -> None:
    assert refs_in_text(text.encode()) == refs


async def test_what_is_stowed_is_looked_into(filled: Filled) -> None:
    inside = await filled.value(["inside"] * 10_000)
    stowed = await filled.value(wire.dump(wire.Changes(state={"report": inside})))
    assert stowed.ref is not None
    assert inside.ref is not None

    mentions = Mentions(refs={stowed.ref: stowed.size}, stowed={stowed.ref})
    names = await referred_to(filled.blobs, "default", [], [mentions])

    assert names == {*await filled.names("/values/"), *await filled.names("/chunks/")}
    assert value_object("default", inside.ref) in names


async def test_what_is_missing_is_named_all_the_same(filled: Filled) -> None:
    mentions = Mentions(refs={ONE: 5}, stowed={TWO})
    assert await referred_to(filled.blobs, "default", [], [mentions]) == {value_object("default", ONE)}
