"""JSON from people and from other languages to objects of a declared type, by MAF's own rules first.

Never rebuilds anything from tagged JSON: what comes in is data, and becomes what validation makes of it.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Union, cast, get_args, get_origin

import msgspec
import pydantic
from agent_framework import Content, WorkflowEvent

from temporal_adapter import maf
from temporal_adapter.wire import encodable
from temporal_adapter.wire.tags import type_text

from .alternatives import too_many_tries
from .errors import CoercionError, EncodeError
from .json_schemas import asks_for_approval, json_schema, response_schema
from .typenames import encode_type, type_name

_SHOWN_DATA = 400  # characters of what came that a message may hold
_SHOWN_INPUT_SCHEMA = 400  # of the JSON schema of one of the types of an input
_SHOWN_SCHEMA = 1000  # of the JSON schema of a response
_SHOWN_FAULTS, _SHOWN_FAULT = 5, 200  # of a validation error: faults, and characters of each
_UNCHECKED: tuple[Any, ...] = (Any, object)
_NO = object()  # the data does not fit


def coerce_json(data: Any, types: Sequence[Any]) -> Any:
    """Return JSON as an object of the first type that fits.

    Data that is an instance of one of the types already stays as it is, as MAF would take it. Otherwise MAF's own
    coercion is tried with each type in order, then Pydantic's strict validation of JSON (for enums, dates, UUIDs and
    what holds them). `Any` and `object` come last. A JSON boolean is not taken for an `int`.

    Args:
        data: JSON: dicts, lists and scalars.
        types: The input types of the start executor.

    Raises:
        CoercionError: No type fits. The message names the accepted types and what came.
    """
    checked = [one for one in types if one not in _UNCHECKED and not too_many_tries(data, one)]
    for expression in checked:
        if _fits(data, expression):
            return data
    for coerced in (_by_mafs_rules, _validated):
        for expression in checked:
            value = coerced(data, expression)
            if value is not _NO:
                return value
    if any(one in _UNCHECKED for one in types):
        return data
    faults = _faults(data, checked)
    accepted = f"{faults}. Accepted: {_accepted(types)}." if faults else f"{_accepted(types)}."
    raise CoercionError(encodable(f"{_describe(data)} is none of the accepted types: {accepted}"))


def coerce_response(data: Any, request: WorkflowEvent[Any]) -> Any:
    """Return the JSON of a response as an object of the request's response type.

    MAF's rules come first: a `str` stays the string it is, `"123"` is not an `int`, a text answers a request for
    `Content`. What they do not know (enums, dates, decimals, UUIDs and what holds them) Pydantic's strict validation
    of JSON may accept, and what neither knows as a whole is tried part by part. A JSON boolean is not taken for an
    `int`. True or false answers a tool call that waits for approval.

    Args:
        data: JSON: dicts, lists and scalars.
        request: The `request_info` event.

    Raises:
        CoercionError: It does not fit. The message names the request, the type with its JSON schema, and what came.
    """
    if asks_for_approval(request) and type(data) is bool:
        return request.data.to_function_approval_response(data)
    if too_many_tries(data, request.response_type):
        raise CoercionError(
            f"the response to request {request.request_id} is nested too deeply for {_expected(request)}, in which "
            "there are several classes that it could be at each level."
        )
    for coerced in (_by_mafs_rules, _validated):
        value = coerced(data, request.response_type)
        if value is not _NO:
            _check_computer_call(value, request)
            return value
    faults = _faults(data, [request.response_type])
    raise CoercionError(
        encodable(
            f"the response to request {request.request_id} must be {_expected(request)}; "
            f"{_describe(data)} is not{f': {faults}' if faults else ''}.{_response_schema(request)}"
        )
    )


def expression_text(expression: Any) -> str:
    """Return a type expression as people write it: `list[app:Report] | None`."""
    try:
        return type_text(encode_type(expression, type_name, repr))
    except EncodeError:
        return repr(expression)


# --- rules --------------------------------------------------------------------------------------------------


def _by_mafs_rules(data: Any, expression: Any) -> Any:
    if expression is Content and isinstance(data, str):
        return Content.from_text(data)
    try:
        value = maf.try_coerce_to_type(data, expression)
    except Exception:  # of what users' classes do
        return _NO
    return value if _fits(value, expression) and not _bool_for_int(data, expression) else _NO


def _validated(data: Any, expression: Any) -> Any:
    """Return what Pydantic makes of the whole or, where it does not know all of the type, of its parts."""
    value = _valid(data, expression)
    return _taken_apart(data, expression) if value is _NO else value


def _by_any_rules(data: Any, expression: Any) -> Any:
    value = _by_mafs_rules(data, expression)
    return _validated(data, expression) if value is _NO else value


def _valid(data: Any, expression: Any) -> Any:
    try:
        if isinstance(expression, type) and issubclass(expression, msgspec.Struct):
            return msgspec.convert(data, expression)
        [value] = _adapter(expression).validate_json(json.dumps([data]), strict=True)
    except Exception:  # of building a schema, of validation, and of validators that users wrote
        return _NO
    became = value.value if isinstance(value, enum.Enum) else value
    return _NO if isinstance(data, bool) and type(became) in (int, float) else value


def _adapter(expression: Any) -> pydantic.TypeAdapter[list[Any]]:
    """Return what validates a list of one such object."""
    try:
        return _kept_adapter(expression)
    except TypeError:  # it cannot be hashed
        return _kept_adapter.__wrapped__(expression)


@functools.lru_cache(maxsize=256)  # building one takes longer than what it is used for
def _kept_adapter(expression: Any) -> pydantic.TypeAdapter[list[Any]]:
    # Of a dataclass, MAF takes no fields that it does not have. It inherits the setting from what is around it.
    return pydantic.TypeAdapter(cast("Any", list)[expression], config=pydantic.ConfigDict(extra="forbid"))


def _taken_apart(data: Any, expression: Any) -> Any:
    origin, args = get_origin(expression), get_args(expression)
    if origin is Union or origin is types.UnionType:
        members = (_by_any_rules(data, member) for member in args)
        return next((value for value in members if value is not _NO), _NO)
    if isinstance(data, list) and origin in (list, set, frozenset, tuple) and args:
        return _sequence(cast("list[Any]", data), cast("type[Any]", origin), args)
    if isinstance(data, dict) and origin is dict and len(args) == 2:
        given = cast("dict[str, Any]", data)
        values = {key: _by_any_rules(value, args[1]) for key, value in given.items()}
        return values if args[0] is str and not any(value is _NO for value in values.values()) else _NO
    if isinstance(data, dict) and isinstance(expression, type) and dataclasses.is_dataclass(expression):
        return _dataclass(cast("dict[str, Any]", data), expression)
    return _NO


def _sequence(data: list[Any], origin: type[Any], args: tuple[Any, ...]) -> Any:
    if origin is not tuple or (len(args) == 2 and args[1] is Ellipsis):
        args = (args[0],) * len(data)
    if len(args) != len(data):
        return _NO
    items = [_by_any_rules(item, arg) for item, arg in zip(data, args, strict=True)]
    try:
        return _NO if any(item is _NO for item in items) else cast("Any", origin(items))
    except TypeError:  # an item of a set that cannot be hashed
        return _NO


def _dataclass(data: dict[str, Any], cls: type[Any]) -> Any:
    """As MAF's `_coerce_dict_to_dataclass`, with all rules for the fields."""
    try:
        annotations = typing.get_type_hints(cls)
    except Exception:
        return _NO
    known = {field.name: annotations.get(field.name, Any) for field in dataclasses.fields(cls) if field.init}
    if not data.keys() <= known.keys():
        return _NO
    fields = {name: _by_any_rules(value, known[name]) for name, value in data.items()}
    try:
        return _NO if any(value is _NO for value in fields.values()) else cls(**fields)
    except Exception:  # of what users' classes do
        return _NO


