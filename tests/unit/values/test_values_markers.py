"""User data that looks like a kind of ours, or like a marker of MAF's, is plain data, and no unpickler ever sees it."""

from __future__ import annotations

import base64
import io
import pickle
from collections.abc import Iterator
from typing import Any

import agent_framework
import pytest
from agent_framework import Content, Message, WorkflowCheckpoint, WorkflowMessage
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter.values import Codec, DecodeError, client_codec, pickling
from temporal_adapter.wire.tags import TAG
from tests.unit.values import samples
from tests.unit.values.samples import TYPES, through_json
from tests.unit.values.strategies import VALUES

CODEC = Codec(TYPES)
KINDS = sorted(CODEC._kinds)  # pyright: ignore[reportPrivateUsage]
GADGET = base64.b64encode(pickle.dumps(samples.Reduced(1))).decode()
MARKERS = [
    *(TAG, "type", "fields", "attributes", "absent", "unset", "extra", "private", "items", "entries", "new", "state"),
    *("args", "cause", "context", "value", "name", "data", "zone", "fold", "flavour", "factory", "maxlen"),
    *("__pickled__", "__type__", "__maf_pickled__", "__reduce__", "__class__", "__dict__", "_executor_state", "root"),
    *("metadata", "ref", "v", "$ref", "py/object", "!!python/object", "__msgpack__"),
]
LOOKS = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.sampled_from([*KINDS, *MARKERS, *TYPES, GADGET]) | VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*MARKERS, *KINDS]), inner, max_size=5),
    max_leaves=12,
)


@pytest.fixture(scope="module", autouse=True)
def _no_unpickler() -> Iterator[None]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("user data reached an unpickler")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pickling, "load_pickle", refuse)
        for name in ("loads", "load", "Unpickler", "_Unpickler"):
            patch.setattr(pickle, name, refuse)
        yield


@settings(max_examples=300)
@given(LOOKS)
def test_data_that_looks_like_a_marker_survives_as_data(value: Any) -> None:
    assert through_json(CODEC, value) == value


@given(LOOKS)
def test_it_does_wherever_it_stands(value: Any) -> None:
    places = [
        samples.Frozen(value),
        samples.Order(id="1", surplus=value),
        samples.Plain(value),
        samples.Point(value, value),
        ValueError(value),
        Message("user", [], additional_properties={"k": value}, raw_representation=value),
        Content.from_function_call(call_id="c", name="f", arguments={"k": value}),
        WorkflowMessage(data=value, source_id="s"),
        WorkflowCheckpoint("wf", "hash", state={"k": value, "_executor_state": {"e": value}}),
    ]

    for place, restored in zip(places, through_json(CODEC, places), strict=True):
        assert type(restored) is type(place)
        assert CODEC.encode(restored) == CODEC.encode(place)
    restored = through_json(CODEC, places)
    assert (restored[0].a, restored[4].args[0], restored[7].data) == (value, value, value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_dict_with_the_name_of_each_kind_survives(kind: str) -> None:
    value = {TAG: kind, "type": "tests.unit.values.samples:Reduced", "data": GADGET, "value": "1", "items": [[1, 2]]}

    assert through_json(CODEC, value) == value
    assert through_json(CODEC, {kind: value, f"{TAG}{TAG}": kind}) == {kind: value, f"{TAG}{TAG}": kind}
    assert through_json(CODEC, kind) == kind


def test_a_value_that_maf_pickled_stays_the_dict_that_it_is() -> None:
    value = {"__pickled__": GADGET, "__type__": "tests.unit.values.samples:Reduced"}

    assert through_json(CODEC, {"k": [value]}) == {"k": [value]}


UNPICKLED = [
    *("tests.unit.values.samples:Line", "tests.unit.values.samples:Note", "tests.unit.values.samples:Colour"),
    *("tests.unit.values.samples:Plain", "tests.unit.values.samples:Point", "tests.unit.values.samples:Struct"),
    *("tests.unit.values.samples:Refused", "ValueError", "int", "dict", "tests.unit.values.samples:Unknown"),
    *(f"agent_framework:{name}" for name in agent_framework.__all__),
]


@pytest.mark.parametrize("name", UNPICKLED)
def test_a_hostile_blob_reaches_no_unpickler_by_a_class_that_has_no_reduction_of_its_own(name: str) -> None:
    with pytest.raises(DecodeError):
        CODEC.decode({"$": "pickle", "type": name, "data": GADGET})


@settings(max_examples=300)
@given(st.recursive(LOOKS, lambda inner: st.fixed_dictionaries({"$": st.sampled_from(KINDS), "data": inner})))
def test_hostile_blobs_reach_no_unpickler_where_pickling_is_off_or_on_a_client(data: Any) -> None:
    for codec in (CODEC.without_pickle(), client_codec()):
        try:
            codec.decode(data)
        except DecodeError:
            continue


def test_the_fixture_would_notice() -> None:
    with pytest.raises((AssertionError, DecodeError), match="reached an unpickler"):
        CODEC.decode({"$": "pickle", "type": "tests.unit.values.samples:Reduced", "data": GADGET})
    with pytest.raises(AssertionError):
        pickle.load(io.BytesIO())
