"""How deep JSON may be before finding its type takes for ever: the guard in front of coercion.

MAF and Pydantic try each class of a union with all that is below it. Where classes hold each other by unions, that
doubles the work with each level, and a small hostile answer would keep a worker busy for years.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Union, cast, get_args, get_origin

import pydantic

_MOST_TRIES = 1000


def too_many_tries(data: Any, expression: Any) -> bool:
    """Whether finding what data is could take more tries than there is time for."""
    try:
        each = _alternatives(expression)
    except TypeError:  # it cannot be hashed
        each = _alternatives.__wrapped__(expression)
    return each > 1 and each ** _levels(data) > _MOST_TRIES


@functools.lru_cache(maxsize=256)
def _alternatives(expression: Any) -> int:
    """Return the most classes that one of an expression's unions has, if any of its classes holds itself; else 1."""
    holds: dict[type, set[type]] = {}
    most = 1
    left: list[tuple[type | None, Any]] = [(None, expression)]
    while left:
        holder, part = left.pop()
        if isinstance(part, type) and _has_fields(part):
            if holder is not None:
                holds[holder].add(part)
            if part not in holds:
                holds[part] = set()
                left.extend((part, one) for one in _fields(part))
            continue
        members = get_args(part)
        if _tells_apart(part) and holder is not None and _is_model(holder):
            left.extend((holder, one) for one in get_args(members[0]))
            continue
        if get_origin(part) in (Union, types.UnionType):
            most = max(most, sum(_may_hold(one) for one in members))
        left.extend((holder, one) for one in members)
    return most if any(one in _reached(one, holds) for one in holds) else 1


def _tells_apart(expression: Any) -> bool:
    """Whether a field says which member of a union an object is, so that Pydantic tries no other."""
    given = get_args(expression)[1:] if get_origin(expression) is Annotated else ()
    return any(getattr(one, "discriminator", None) is not None for one in given)


def _has_fields(cls: Any) -> bool:
    return dataclasses.is_dataclass(cls) or typing.is_typeddict(cls) or _is_model(cls)


def _is_model(cls: Any) -> bool:
    return issubclass(cls, pydantic.BaseModel)


def _fields(cls: type) -> list[Any]:
    try:
        return list(typing.get_type_hints(cls, include_extras=True).values())
    except Exception:  # names that cannot be found
        return []


def _may_hold(expression: Any) -> bool:
    return (isinstance(expression, type) and _has_fields(expression)) or bool(get_args(expression))


def _reached(start: type, holds: dict[type, set[type]]) -> set[type]:
    seen: set[type] = set()
    left = list(holds[start])
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            left.extend(holds[one])
    return seen


def _levels(data: Any) -> int:
    """Return how many objects of JSON are in each other."""
    levels = 0
    level: list[Any] = [data]
    while level:
        levels += any(isinstance(one, dict) for one in level)
        level = [inner for one in level for inner in _inside(one)]
    return levels


def _inside(data: Any) -> Iterator[Any]:
    if isinstance(data, dict):
        yield from cast("dict[str, Any]", data).values()
    elif isinstance(data, list):
        yield from cast("list[Any]", data)