def _fits(value: Any, expression: Any) -> bool:
    try:
        return maf.is_instance_of(value, expression) and not _bool_for_int(value, expression)
    except TypeError:  # an expression that MAF cannot check
        return False


def _bool_for_int(data: Any, expression: Any) -> bool:
    """Whether data that fits does so by a boolean where only an int may stand: in Python it is one, in JSON not."""
    origin, args = get_origin(expression), get_args(expression)
    if origin is Union or origin is types.UnionType:
        return not any(_fits(data, member) for member in args)
    if isinstance(data, bool):
        return expression is int
    if isinstance(data, list) and origin in (list, set) and args:
        return any(_bool_for_int(item, args[0]) for item in cast("list[Any]", data))
    if isinstance(data, dict) and origin is dict and len(args) == 2:
        return any(_bool_for_int(item, args[1]) for item in cast("dict[str, Any]", data).values())
    return False


# --- words --------------------------------------------------------------------------------------------------


def _check_computer_call(value: Any, request: WorkflowEvent[Any]) -> None:
    """As MAF does when it takes responses: a computer's result is that of the call, with its safety checks."""
    if not isinstance(request.data, Content) or request.data.type != "computer_tool_call":
        return
    try:
        maf.validate_computer_tool_result(request.data, value)
    except Exception as error:  # MAF's own, or of a response of another type
        raise CoercionError(encodable(f"the response to request {request.request_id} is refused: {error}")) from error


def _expected(request: WorkflowEvent[Any]) -> str:
    expected = _cut(expression_text(request.response_type), _SHOWN_DATA)
    return f"true or false, or {expected}" if asks_for_approval(request) else expected


def _response_schema(request: WorkflowEvent[Any]) -> str:
    schema = response_schema(request)
    if schema is None:
        return ""
    text = json.dumps(schema)
    shown = text if len(text) <= _SHOWN_SCHEMA else "see the query 'pending_requests'"
    return f" Its JSON schema: {shown}"


def _faults(data: Any, expressions: Sequence[Any]) -> str:
    """Return what validation finds wrong, field by field, when there is one type with fields that the data could be."""
    if len(expressions) != 1 or not isinstance(data, dict):
        return ""
    try:
        _adapter(expressions[0]).validate_json(json.dumps([data]), strict=True)
    except pydantic.ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)[:_SHOWN_FAULTS]
        places = [(".".join(map(str, one["loc"][1:])), one["msg"]) for one in errors]
        return "; ".join(_cut(f"{place}: {message}", _SHOWN_FAULT) for place, message in places if place)
    except Exception:  # of building a schema
        return ""
    return ""


def _describe(data: Any) -> str:
    text = _cut(json.dumps(data, ensure_ascii=False, default=repr), _SHOWN_DATA)
    if isinstance(data, Mapping):
        return f"the JSON object {text}"
    return f"the JSON value {text}"


def _accepted(expressions: Sequence[Any]) -> str:
    return ", ".join(f"{expression_text(expression)}{_input_schema(expression)}" for expression in expressions)


def _input_schema(expression: Any) -> str:
    """Return the JSON schema of a type in parentheses, when there is one worth reading."""
    if isinstance(expression, type) and expression.__module__ == "builtins":
        return ""
    schema = json_schema(expression)
    text = "" if schema is None else json.dumps(schema)
    return f" (JSON schema: {text})" if 0 < len(text) <= _SHOWN_INPUT_SCHEMA else ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}..."
