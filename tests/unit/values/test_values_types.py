"""Type expressions as JSON: the response types of requests."""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import typing
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar, Union

import pytest
from agent_framework import Content, Message

from temporal_adapter.values import Codec, DecodeError, EncodeError
from temporal_adapter.wire.tags import type_text
from tests.unit.values import samples
from tests.unit.values.samples import Box, Colour, Line

EXPRESSIONS = [
    (int, "int"),
    (type(None), "None"),
    (Any, "Any"),
    (object, "object"),
    (datetime.datetime, "datetime:datetime"),
    (decimal.Decimal, "decimal:Decimal"),
    (Line, "tests.unit.values.samples:Line"),
    (Message, "agent_framework:Message"),
    (list[int], "list[int]"),
    (list[Line], "list[tests.unit.values.samples:Line]"),
    (dict[str, list[int]], "dict[str, list[int]]"),
    (tuple[int, ...], "tuple[int, ...]"),
    (tuple[()], "tuple[]"),
    (int | None, "int | None"),
    (Optional[Line], "tests.unit.values.samples:Line | None"),  # noqa: UP045
    (list[int | str] | bool, "list[int | str] | bool"),
    (Literal["yes", 1, None], 'Literal["yes", 1, null]'),
    (Literal[Colour.RED], 'Literal["red"]'),
    (Literal["a"] | None, 'Literal["a"] | None'),
    (collections.abc.Sequence[Content], "collections.abc:Sequence[agent_framework:Content]"),
    (collections.abc.Callable[[int, str], bool], "collections.abc:Callable[[int, str], bool]"),
    (type[Line], "type[tests.unit.values.samples:Line]"),
    (Box[int], "tests.unit.values.samples:Box[int]"),
    (Box[list[Line]], "tests.unit.values.samples:Box[list[tests.unit.values.samples:Line]]"),
]
T = TypeVar("T")
Bound = TypeVar("Bound", bound=Line)
UserId = NewType("UserId", int)


@pytest.mark.parametrize(("expression", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_a_type_expression_survives_and_reads_like_python(codec: Codec, expression: Any, text: str) -> None:
    encoded = codec.encode_type(expression)

    assert codec.decode_type(encoded) == expression
    assert type_text(encoded) == text
    assert codec.decode(codec.encode([expression])) == [expression]


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        (typing.List[int], list[int]),  # noqa: UP006
        (typing.Dict, dict),  # noqa: UP006
        (Union[int, str], int | str),  # noqa: UP007
        (Annotated[int, "positive"], int),
        (UserId, int),
        (T, Any),
        (Bound, Line),
    ],
)
def test_different_spellings_become_one(codec: Codec, expression: Any, same: Any) -> None:
    assert codec.decode_type(codec.encode_type(expression)) == same


@pytest.mark.parametrize("expression", [samples.Unknown, list[samples.Unknown], int | samples.Unknown, 5, "Line"])
def test_an_expression_with_an_untrusted_class_or_no_type_is_refused(codec: Codec, expression: Any) -> None:
    with pytest.raises(EncodeError):
        codec.encode_type(expression)


@pytest.mark.parametrize(
    "data",
    [
        None,
        1,
        [],
        {},
        "Line",
        "os:system",
        "tests.unit.values.samples:Unknown",
        {"union": []},
        {"literal": []},
        {"generic": "int", "args": ["str"]},
        {"generic": ["list"], "args": ["str"]},
        {"generic": "list"},
        {"generic": "tests.unit.values.samples:Line", "args": ["int"]},
    ],
)
def test_other_json_is_refused(codec: Codec, data: Any) -> None:
    with pytest.raises(DecodeError):
        codec.decode_type(data)
