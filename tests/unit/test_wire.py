"""Wire shapes: what is written is read again, by this release and not by an older one; names and responses."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.wire.names import (
    executor_activity_type,
    parse_executor_activity_type,
    service_activity_type,
)
from temporal_adapter.wire.tags import bytes_to_text, plain, text_to_bytes

SHAPES = [
    shape
    for shape in (getattr(wire, name) for name in wire.__all__)
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct)
]

# What user data looks like on the wire. A JSON null inside `Any` fields is data too.
json_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def of(annotation: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Return a strategy for an annotation of a shape's field; optional shapes get rarer with depth."""
    match msgspec.inspect.type_info(annotation) if not isinstance(annotation, msgspec.inspect.Type) else annotation:
        case msgspec.inspect.AnyType():
            return json_data
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.IntType():
            return st.integers(-(2**53), 2**53)
        case msgspec.inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case msgspec.inspect.StrType():
            return st.text(max_size=8)
        case msgspec.inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case msgspec.inspect.ListType(item_type=item):
            return st.lists(st.deferred(lambda: of(item, depth + 1)), max_size=2 if depth < 3 else 0)
        case msgspec.inspect.DictType(value_type=value):
            return st.dictionaries(
                st.text(max_size=8), st.deferred(lambda: of(value, depth + 1)), max_size=2 if depth < 3 else 0
            )
        case msgspec.inspect.UnionType(types=types):
            chosen = (
                types if depth < 4 else [one for one in types if isinstance(one, msgspec.inspect.NoneType)] or types
            )
            return st.one_of([of(one, depth) for one in chosen])
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            required = {one.name: of(one.type, depth + 1) for one in fields if one.required}
            optional = {one.name: of(one.type, depth + 1) for one in fields if not one.required}
            return st.fixed_dictionaries(required, optional=optional).map(lambda given: cls(**given))
        case other:
            raise AssertionError(f"no strategy for {other}")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_shape_is_read_as_it_was_written(shape: type[Any]) -> None:
    @given(of(shape))
    def check(written: Any) -> None:
        as_json = json.loads(json.dumps(wire.dump(written)))
        assert as_json["v"] == wire.SCHEMA_VERSION
        assert wire.load(shape, as_json) == written

    check()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_newer_schema_version_is_refused_with_the_remedy(shape: type[Any]) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.load(shape, {"v": wire.SCHEMA_VERSION + 1})

    assert shape.__name__ in str(refused.value)
    assert f"schema version {wire.SCHEMA_VERSION + 1}" in str(refused.value)
    assert "Upgrade this process" in str(refused.value)


def test_a_newer_schema_version_names_the_release_that_reads_it() -> None:
    with pytest.raises(wire.NewerSchema, match=r"Upgrade this process to release 1\.12\.3 or a newer one\."):
        wire.load(wire.Response, {"v": 11203, "request_id": "r", "response": 1})


@pytest.mark.parametrize("version", ["2", None, 1.5, [1]])
def test_a_schema_version_that_is_no_number_is_refused(version: Any) -> None:
    with pytest.raises(wire.WireError, match="schema version"):
        wire.load(wire.Response, {"v": version, "request_id": "r", "response": 1})


@pytest.mark.parametrize("data", [{"encoding": "\ud800"}, {"\ud800": 1}], ids=ascii)
def test_names_that_no_text_file_could_have_are_no_other_error(data: Any) -> None:
    with pytest.raises(wire.WireError):
        wire.parse_options(data)


def test_fields_of_a_later_release_are_ignored() -> None:
    data = {"v": 1, "request_id": "r", "response": None, "mood": "good"}
    assert wire.load(wire.Response, data) == wire.Response(request_id="r", response=None)


def test_what_plain_json_callers_send_needs_no_version() -> None:
    assert wire.load(wire.StartOptions, {}) == wire.StartOptions()


@pytest.mark.parametrize("data", [None, [], "text", 1, {"v": 1, "inline": 1}, {"v": 1, "size": "big"}])
def test_json_of_another_shape_is_refused_by_the_name_of_the_shape(data: Any) -> None:
    with pytest.raises(wire.WireError, match="Value cannot be read: "):
        wire.load(wire.Value, data)


def test_an_inline_null_is_not_an_absent_value() -> None:
    null, absent = wire.Value(inline=None, size=4), wire.Value(ref="f" * 64, size=4)
    assert wire.load(wire.Value, wire.dump(null)) == null
    assert "inline" not in wire.dump(absent)


