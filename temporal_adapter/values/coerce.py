"""JSON from people and from other languages to objects of a declared type, by MAF's own rules first.

Never rebuilds anything from tagged JSON: what comes in is data, and becomes what validation makes of it.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, cast, get_args, get_origin

import pydantic

from temporal_adapter import maf
from temporal_adapter.wire.tags import type_text

from .errors import CoercionError, EncodeError
from .typenames import encode_type, type_name

_SHORT = 400  # characters of a JSON schema, or of the data, that a message may hold
_SHOWN_FAULTS = 5  # of a validation error
_UNCHECKED: tuple[Any, ...] = (Any, object)


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
    checked = [expression for expression in types if expression not in _UNCHECKED]
    for expression in checked:
        if _fits(data, expression):
            return data
    for expression in checked:
        value = maf.try_coerce_to_type(data, expression)
        if _fits(value, expression) and not _bool_for_int(data, expression):
            return value
    for expression in checked:
        valid, value = _validate(data, expression)
        if valid:
            return value
    if len(checked) < len(types):
        return data
    faults = _faults(data, checked)
    accepted = f"{faults}. Accepted: {_accepted(types)}." if faults else f"{_accepted(types)}."
    raise CoercionError(f"{_describe(data)} is none of the accepted types: {accepted}")


def coerce_response(data: Any, response_type: Any, request_id: str) -> Any:
    """Return the JSON of a response as an object of the request's response type.

    MAF's rules come first: a `str` stays the string it is, `"123"` is not an `int`. What they do not know (enums,
    dates, decimals, UUIDs and what holds them) Pydantic's strict validation of JSON may accept. A JSON boolean is
    not taken for an `int`.

    Raises:
        CoercionError: It does not fit. The message names the request, the type and what came.
    """
    try:
        value = maf.coerce_request_info_response(data, response_type, request_id)
    except Exception:  # MAF raises ValueError; a type it cannot check raises TypeError
        value = None
    else:
        if not _bool_for_int(data, response_type):
            return value
    valid, value = _validate(data, response_type)
    if valid:
        return value
    faults, schema = _faults(data, [response_type]), _schema(response_type)
    raise CoercionError(
        f"the response to request {request_id} must be {expression_text(response_type)}; "
        f"{f'{faults}; ' if faults else ''}{_describe(data)} is not.{schema}"
    )


def expression_text(expression: Any) -> str:
    """Return a type expression as people write it: `list[app:Report] | None`."""
    try:
        return type_text(encode_type(expression, type_name, repr))
    except EncodeError:
        return repr(expression)


def _fits(value: Any, expression: Any) -> bool:
    try:
        return maf.is_instance_of(value, expression) and not _bool_for_int(value, expression)
    except TypeError:  # an expression that MAF cannot check
        return False


def _bool_for_int(data: Any, expression: Any) -> bool:
    """Whether a boolean stands where only an int may: in Python it is one, in JSON it is not."""
    origin, args = get_origin(expression), get_args(expression)
    members: tuple[Any, ...] = args if origin is Union or origin is types.UnionType else (expression,)
    if type(data) is bool:
        return int in members and not any(member is bool or member in _UNCHECKED for member in members)
    if isinstance(data, list) and len(members) == 1 and origin in (list, set, frozenset, tuple) and args:
        return any(_bool_for_int(item, args[0]) for item in cast("list[Any]", data))
    if isinstance(data, dict) and origin is dict and len(args) == 2:
        return any(_bool_for_int(item, args[1]) for item in cast("dict[str, Any]", data).values())
    return False


def _validate(data: Any, expression: Any) -> tuple[bool, Any]:
    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(expression)
        return True, adapter.validate_json(json.dumps(data), strict=True)
    except Exception:  # of building a schema, of validation, and of validators that users wrote
        return False, None


def _faults(data: Any, expressions: Sequence[Any]) -> str:
    """Return what validation finds wrong, field by field, when there is one type with fields that the data could be."""
    if len(expressions) != 1 or not isinstance(data, dict):
        return ""
    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(expressions[0])
        adapter.validate_json(json.dumps(data), strict=True)
    except pydantic.ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in error.errors()]
        return "; ".join(faults[:_SHOWN_FAULTS])
    except Exception:  # of building a schema
        return ""
    return ""


def _describe(data: Any) -> str:
    text = _cut(json.dumps(data, ensure_ascii=False, default=repr))
    if isinstance(data, Mapping):
        return f"the JSON object {text}"
    return f"the JSON value {text}"


def _accepted(expressions: Sequence[Any]) -> str:
    return ", ".join(f"{expression_text(expression)}{_schema(expression)}" for expression in expressions)


def _schema(expression: Any) -> str:
    """Return the JSON schema of a type in parentheses, when there is one worth reading."""
    if isinstance(expression, type) and expression.__module__ == "builtins":
        return ""
    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(expression)
        schema = json.dumps(adapter.json_schema())
    except Exception:  # types of MAF and others have none
        return ""
    return f" (JSON schema: {schema})" if len(schema) <= _SHORT else ""


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
