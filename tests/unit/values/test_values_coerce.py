"""JSON from people becomes what executors accept, or an error that says what they do."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import decimal
import enum
import uuid
from typing import Any, Literal

import pydantic
import pytest
from agent_framework import Content, Message, WorkflowEvent
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.values import CoercionError, EncodeError, coerce_json, coerce_response, to_plain_json
from tests.unit.values import samples
from tests.unit.values.samples import Colour, Frozen, Line, Note, Order, Plain, Strict

DAY = datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)


def request(response_type: Any, data: Any = "?") -> WorkflowEvent[Any]:
    return WorkflowEvent.request_info("q1", "asker", data, response_type)


@dataclasses.dataclass
class Booking:
    day: datetime.date
    seats: int = 1


@pytest.mark.parametrize(
    ("data", "types", "expected"),
    [
        ("hi", [str], "hi"),
        ("123", [int, str], "123"),
        (3, [float, int], 3),
        (3, [float], 3.0),
        ({"a": 1}, [Line, dict], {"a": 1}),
        ({"name": "x"}, [Line], Line(name="x")),
        ({"name": "x", "when": "2024-01-02T03:04:00Z"}, [Line], Line(name="x", when=DAY)),
        ({"code": "x"}, [Line, Strict], Strict(code="x")),
        ({"day": "2024-01-02"}, [Booking], Booking(datetime.date(2024, 1, 2))),
        ({"a": 1}, [Frozen], Frozen(1)),
        ("red", [Colour], Colour.RED),
        ("2024-01-02T03:04:00Z", [datetime.datetime], DAY),
        ([1, 2], [list[int]], [1, 2]),
        (["red"], [list[Colour]], [Colour.RED]),
        ([1, 2], [tuple[int, int]], (1, 2)),
        (None, [str | None], None),
        ("a", [Literal["a", "b"]], "a"),
        ({"x": 1}, [Any], {"x": 1}),
        ({"name": "x"}, [Any, Line], Line(name="x")),
        (True, [bool, int], True),
        (True, [object], True),
    ],
)
def test_json_becomes_the_first_type_that_fits(data: Any, types: list[Any], expected: Any) -> None:
    value = coerce_json(data, types)

    assert (value, type(value)) == (expected, type(expected))


def test_json_becomes_messages_by_mafs_own_rules() -> None:
    data = {"role": "user", "contents": [{"type": "text", "text": "hi"}]}

    assert coerce_json(data, [str, Message]).text == "hi"
    assert coerce_json([data], [str, list[Message]])[0].text == "hi"


@pytest.mark.parametrize(
    ("data", "types"),
    [
        ("123", [int]),
        (1, [str]),
        (True, [int]),
        ([True], [list[int]]),
        ({"k": True}, [dict[str, int]]),
        (1.5, [int]),
        ("yellow", [Colour]),
        ({"code": "forbidden"}, [Strict]),
        ({"unknown": 1}, [Line, Booking]),
        (None, [str]),
        ("x", []),
    ],
)
def test_json_that_fits_nothing_is_refused(data: Any, types: list[Any]) -> None:
    with pytest.raises(CoercionError):
        coerce_json(data, types)


def test_the_refusal_names_what_is_accepted_and_what_came() -> None:
    with pytest.raises(CoercionError) as caught:
        coerce_json({"nam": "x"}, [Strict, str, list[Message]])

    message = str(caught.value)
    assert message.startswith('the JSON object {"nam": "x"} is none of the accepted types: ')
    assert 'samples:Strict (JSON schema: {"properties": {"code"' in message
    assert ", str, list[agent_framework:Message]" in message


@pytest.mark.parametrize(
    ("data", "response_type", "expected"),
    [
        ("123", str, "123"),
        ("true", str, "true"),
        (True, bool, True),
        (5, int, 5),
        (5, float, 5.0),
        ({"name": "x"}, Line, Line(name="x")),
        ({"text": "x"}, Note, Note("x")),
        ("green", Colour, Colour.GREEN),
        (2, samples.Level, samples.Level.HIGH),
        ("2024-01-02T03:04:00Z", datetime.datetime, DAY),
        ("12.50", decimal.Decimal, decimal.Decimal("12.50")),
        ("00000000-0000-0000-0000-000000000005", uuid.UUID, uuid.UUID(int=5)),
        ([["2024-01-02"]], list[list[datetime.date]], [[datetime.date(2024, 1, 2)]]),
        ({"a": ["red"]}, dict[str, list[Colour]], {"a": [Colour.RED]}),
        (True, int | bool, True),
        (None, str | None, None),
        ({"anything": 1}, Any, {"anything": 1}),
    ],
)
def test_a_response_becomes_its_type(data: Any, response_type: Any, expected: Any) -> None:
    value = coerce_response(data, request(response_type))

    assert (value, type(value)) == (expected, type(expected))


def test_a_string_answers_a_request_for_content() -> None:
    assert coerce_response("hi", request(Content)) == Content.from_text("hi")


@pytest.mark.parametrize(
    ("data", "response_type"),
    [
        ("123", int),
        (123, str),
        (True, int),
        (True, float),
        ("yes", bool),
        (1, bool),
        ([True], list[int]),
        ("purple", Colour),
        ({"nam": 1}, Line),
        (None, str),
        ({"$": "pickle", "type": "x", "data": ""}, Line),
    ],
)
def test_an_ill_typed_response_is_refused_with_the_request_and_the_type(data: Any, response_type: Any) -> None:
    with pytest.raises(CoercionError, match=r"^the response to request q1 must be "):
        coerce_response(data, request(response_type))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TARGETS = st.sampled_from([str, int, float, bool, Line, Note, Colour, list[int], dict[str, int], Message, Any, Order])


@given(JSON, st.lists(TARGETS, max_size=3))
def test_coercion_of_arbitrary_json_raises_nothing_but_its_own_error(data: Any, types: list[Any]) -> None:
    with contextlib.suppress(CoercionError):
        coerce_json(data, types)
    for response_type in types:
        with contextlib.suppress(CoercionError):
            coerce_response(data, request(response_type))


class Size(enum.Enum):
    S = 1


@pytest.mark.parametrize(
    ("value", "response_type"),
    [
        (Line(name="a", when=DAY), Line),
        (Booking(datetime.date(2024, 1, 2)), Booking),
        (Size.S, Size),
        (DAY, datetime.datetime),
        (datetime.timedelta(hours=1.5), datetime.timedelta),
        (decimal.Decimal("1.10"), decimal.Decimal),
        (uuid.UUID(int=7), uuid.UUID),
        ([Line(name="a")], list[Line]),
        ({"k": (Size.S,)}, dict[str, tuple[Size, ...]]),
        (None, str | None),
        (samples.Struct(1, [2]), samples.Struct),
    ],
)
def test_plain_json_of_an_object_is_coerced_back_to_it(value: Any, response_type: Any) -> None:
    plain = to_plain_json(value)

    if response_type is samples.Struct:
        assert plain == {"a": 1, "b": [2]}
    else:
        assert coerce_response(plain, request(response_type)) == value


def test_plain_json_of_mafs_objects_is_what_they_say_it_is() -> None:
    content = Content.from_function_approval_request(
        id="a", function_call=Content.from_function_call(call_id="c", name="f", arguments={})
    ).to_function_approval_response(approved=True)

    assert coerce_response(to_plain_json(content), request(Content)) == content
    assert to_plain_json([Message("user", ["hi"])])[0]["role"] == "user"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [Plain(1)]}, r"\['a'\]\[0\]: type tests\.unit\.values\.samples:Plain has no plain JSON form"),
        (float("nan"), "JSON has no number nan"),
        (Line, "class .*Line has no plain JSON form"),
        (lambda: None, "type function has no plain JSON form"),
        ({(1, 2): 3}, "Use strings for keys"),
    ],
)
def test_what_has_no_plain_form_is_refused_by_name(value: Any, message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        to_plain_json(value)


def test_a_cycle_has_no_plain_form() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)

    with pytest.raises(EncodeError, match="cycle"):
        to_plain_json(cyclic)


def test_a_model_that_cannot_be_dumped_is_an_error_of_ours() -> None:
    class Holder(pydantic.BaseModel):
        value: Any

    with pytest.raises(EncodeError, match="Holder has no plain JSON form"):
        to_plain_json(Holder(value=object()))
