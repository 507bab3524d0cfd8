"""Python objects of a client to plain JSON, for a response: the other side coerces it to the response type."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import uuid
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, cast

import msgspec
import pydantic

from .errors import EncodeError
from .trust import is_maf_module
from .typenames import module_name, type_name
from .walk import MAX_DEPTH

_AS_TEXT = (decimal.Decimal, uuid.UUID, pathlib.PurePath)


def to_plain_json(obj: Any) -> Any:
    """Return an object as plain JSON, in the form that Pydantic's strict validation of JSON accepts for its type.

    Models and dataclasses become their fields, enum members their values, dates ISO 8601, MAF's objects what their
    `to_dict` returns.

    Raises:
        EncodeError: It, or something in it, has no plain form. The message names the attribute path and the type.
    """
    return _plain(obj, 0)


def _plain(obj: Any, depth: int) -> Any:
    if obj is None or type(obj) in (bool, int, str):
        return obj
    if depth > MAX_DEPTH:
        raise EncodeError(f"more than {MAX_DEPTH} levels of nesting, or a cycle, has no plain JSON form.")
    if isinstance(obj, type):
        raise EncodeError(f"class {type_name(cast('type[Any]', obj))} has no plain JSON form. Pass an instance.")
    if isinstance(obj, enum.Enum):
        return _plain(obj.value, depth + 1)
    if isinstance(obj, float):
        if not math.isfinite(obj):
            raise EncodeError(f"JSON has no number {obj}. Send None, or a string.")
        return float(obj)
    if isinstance(obj, (int, str)):
        return int(obj) if isinstance(obj, int) else str(obj)
    return _plain_scalar(obj) if isinstance(obj, _SCALARS) else _plain_compound(obj, depth)


def _plain_scalar(obj: Any) -> str:
    if isinstance(obj, (datetime.datetime, datetime.date, datetime.time)):
        return obj.isoformat()
    if isinstance(obj, datetime.timedelta):
        return cast("str", pydantic.TypeAdapter(datetime.timedelta).dump_python(obj, mode="json"))
    if isinstance(obj, (bytes, bytearray)):
        return base64.b64encode(obj).decode("ascii")
    return str(obj)


_SCALARS = (datetime.date, datetime.time, datetime.timedelta, bytes, bytearray, *_AS_TEXT)


def _plain_compound(obj: Any, depth: int) -> Any:
    cls = cast("type[Any]", type(obj))
    if isinstance(obj, pydantic.BaseModel):
        return _dumped(cls, lambda: obj.model_dump(mode="json"))
    if isinstance(obj, msgspec.Struct):
        return _dumped(cls, lambda: msgspec.to_builtins(obj))
    if is_maf_module(module_name(cls)) and callable(getattr(obj, "to_dict", None)):
        return _plain(_dumped(cls, obj.to_dict), depth + 1)
    if dataclasses.is_dataclass(obj):
        return {
            field.name: _part(getattr(obj, field.name), f".{field.name}", depth) for field in dataclasses.fields(obj)
        }
    if isinstance(obj, Mapping):
        return {_key(key): _part(value, f"[{key!r}]", depth) for key, value in cast("Mapping[Any, Any]", obj).items()}
    if isinstance(obj, (Sequence, Set)):
        return [_part(value, f"[{index}]", depth) for index, value in enumerate(cast("Sequence[Any]", obj))]
    raise EncodeError(
        f"type {type_name(cls)} has no plain JSON form. Respond with JSON, a Pydantic model or a dataclass."
    )


def _part(value: Any, segment: str, depth: int) -> Any:
    try:
        return _plain(value, depth + 1)
    except EncodeError as error:
        error.within(segment)
        raise


def _dumped(cls: type[Any], dump: Callable[[], Any]) -> Any:
    try:
        return dump()
    except Exception as error:
        raise EncodeError(f"type {type_name(cls)} has no plain JSON form: {error}") from error


def _key(key: Any) -> str:
    plain = _plain(key, 0)
    if plain is None or isinstance(plain, (dict, list)):
        raise EncodeError("a dict key that is not a scalar has no plain JSON form. Use strings for keys.")
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return str(plain)