@given(json_data)
def test_a_fingerprint_looks_at_content_only(data: Any) -> None:
    assert wire.fingerprint(data) == wire.fingerprint(json.loads(json.dumps(data)))


def test_a_fingerprint_does_not_depend_on_the_order_of_keys() -> None:
    assert wire.fingerprint({"a": 1, "b": {"c": 2, "d": 3}}) == wire.fingerprint({"b": {"d": 3, "c": 2}, "a": 1})
    assert wire.fingerprint([1, 2]) != wire.fingerprint([2, 1])


# --- names --------------------------------------------------------------------------------------------------

hostile = st.text(min_size=1) | st.text(alphabet="%/:2F3Ae\u00e9 ~.", min_size=1)


@given(hostile, st.lists(hostile, min_size=1, max_size=4))
def test_an_activity_type_names_its_executor_whatever_the_ids_contain(workflow: str, path: list[str]) -> None:
    assert parse_executor_activity_type(executor_activity_type(workflow, path)) == (workflow, tuple(path))


@given(hostile, hostile, st.lists(hostile, min_size=1, max_size=3))
def test_services_and_executors_never_share_a_name(workflow: str, other: str, path: list[str]) -> None:
    for service in ("seed", "respond", "commit"):
        name = service_activity_type(workflow, service)
        assert name != executor_activity_type(other, path)
        with pytest.raises(ValueError, match="is not an executor's activity type"):
            parse_executor_activity_type(name)


def test_ordinary_names_read_as_a_person_expects() -> None:
    assert executor_activity_type("expense-approval", ["fraud-score"]) == "expense-approval/fraud-score"
    assert service_activity_type("expense-approval", "seed") == "expense-approval:seed"


@pytest.mark.parametrize("name", ["", "workflow", "/executor", "workflow/", "workflow//executor", "workflow:seed"])
def test_a_name_outside_the_grammar_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not an executor's activity type; expected"):
        parse_executor_activity_type(name)


# --- responses ----------------------------------------------------------------------------------------------


def test_one_response_or_a_list_of_them_is_read() -> None:
    one = {"request_id": "r1", "response": {"approved": True}, "responder": "ana", "comment": "fine"}
    other = {"request_id": "r2", "response": None}
    read = wire.Response(request_id="r1", response={"approved": True}, responder="ana", comment="fine")

    assert wire.parse_responses(one) == [read]
    assert wire.parse_responses([one, other]) == [read, wire.Response(request_id="r2", response=None)]


@pytest.mark.parametrize(
    "data",
    [
        None,
        "yes",
        True,
        [],
        {},
        {"request_id": "r"},
        {"response": 1},
        {"request_id": 7, "response": 1},
        [{"request_id": "r", "response": 1}, "yes"],
        [[{"request_id": "r", "response": 1}]],
        {"request_id": "r", "response": 1, "v": 99},
    ],
)
def test_a_malformed_response_is_refused_with_the_expected_shape(data: Any) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.parse_responses(data)

    assert 'expected {"request_id": "...", "response": ...}, or a list of such objects' in str(refused.value)


def test_a_refusal_shows_only_the_beginning_of_a_large_response() -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.parse_responses("x" * 10_000)
    assert len(str(refused.value)) < 400


# --- tagged JSON --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tagged", "shown"),
    [
        ({"$": "dataclass", "type": "app:Report", "fields": {"items": {"$": "tuple", "items": [1]}}}, {"items": [1]}),
        ({"$": "dict", "items": [[1, "a"], ["b", {"$": "enum", "type": "app:E", "value": 2}]]}, {"1": "a", "b": 2}),
        ({"$": "set", "items": ["a"]}, ["a"]),
        ({"$": "pickle", "data": "gASV"}, {"$": "pickle", "data": "gASV"}),
        ([None, True, 1.5, "text", {"key": []}], [None, True, 1.5, "text", {"key": []}]),
    ],
)
def test_tagged_json_shows_as_plain_json(tagged: Any, shown: Any) -> None:
    assert plain(tagged) == shown


@given(st.binary())
def test_bytes_survive_as_text(data: bytes) -> None:
    assert text_to_bytes(bytes_to_text(data)) == data


def test_text_that_is_no_base64_is_refused() -> None:
    with pytest.raises(ValueError, match=r"base64|padding|alphabet"):
        text_to_bytes("not base64!")
