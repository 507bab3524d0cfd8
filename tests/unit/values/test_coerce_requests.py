"""Requests that say more than a type of what answers them, and what people are told: schemas and refusals."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import warnings
from typing import Annotated, Any

import pydantic
import pytest
from agent_framework import Content, Message, WorkflowEvent

from temporal_adapter.values import CoercionError, client_codec, coerce_response, response_schema

CALL = Content.from_function_call(call_id="c1", name="pay", arguments={"amount": 5})
APPROVAL = Content.from_function_approval_request(id="a1", function_call=CALL)
COMPUTER = Content("computer_tool_call", id="p1", call_id="c2", pending_safety_checks=[{"id": "s1"}])


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Verdict(pydantic.BaseModel):
    """What a manager says."""

    ok: bool
    colour: Colour = Colour.RED


@dataclasses.dataclass
class Advice:
    messages: list[Message]
    remark: Content | None = None
    weight: float = float("nan")


class Unknown:
    """Of which there is no JSON."""


def request(response_type: Any, data: Any = "?") -> WorkflowEvent[Any]:
    return WorkflowEvent.request_info("q1", "asker", data, response_type)


# --- approvals of tool calls ---------------------------------------------------------------------------------


@pytest.mark.parametrize("approved", [True, False])
def test_true_or_false_answers_a_tool_call_that_waits_for_approval(approved: bool) -> None:
    value = coerce_response(approved, request(Content, APPROVAL))

    assert value == APPROVAL.to_function_approval_response(approved)
    assert value.approved is approved


def test_an_approval_may_come_as_maf_writes_it_or_as_text() -> None:
    response = APPROVAL.to_function_approval_response(True)

    assert coerce_response(response.to_dict(), request(Content, APPROVAL)) == response
    assert coerce_response("why?", request(Content, APPROVAL)) == Content.from_text("why?")


@pytest.mark.parametrize("response", [1, 0, None, [True], {"approved": True}])
def test_nothing_like_true_or_false_is_an_approval(response: Any) -> None:
    with pytest.raises(CoercionError, match=r"must be true or false, or agent_framework:Content; .* is not\."):
        coerce_response(response, request(Content, APPROVAL))


@pytest.mark.parametrize(
    "other",
    [request(Content, Content.from_text("hi")), request(bool, APPROVAL), request(Any, APPROVAL), request(Content)],
    ids=["another content", "of a bool", "of anything", "no content"],
)
def test_of_any_other_request_true_is_just_true(other: WorkflowEvent[Any]) -> None:
    if other.response_type is Content:
        with pytest.raises(CoercionError):
            coerce_response(True, other)
    else:
        assert coerce_response(True, other) is True


# --- results of computer calls -------------------------------------------------------------------------------


def test_the_result_of_a_computer_call_is_taken_with_its_safety_checks() -> None:
    result = {"type": "computer_tool_result", "call_id": "c2", "acknowledged_safety_checks": [{"id": "s1"}]}

    assert coerce_response(result, request(Content, COMPUTER)).call_id == "c2"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"type": "computer_tool_result", "call_id": "c3"}, "must match its pending computer call"),
        ({"type": "computer_tool_result", "call_id": "c2"}, "acknowledge exactly the pending safety checks"),
        ("done", "must match its pending computer call"),
    ],
)
def test_another_result_is_refused_as_by_maf(result: Any, reason: str) -> None:
    with pytest.raises(CoercionError, match=f"^the response to request q1 is refused: .*{reason}"):
        coerce_response(result, request(Content, COMPUTER))


# --- refusals ------------------------------------------------------------------------------------------------


def test_a_refusal_names_the_request_the_type_what_came_and_the_schema() -> None:
    with pytest.raises(CoercionError) as refused:
        coerce_response({"ok": "perhaps", "colour": "green"}, request(Verdict))

    text, schema = str(refused.value).split(" Its JSON schema: ")
    assert text == (
        f"the response to request q1 must be {__name__}:Verdict; "
        'the JSON object {"ok": "perhaps", "colour": "green"} is not: ok: Input should be a valid boolean; '
        "colour: Input should be 'red' or 'blue'."
    )
    assert json.loads(schema) == response_schema(request(Verdict))


def test_a_refusal_of_a_scalar_has_its_schema_too() -> None:
    with pytest.raises(CoercionError, match=r'must be bool; the JSON value "yes" .*schema: {"type": "boolean"}$'):
        coerce_response("yes", request(bool))


@pytest.mark.parametrize(
    "hostile",
    [
        "x" * 1_000_000,
        ["x"] * 100_000,
        {f"{'k' * 1000}{number}": "v" for number in range(1000)},
        {"ok": "\ud800", "\udfff": 1},
        10**4000,
        float("nan"),
    ],
    ids=["long text", "long list", "long keys", "surrogates", "long number", "nan"],
)
def test_a_refusal_is_short_and_can_be_sent_whatever_came(hostile: Any) -> None:
    with pytest.raises(CoercionError) as refused:
        coerce_response(hostile, request(Verdict))

    assert len(str(refused.value).encode()) < 4000


def test_a_refusal_does_not_repeat_a_long_schema() -> None:
    wide = pydantic.create_model("Wide", **{f"field_{number}": (int, ...) for number in range(100)})

    with pytest.raises(CoercionError, match=r"Its JSON schema: see the query 'pending_requests'$"):
        coerce_response("x", request(wide))


def test_a_dataclass_with_a_misspelt_field_is_refused_rather_than_losing_it() -> None:
    with pytest.raises(CoercionError, match="remrk: Unexpected keyword argument"):
        coerce_response({"day": "2024-01-02", "remrk": "x"}, request(Dated))


@dataclasses.dataclass
class Dated:
    day: datetime.date
    remark: str = ""


class Meeting(pydantic.BaseModel):
    at: datetime.datetime
    daily: datetime.time


@pytest.mark.parametrize("zone", ["Z", "+02:00", "-05:30"])
def test_times_that_pydantic_read_can_be_stored(zone: str) -> None:
    codec = client_codec()
    read = coerce_response({"at": f"2024-01-02T03:04:00{zone}", "daily": f"03:04:00{zone}"}, request(Meeting))

    at, daily, offset = codec.decode(codec.encode([read.at, read.daily, read.at.tzinfo], "response"))

    assert (at, daily, offset) == (read.at, read.daily, read.at.tzinfo)
    assert {type(one) for one in (at.tzinfo, daily.tzinfo, offset)} == {datetime.timezone}


# --- schemas -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response_type", "schema"),
    [
        (bool, {"type": "boolean"}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (Colour, {"title": "Colour", "type": "string", "enum": ["red", "blue"]}),
        (Any, {}),
        (object, {}),
        (Annotated[int, []], {"type": "integer"}),  # which cannot be hashed
    ],
    ids=str,
)
def test_a_response_type_has_a_schema(response_type: Any, schema: Any) -> None:
    assert response_schema(request(response_type)) == schema


def test_the_schema_of_a_model_is_pydantics() -> None:
    assert response_schema(request(Verdict)) == Verdict.model_json_schema()


def test_an_approval_is_true_or_false() -> None:
    assert response_schema(request(Content, APPROVAL)) == {"type": "boolean"}


def test_mafs_own_types_are_described_also_where_others_hold_them() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        content, message, advice = (response_schema(request(one)) for one in (Content, Message, Advice))

    assert content is not None
    assert message is not None
    assert advice is not None
    assert [one["type"] for one in content["anyOf"]] == ["string", "object"]
    assert message["required"] == ["role", "contents"]
    assert advice["required"] == ["messages"]
    assert advice["properties"]["messages"] == {"items": message, "title": "Messages", "type": "array"}
    assert "default" not in advice["properties"]["weight"]  # JSON has no number nan


def test_what_the_schema_of_content_and_messages_allows_is_taken() -> None:
    for response_type, data in [
        (Content, "hi"),
        (Content, {"type": "text", "text": "hi"}),
        (Message, {"role": "user", "contents": ["hi", {"type": "text", "text": "hi"}]}),
    ]:
        assert isinstance(coerce_response(data, request(response_type)), response_type)


class Broken(pydantic.BaseModel):
    value: int

    @classmethod
    def __get_pydantic_json_schema__(cls, *_: Any) -> Any:
        raise ZeroDivisionError


class Odd(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(json_schema_extra={"examples": [{1, 2}]})


LONG = enum.Enum("LONG", {f"member_{number}": "x" * 100 + str(number) for number in range(1000)})  # type: ignore[misc]


@pytest.mark.parametrize("response_type", [Unknown, list[Unknown], Broken, Odd, LONG, "no type"], ids=str)
def test_there_may_be_no_schema(response_type: Any) -> None:
    assert response_schema(request(response_type)) is None


def test_a_schema_is_the_callers_own() -> None:
    schema = response_schema(request(Verdict))
    assert schema is not None
    schema.clear()

    assert response_schema(request(Verdict)) == Verdict.model_json_schema()
