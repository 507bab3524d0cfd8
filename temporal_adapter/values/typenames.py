"""Names of classes, and type expressions as JSON.

    class      = "int" | "None" | "..." | "module:qualname"            "..." only as in tuple[int, ...]
    expression = class
               | {"generic": class, "args": [expression, ...]}         list[app:Report]; a list among the args is
                                                                       the parameter list of a Callable
               | {"union": [expression, ...]}
               | {"literal": [tagged JSON, ...]}

A class that MAF exports has its public name (`agent_framework:Message`), which survives MAF moving it between
its private modules. Which classes may be named is not decided here: see `trust`.
"""

from __future__ import annotations

import functools
import sys
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, Literal, Union, cast, get_args, get_origin

import typing_extensions
from typing_extensions import NotRequired, Required, TypeAliasType

from .errors import DecodeError, EncodeError

MAF_PACKAGES = ("agent_framework", "agent_framework_orchestrations", "agent_framework_declarative")

_MAX_TYPE_DEPTH = 32
_ANY = "typing:Any"
_ELLIPSIS = "..."
_NONE = "None"
_QUALIFIERS: tuple[Any, ...] = (Annotated, ClassVar, Final, Required, NotRequired)
_ALIAS_TYPES: tuple[type, ...] = (TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType))
_VARIABLE_TYPES = (typing.TypeVar, cast("type[Any]", type(typing_extensions.TypeVar("_T"))))


def module_name(cls: type) -> str:
    """Return `cls.__module__`, also for the classes of C modules that have none."""
    name = getattr(cls, "__module__", None)
    return name if isinstance(name, str) else "builtins"


def type_name(cls: type) -> str:
    """Return the name of a class in tagged JSON: `int`, `app.models:Report`, `agent_framework:Message`."""
    if cls is types.NoneType:
        return _NONE
    module = module_name(cls)
    if module == "builtins":
        return cls.__qualname__
    package = module.partition(".")[0]
    if package in MAF_PACKAGES and public_type(package, cls.__qualname__) is cls:
        return f"{package}:{cls.__qualname__}"
    return f"{module}:{cls.__qualname__}"


def public_type(package: str, name: str) -> Any:
    """Return what a loaded MAF package exports under a name, or None. MAF loads its exports when first used."""
    module = sys.modules.get(package)
    if module is None or name not in getattr(module, "__all__", ()):
        return None
    return getattr(module, name, None)


def pydantic_origin(cls: Any) -> type[Any] | None:
    """Return the model that a parametrized one is made from: `Box` of `Box[int]`, a class that has no name."""
    return _pydantic_generic(cls).get("origin")


def pydantic_args(cls: Any) -> tuple[Any, ...]:
    """Return the arguments of a parametrized model."""
    return _pydantic_generic(cls).get("args", ())


def _pydantic_generic(cls: Any) -> dict[str, Any]:
    return getattr(cls, "__pydantic_generic_metadata__", None) or {}


def is_type_expression(obj: object) -> bool:
    """Whether an object is a class, a generic alias, a union, a Literal, or `Any`."""
    return obj is Any or isinstance(obj, (type, *_ALIAS_TYPES, typing.NewType)) or get_origin(obj) is not None


def encode_type(expression: Any, named: Callable[[type], str], value: Callable[[Any], Any]) -> Any:
    """Return the JSON of a type expression.

    What the JSON does not tell apart becomes the same: `typing.List[int]` and `list[int]`, `Annotated[int, ...]`
    and `int`, a type variable and its bound, a type alias and what it stands for.

    Args:
        expression: A class, generic alias, union, Literal or `Any`.
        named: Gives the name of a class, or raises `EncodeError`.
        value: Encodes a value of a `Literal`.

    Raises:
        EncodeError: A part of it is none of these, or `named` refuses it.
    """
    if expression is None:
        return _NONE
    if expression is Any:
        return _ANY
    if expression is Ellipsis:
        return _ELLIPSIS

    def encode(part: Any) -> Any:
        return encode_type(part, named, value)

    if isinstance(expression, list):
        return [encode(part) for part in cast("list[Any]", expression)]
    origin = get_origin(expression)
    if origin is None:
        return _encode_without_origin(expression, named, encode)
    args = get_args(expression)
    if origin is Union or origin is types.UnionType:
        return {"union": [encode(arg) for arg in args]}
    if origin is Literal:
        return {"literal": [value(arg) for arg in args]}
    if origin in _QUALIFIERS:
        return encode(args[0])
    if not args and not isinstance(expression, types.GenericAlias):
        return named(origin)  # typing.List, without arguments
    return {"generic": named(origin), "args": [encode(arg) for arg in args]}


def _encode_without_origin(expression: Any, named: Callable[[type], str], encode: Callable[[Any], Any]) -> Any:
    if isinstance(expression, type):
        origin = pydantic_origin(expression)
        if origin is not None:
            return {"generic": named(origin), "args": [encode(arg) for arg in pydantic_args(expression)]}
        return named(cast("type[Any]", expression))
    if isinstance(expression, _VARIABLE_TYPES):
        bound = getattr(expression, "__bound__", None)
        return _ANY if bound is None else encode(bound)
    if isinstance(expression, _ALIAS_TYPES):
        return encode(expression.__value__)
    if isinstance(expression, typing.NewType):
        return encode(expression.__supertype__)
    raise EncodeError(
        f"{expression!r} is not a type that can be stored. Use a class, list[...], dict[...], a union or a Literal."
    )


def decode_type(data: Any, resolve: Callable[[str], type], value: Callable[[Any], Any], depth: int = 0) -> Any:
    """Reverse `encode_type`.

    Args:
        data: JSON of a type expression.
        resolve: Gives the class of a name, or raises `DecodeError`.
        value: Decodes a value of a `Literal`.
        depth: Of `data` within an expression.

    Raises:
        DecodeError: The JSON has another shape, or `resolve` refuses a name.
    """
    if isinstance(data, str):
        if data == _ANY:
            return Any
        if data == _NONE:
            return types.NoneType
        return resolve(data)
    if isinstance(data, dict) and depth < _MAX_TYPE_DEPTH:

        def decode(part: Any) -> Any:
            if part == _ELLIPSIS:
                return Ellipsis
            if isinstance(part, list):
                return [decode(item) for item in cast("list[Any]", part)]
            return decode_type(part, resolve, value, depth + 1)

        match cast("dict[str, Any]", data):
            case {"union": [_, *_] as members}:
                return _union([decode(member) for member in members])
            case {"literal": [_, *_] as values}:
                return cast("Any", Literal)[tuple(value(item) for item in values)]
            case {"generic": str(name), "args": [*args]}:
                return cast("Any", resolve(name))[tuple(decode(arg) for arg in args)]
            case _:
                pass
    raise DecodeError(f"a type expression has the wrong shape: {_shorten(data)}")


def _union(members: list[Any]) -> Any:
    try:
        return functools.reduce(lambda left, right: left | right, members)
    except TypeError:  # a member without the | operator
        return cast("Any", Union)[tuple(members)]


def _shorten(data: Any) -> str:
    try:
        text = repr(data)
    except RecursionError:
        return "nested too deeply"
    return text if len(text) <= 80 else f"{text[:80]}..."
