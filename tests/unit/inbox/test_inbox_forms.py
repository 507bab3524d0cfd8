"""Forms from JSON schemas: what a person sees, and the JSON that a filled form stands for."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import json
import uuid
from collections.abc import Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from agent_framework import Content
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from temporal_adapter.inbox.forms import Form, Mistyped, empty_form, filled_form, node_of
from temporal_adapter.inbox.forms.nodes import Choice, Either, Group, Items, Json, Number, Text, YesNo
from temporal_adapter.values.json_schemas import json_schema

from .filling import html_of, sent_by


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Address(BaseModel):
    city: str
    zip: str | None = None


class Card(BaseModel):
    kind: Literal["card"] = "card"
    number: str


class Cash(BaseModel):
    kind: Literal["cash"] = "cash"
    amount: Decimal


class Order(BaseModel):
    customer: str
    count: int = Field(ge=1, le=9)
    urgent: bool = False
    size: Size = Size.SMALL
    due: date | None = None
    address: Address | None = None
    lines: list[Address] = []
    payment: Annotated[Card | Cash, Field(discriminator="kind")] = Card(number="0")


@dataclasses.dataclass
class Verdict:
    approved: bool
    reasons: list[str] = dataclasses.field(default_factory=list)


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


def form(expression: Any) -> Form:
    """Return the empty form of a type."""
    return empty_form(node_of(json_schema(expression)))


def sent(form: Form, typed: Mapping[str, str]) -> Any:
    """Return what a form stands for as a browser sends it, with this typed over what it shows."""
    return dataclasses.replace(form, typed={**sent_by(html_of(form)), **typed}).value()


# --- what there is to fill in -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        (bool, YesNo),
        (int, Number),
        (float, Number),
        (str, Text),
        (Size, Choice),
        (Literal["a", 1, None], Choice),
        (Order, Group),
        (Verdict, Group),
        (list[Address], Items),
        (int | str, Either),
        (Decimal, Text),
        (Content, Either),
        (Any, Json),
        (dict[str, int], Json),
        (tuple[int, str], Json),
    ],
)
def test_a_type_has_the_field_that_suits_it(expression: Any, kind: type) -> None:
    assert isinstance(node_of(json_schema(expression)), kind)


def test_without_a_schema_there_is_json_text() -> None:
    assert node_of(None) == node_of({}) == node_of(True) == node_of("boolean") == Json()


@pytest.mark.parametrize(
    ("expression", "kind"),
    [(date, "date"), (uuid.UUID, "text"), (str, "textarea"), (Annotated[str, Field(max_length=20)], "text")],
)
def test_a_text_has_the_input_that_suits_it(expression: Any, kind: str) -> None:
    node = node_of(json_schema(expression))
    assert isinstance(node, Text)
    assert node.kind == kind


def test_what_contains_itself_has_json_text_where_it_is_too_deep() -> None:
    shown = html_of(empty_form(node_of(json_schema(Tree))))
    assert "Children" in shown
    value = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}
    assert sent(filled_form(node_of(json_schema(Tree)), value), {}) == value


def test_a_schema_with_more_fields_than_anybody_fills_has_json_text() -> None:
    properties = {f"p{place}": {"type": "integer"} for place in range(1000)}
    assert node_of({"type": "object", "properties": properties}) == Json()


def test_names_descriptions_and_bounds_are_shown() -> None:
    schema = {"type": "integer", "title": "How many?", "description": "Whole <boxes>.", "minimum": 1, "maximum": 9}
    shown = html_of(empty_form(node_of(schema)))
    assert "How many?" in shown
    assert "Whole &lt;boxes&gt;." in shown
    assert 'min="1" max="9"' in shown


# --- what a filled form stands for --------------------------------------------------------------------------


def test_what_is_left_as_it_is_stands_for_the_defaults() -> None:
    value = sent(form(Order), {"response/customer": "Ada", "response/count": "2"})
    assert Order.model_validate(value) == Order(customer="Ada", count=2)


def test_everything_filled_in_is_sent() -> None:
    typed = {
        "response/customer": "Ada\r\nL.",
        "response/count": " 3 ",
        "response/urgent": "true",
        "response/size": "1",
        "response/due": "2026-02-03",
        "given:response/address": "on",
        "response/address/city": "Turin",
        "which:response/payment": "1",
        "response/payment/1/amount": "12.50",
        "response/payment/1/kind": "0",
    }
    assert sent(form(Order), typed) == {
        "customer": "Ada\nL.",
        "count": 3,
        "urgent": True,
        "size": "large",
        "due": "2026-02-03",
        "address": {"city": "Turin", "zip": None},
        "lines": [],
        "payment": {"kind": "cash", "amount": "12.50"},
    }


def test_a_time_is_typed_and_sent_in_utc() -> None:
    at = datetime(2026, 1, 5, 10, 30, tzinfo=timezone.utc)
    assert sent(form(datetime), {"response": "2026-01-05T10:30"}) == at.isoformat()
    shown = filled_form(node_of(json_schema(datetime)), "2026-01-05T12:30:00+02:00").typed
    assert shown == {"response": "2026-01-05T10:30:00"}


@pytest.mark.parametrize(
    ("expression", "text", "error"),
    [
        (int, "two", '"two" is not a whole number.'),
        (int, "1.5", '"1.5" is not a whole number.'),
        (int, "", "Give a whole number."),
        (float, "1,5", '"1,5" is not a number.'),
        (float, "nan", '"nan" is not a number that JSON has.'),
        (float, "1e999", '"1e999" is not a number that JSON has.'),
        (bool, "", "Choose yes or no."),
        (Size, "", "Choose one of these."),
        (Size, "2", "Choose one of these."),
        (Size, "-1", "Choose one of these."),
        (str, "", "Write an answer."),
        (datetime, "soon", "Give a date and a time."),
        (Any, "{'a': 1}", "This is not JSON: Expecting property name enclosed in double quotes (line 1, column 2)."),
        (Any, "NaN", "NaN is not JSON."),
        (Any, "[" * 100_000, "This JSON is nested too deeply."),
        (Any, " ", 'Write JSON, such as true, 12, "text" or {"key": "value"}.'),
    ],
)
def test_what_is_no_answer_at_all_is_said_and_stays_typed(expression: Any, text: str, error: str) -> None:
    filled = dataclasses.replace(form(expression), typed={"response": text})
    with pytest.raises(Mistyped) as raised:
        filled.value()
    assert raised.value.errors == {"response": error}
    shown = html_of(filled.with_errors(raised.value.errors))
    assert error.replace('"', "&#34;").replace("'", "&#39;") in shown
    if not isinstance(filled.place.node, (YesNo, Choice)):
        assert sent_by(shown)["response"] == text


def test_all_that_is_wrong_is_said_at_once_each_beside_its_field() -> None:
    with pytest.raises(Mistyped) as raised:
        sent(form(Order), {"response/count": "x", "response/due": "2026-01-01", "given:response/address": "on"})
    assert raised.value.errors == {"response/count": '"x" is not a whole number.'}
    with pytest.raises(Mistyped) as raised:
        sent(form(Verdict), {})
    assert raised.value.errors == {"response/approved": "Choose yes or no."}


# --- lists --------------------------------------------------------------------------------------------------


def test_rows_are_added_with_their_defaults_and_removed_with_what_is_typed_in_them() -> None:
    class Line(BaseModel):
        name: str = "new"
        tags: list[str] = []

    lines = form(list[Line])
    for _ in range(3):
        lines = lines.with_row("response")
    assert sent(lines, {"response/1/name": "second"}) == [
        {"name": "new", "tags": []},
        {"name": "second", "tags": []},
        {"name": "new", "tags": []},
    ]
    lines = lines.with_row("response/2/tags")
    typed = {**sent_by(html_of(lines)), "response/2/name": "third", "response/2/tags/0": "tag"}
    fewer = dataclasses.replace(lines, typed=typed).without_row("response/0")
    assert sent(fewer, {}) == [{"name": "new", "tags": []}, {"name": "third", "tags": ["tag"]}]


def test_a_list_has_the_rows_that_it_must_have_and_no_button_to_remove_them() -> None:
    least_two = form(Annotated[list[int], Field(min_length=2, max_length=2)])
    shown = html_of(least_two)
    assert sent(least_two, {"response/0": "1", "response/1": "2"}) == [1, 2]
    assert 'name="remove"' not in shown
    assert 'name="add"' not in shown


@pytest.mark.parametrize("path", ["response", "response/x", "response/0/1", "", "elsewhere/~9"])
def test_a_row_is_only_added_to_a_list(path: str) -> None:
    assert form(Verdict).with_row(path) == form(Verdict)


@pytest.mark.parametrize("count", ["100000000", "-5", "x", "1e9"])
def test_a_browser_cannot_ask_for_more_rows_than_are_shown(count: str) -> None:
    many = dataclasses.replace(form(list[str]), typed={"count:response": count})
    assert len(many.value()) <= 200


# --- any type, any value ------------------------------------------------------------------------------------

_TEXTS = st.text(st.characters(exclude_categories=("C",), exclude_characters="\r") | st.just("\n"), min_size=1)
_INTEGERS = st.integers(-(10**20), 10**20)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_MOMENTS = st.datetimes(timezones=st.just(timezone.utc)).map(lambda one: one.replace(microsecond=0).isoformat())
_LEAVES: st.SearchStrategy[tuple[Any, Any]] = st.one_of(
    st.tuples(st.just({"type": "boolean"}), st.booleans()),
    st.tuples(st.just({"type": "integer"}), _INTEGERS),
    st.tuples(st.just({"type": "number"}), _FLOATS | _INTEGERS),
    st.tuples(st.just({"type": "string"}), _TEXTS),
    st.tuples(st.just({"type": "string", "maxLength": 10}), _TEXTS.map(lambda text: text.replace("\n", " "))),
    st.tuples(st.just({"type": "string", "format": "date"}), st.dates().map(lambda one: one.isoformat())),
    st.tuples(st.just({"type": "string", "format": "date-time"}), _MOMENTS),
    st.lists(st.none() | st.booleans() | _TEXTS, min_size=1, max_size=12, unique_by=json.dumps).flatmap(
        lambda values: st.tuples(st.just({"enum": values}), st.sampled_from(values))
    ),
    st.tuples(st.just({}), st.dictionaries(_TEXTS, st.none() | st.booleans() | _TEXTS, min_size=1)),
)


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[tuple[Any, Any]]) -> tuple[Any, Any]:
    drawn = draw(st.dictionaries(_TEXTS, st.tuples(inner, st.booleans(), st.booleans()), min_size=1, max_size=4))
    schema = {
        "type": "object",
        "properties": {key: one for key, ((one, _), _, _) in drawn.items()},
        "required": [key for key, (_, required, _) in drawn.items() if required],
    }
    # Nothing is typed for null, nor for what is left out.
    there = {
        key: value for key, ((_, value), required, given) in drawn.items() if required or (given and value is not None)
    }
    return schema, there


def _lists(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    return inner.map(lambda one: ({"type": "array", "items": one[0]}, [one[1]] * 2))


@st.composite
def _nullable(draw: st.DrawFn, inner: st.SearchStrategy[tuple[Any, Any]]) -> tuple[Any, Any]:
    schema, value = draw(inner)
    return {"anyOf": [schema, {"type": "null"}]}, draw(st.sampled_from([value, None]))


@st.composite
def _unions(draw: st.DrawFn, inner: st.SearchStrategy[tuple[Any, Any]]) -> tuple[Any, Any]:
    (first, one), (second, other) = draw(inner), draw(inner)
    return {"anyOf": [first, second]}, draw(st.sampled_from([one, other]))


def _deeper(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    return _objects(inner) | _lists(inner) | _nullable(inner) | _unions(inner)


SCHEMAS_WITH_VALUES = st.recursive(_LEAVES, _deeper, max_leaves=6)


@settings(max_examples=100, deadline=None)
@given(SCHEMAS_WITH_VALUES)
def test_a_value_comes_back_from_the_form_that_shows_it_as_a_browser_sends_it(drawn: tuple[Any, Any]) -> None:
    schema, value = drawn
    shown = filled_form(node_of(schema), value)
    assert json.dumps(sent(shown, {}), sort_keys=True) == json.dumps(value, sort_keys=True)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 400)
    | st.sampled_from(["string", "object", "array", "null", "#/$defs/a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("type", "anyOf", "oneOf", "allOf", "$ref", "$defs", "properties", "required", "items", "enum"),
                    *("const", "default", "title", "minItems", "maxItems", "format", "minimum", "a"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(_JSON, _JSON)
def test_there_is_a_form_for_whatever_is_in_the_way_of_a_schema(schema: Any, value: Any) -> None:
    node = node_of(schema)
    for shown in (empty_form(node), filled_form(node, value)):
        with contextlib.suppress(Mistyped):
            sent(shown, {})


@pytest.mark.parametrize(
    "value",
    [
        Order(
            customer="Ada", count=1, address=Address(city="Rome"), lines=[Address(city="x"), Address(city="y", zip="1")]
        ),
        Order(customer="'\"<&>\n", count=9, due=date(2026, 1, 1), payment=Cash(amount=Decimal("1.10"))),
        Verdict(True, ["a", "b"]),
        Tree(name="a", children=[Tree(name="b")]),
    ],
)
def test_an_object_of_a_real_type_comes_back(value: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(type(value))
    plain = adapter.dump_python(value, mode="json")
    assert adapter.validate_python(sent(filled_form(node_of(json_schema(type(value))), plain), {})) == value


def test_nothing_in_a_schema_or_a_value_is_more_than_text_on_the_page() -> None:
    evil = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'{{7*7}}{%raw%}"
    schema = {
        "type": "object",
        "title": evil,
        "description": evil,
        "properties": {
            evil: {"type": "string", "title": evil},
            "b": {"enum": [evil, "c"]},
            "c": {"type": "array", "items": {"type": "string"}},
        },
        "required": [evil, "b", "c"],
    }
    value = {evil: evil, "b": evil, "c": [evil]}
    shown = filled_form(node_of(schema), value)
    html = html_of(shown)
    assert "<script" not in html
    assert "<img" not in html
    assert "49" not in html
    assert sent(shown, {}) == value
