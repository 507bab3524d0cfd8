"""Every type of response against every kind of JSON: what it becomes, or that it is refused, and what MAF says."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from agent_framework import Content, Message, WorkflowEvent
from agent_framework._workflows._workflow import _coerce_request_info_response as mafs_own
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.values import CoercionError, coerce_response

DAY = datetime.date(2024, 1, 2)
MORNING = datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)


class Colour(enum.Enum):
    RED = "red"
    ONE = 1


class Verdict(str, enum.Enum):
    RED = "red"


class Model(pydantic.BaseModel):
    name: str
    size: int = 1


@dataclasses.dataclass
class Data:
    name: str
    size: int = 1


@dataclasses.dataclass
class Mixed:
    """Of what only Pydantic knows, and what only MAF knows."""

    day: datetime.date
    colour: Colour | None
    remarks: list[Content]
    remark: Content | None = None


class Struct(msgspec.Struct):
    name: str
    size: int = 1


NAMED = {"name": "x"}
TEXT = {"type": "text", "text": "hi"}
USER = {"role": "user", "contents": ["hi"]}
MIXED = {"day": "2024-01-02", "colour": "red", "remarks": [TEXT], "remark": TEXT}

POOL: list[Any] = [
    None, True, False, 0, 1, -2, 1.5, 10**30, "", "123", "true", "null", '{"name": "x"}', "red", "2024-01-02",
    "2024-01-02T03:04:00Z", "PT1H", "00000000-0000-0000-0000-000000000005", [], [1, 2], ["red"], [True], [1, "red"],
    [None], ["2024-01-02"], [NAMED], [[1]], {}, NAMED, {"name": "x", "size": 2}, {"name": 1}, {"nam": "x"}, TEXT, USER,
    MIXED, {"approved": True}, {"$": "pickle", "type": "builtins:str", "data": "gASVBQAAAAAAAACMAWGULg=="},
    {"__pickled__": "gASVBQAAAAAAAACMAWGULg==", "__type__": "builtins:str"}, {"__type__": "Model", "name": "x"},
]  # fmt: skip

STRINGS = [one for one in POOL if isinstance(one, str)]
DICTS = [one for one in POOL if isinstance(one, dict)]
LISTS = [one for one in POOL if isinstance(one, list)]
INTS = [one for one in POOL if type(one) is int]


def unchanged(*accepted: Any) -> list[tuple[Any, Any]]:
    return [(one, one) for one in accepted]


MODELS = [one for one in DICTS if isinstance(one.get("name"), str)]  # of unknown fields a model knows nothing

# Of each type, what of the pool it takes, and what that becomes. All else is refused.
TAKES: list[tuple[Any, list[tuple[Any, Any]]]] = [
    (str, unchanged(*STRINGS)),
    (bool, unchanged(True, False)),
    (int, unchanged(*INTS)),
    (float, [(1.5, 1.5), *((one, float(one)) for one in INTS)]),
    (type(None), unchanged(None)),
    (int | None, unchanged(None, *INTS)),
    (int | bool, unchanged(True, False, *INTS)),
    (int | str, unchanged(*INTS, *STRINGS)),
    (float | str, [(1.5, 1.5), *((one, float(one)) for one in INTS), *unchanged(*STRINGS)]),
    (bool | None, unchanged(True, False, None)),
    (Literal["red", 1], unchanged("red", 1)),
    (dict, unchanged(*DICTS)),
    (list, unchanged(*LISTS)),
    (list[int], unchanged([], [1, 2])),
    (list[int | str], unchanged([], [1, 2], ["red"], [1, "red"], ["2024-01-02"])),
    (list[float], [([], []), ([1, 2], [1.0, 2.0])]),
    (tuple[int, str], [([1, "red"], (1, "red"))]),
    (set[str], [([], set()), (["red"], {"red"}), (["2024-01-02"], {"2024-01-02"})]),
    (dict[str, str], unchanged({}, NAMED, {"nam": "x"}, TEXT, *POOL[-3:])),
    (Colour, [("red", Colour.RED), (1, Colour.ONE)]),
    (Verdict, [("red", Verdict.RED)]),
    (Colour | None, [("red", Colour.RED), (1, Colour.ONE), (None, None)]),
    (list[Verdict], [([], []), (["red"], [Verdict.RED])]),
    (datetime.date, [("2024-01-02", DAY)]),
    (datetime.datetime, [
        ("2024-01-02T03:04:00Z", MORNING),
        ("123", datetime.datetime(1970, 1, 1, 0, 2, 3, tzinfo=datetime.timezone.utc)),  # Pydantic: digits are seconds
    ]),
    (list[datetime.date], [([], []), (["2024-01-02"], [DAY])]),
    (datetime.timedelta, [("PT1H", datetime.timedelta(hours=1))]),
    (uuid.UUID, [("00000000-0000-0000-0000-000000000005", uuid.UUID(int=5))]),
    (decimal.Decimal, [(one, decimal.Decimal(str(one))) for one in (*INTS, 1.5, "123")]),
    (Annotated[int, pydantic.Field(gt=0)], unchanged(1, 10**30)),
    (Model, [(one, Model.model_validate(one)) for one in MODELS]),
    (Data, [(NAMED, Data("x")), ({"name": "x", "size": 2}, Data("x", 2))]),
    (Struct, [(one, msgspec.convert(one, Struct)) for one in MODELS]),
    (Model | None, [(None, None), *((one, Model.model_validate(one)) for one in MODELS)]),
    (list[Data], [([], []), ([NAMED], [Data("x")])]),
    (Content, [(TEXT, Content.from_text("hi")), *((one, Content.from_text(one)) for one in STRINGS)]),
    (Message, [(USER, Message("user", ["hi"]))]),
    (Mixed, [(MIXED, Mixed(DAY, Colour.RED, [Content.from_text("hi")], Content.from_text("hi")))]),
    (Any, unchanged(*POOL)),
]  # fmt: skip


def request(response_type: Any) -> WorkflowEvent[Any]:
    return WorkflowEvent.request_info("q1", "asker", "?", response_type)


@pytest.mark.parametrize(("response_type", "takes"), TAKES, ids=[str(one) for one, _ in TAKES])
def test_a_type_takes_these_of_all_json_and_refuses_the_rest(response_type: Any, takes: list[tuple[Any, Any]]) -> None:
    became = [(data, coerced(data, response_type)) for data in POOL]

    assert [(data, seen(value)) for data, value in became if value is not REFUSED] == [
        (data, seen(next(value for given, value in takes if same(given, data))))
        for data in POOL
        if any(same(given, data) for given, _ in takes)
    ]


@pytest.mark.parametrize("response_type", [one for one, _ in TAKES], ids=str)
def test_what_maf_takes_in_process_becomes_the_same(response_type: Any) -> None:
    for data in POOL:
        theirs, ours = in_process(data, response_type), coerced(data, response_type)
        if theirs is not REFUSED and not boolean_for_int(data, response_type):
            assert seen(ours) == seen(theirs), data


# --- of any type, drawn ------------------------------------------------------------------------------------


@dataclasses.dataclass
class Leaf:
    value: int | str


@dataclasses.dataclass
class Branch:
    children: list[Branch | Leaf] = dataclasses.field(default_factory=list)
    value: float | None = None
    by_name: dict[str, Leaf] = dataclasses.field(default_factory=dict)


SCALARS = st.none() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "1"])
KEYS = st.sampled_from(["children", "value", "by_name", "a"])
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)
TYPES = st.recursive(
    st.sampled_from([int, float, str, bool, type(None), Leaf, Branch, Any]),
    lambda inner: (
        st.builds(lambda one: list[one], inner)
        | st.builds(lambda one: set[one], inner)
        | st.builds(lambda one, other: tuple[one, other], inner, inner)
        | st.builds(lambda one: tuple[one, ...], inner)
        | st.builds(lambda one: dict[str, one], inner)
        | st.builds(lambda one, other: one | other, inner, inner)
    ),
    max_leaves=4,
)


@given(JSON, TYPES)
def test_whatever_maf_takes_for_any_type_becomes_the_same(data: Any, response_type: Any) -> None:
    theirs, ours = in_process(data, response_type), coerced(data, response_type)

    if theirs is not REFUSED:
        assert seen(ours) == seen(theirs)


# --- one of two classes at each level ----------------------------------------------------------------------


@dataclasses.dataclass
class Plus:
    left: Plus | Times | int
    kind: Literal["+"]


@dataclasses.dataclass
class Times:
    left: Plus | Times | int
    kind: Literal["*"]


class PlusModel(pydantic.BaseModel):
    left: PlusModel | TimesModel | int
    kind: Literal["+"]


class TimesModel(pydantic.BaseModel):
    left: PlusModel | TimesModel | int
    kind: Literal["*"]


class Told(pydantic.BaseModel):
    """Of a union whose members are told apart by a field."""

    left: Annotated[Told | Other, pydantic.Field(discriminator="kind")] | int
    kind: Literal["*"]


class Other(pydantic.BaseModel):
    left: Annotated[Told | Other, pydantic.Field(discriminator="kind")] | int
    kind: Literal["+"]


def nested(depth: int, kind: str) -> Any:
    data: Any = 1
    for _ in range(depth):
        data = {"left": data, "kind": kind}
    return data


def test_an_answer_of_a_recursive_type_is_taken() -> None:
    value = coerced(nested(5, "*"), Plus | Times)

    assert isinstance(value, Times)
    assert isinstance(value.left, Times)


@pytest.mark.parametrize("kind", ["*", "?"])
@pytest.mark.parametrize("response_type", [Plus | Times, PlusModel | TimesModel], ids=["dataclass", "model"])
def test_a_deep_answer_that_could_be_many_things_at_each_level_is_refused_at_once(
    response_type: Any, kind: str
) -> None:
    with pytest.raises(CoercionError, match="the response to request q1 is nested too deeply"):
        coerce_response(nested(100, kind), request(response_type))


def test_a_deep_answer_that_says_what_it_is_is_taken() -> None:
    assert isinstance(coerced(nested(50, "*"), Told), Told)


REFUSED = object()


def coerced(data: Any, response_type: Any) -> Any:
    try:
        return coerce_response(data, request(response_type))
    except CoercionError:
        return REFUSED


def in_process(data: Any, response_type: Any) -> Any:
    try:
        return mafs_own(data, response_type, "q1")
    except (TypeError, ValueError):  # TypeError of a type that it cannot check
        return REFUSED


def seen(value: Any) -> tuple[type, str, Any]:
    """Return what tells a value from others that are equal, such as 1, 1.0 and True."""
    told = repr(value) if value is None or isinstance(value, (int, float, list, tuple)) else ""
    return type(value), told, value.to_dict() if isinstance(value, Message) else value


def same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


def boolean_for_int(data: Any, response_type: Any) -> bool:
    """Whether MAF takes a boolean here because Python has it that booleans are ints."""
    return (data in (True, False) and type(data) is bool and response_type in (int, int | None, int | str)) or (
        data == [True] and response_type in (list[int], list[int | str])
    )
