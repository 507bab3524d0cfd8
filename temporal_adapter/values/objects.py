"""Kinds of the remaining objects: exceptions, MAF's own types, plain classes.

An object is its attributes. For classes with pickling hooks of their own, those of `__newobj__` form are followed
(`__getstate__`, `__setstate__`, `__getnewargs__`, subclasses of list, dict, str...); other forms are for `pickling`.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any, cast

from agent_framework import Content

from temporal_adapter.wire.tags import TAG

from .errors import DecodeError, EncodeError
from .layout import Layout, is_plain, layout_of, own_hook, reduces_by_default
from .records import encode_attributes
from .trust import is_maf_module
from .typenames import module_name
from .walk import DecodeHandler, Decoder, EncodeHandler, Encoder

_RAW = "raw_representation"
_NEW_OBJECT: Any = vars(copyreg)["__newobj__"]  # what the default pickling protocol calls

# --- exceptions ---------------------------------------------------------------------------------------------


def exception_encoder(cls: type[BaseException], type_data: Any) -> EncodeHandler:
    """Return what encodes exceptions: arguments, attributes, and what led to them if it can be stored; no traceback."""
    layout = layout_of(cls)
    reduce = _builtin_base(cls).__reduce__

    def encode(encoder: Encoder, obj: BaseException) -> Any:
        _, args, *rest = cast("tuple[Any, ...]", reduce(obj))
        state: dict[str, Any] = {**layout.state(obj), **_kept_in_c(obj), **(rest[0] if rest and rest[0] else {})}
        encoded: dict[str, Any] = {TAG: "exception", "type": type_data}
        encoded.update(encoder.fields(obj, {"args": list(args)}))
        if state:
            encoded["attributes"] = encode_attributes(encoder, obj, state, layout)
        link, reason = _reason(obj)
        if reason is not None:
            stored, data = encoder.optional(reason, obj)
            return {**encoded, link: data} if stored else encoded
        return encoded

    return encode


# Attributes that exceptions of Python keep in C; before Python 3.12, pickling knows those of ImportError only.
_IN_C = ("name", "path", "name_from")


def _kept_in_c(obj: BaseException) -> dict[str, Any]:
    if not isinstance(obj, (NameError, AttributeError)) or obj.name is None:  # pyright: ignore[reportUnnecessaryComparison]
        return {}
    return {"name": obj.name}


def _reason(obj: BaseException) -> tuple[str, BaseException | None]:
    """Return what a traceback would show above an exception, and how the two are linked.

    Not both the cause and the context: they lead to the same exceptions by two ways, and twice as often at each step.
    """
    if obj.__cause__ is not None:
        return "cause", obj.__cause__
    return "context", None if obj.__suppress_context__ else obj.__context__


def exception_builder(cls: type[BaseException], type_data: Any) -> DecodeHandler:
    """Return what builds exceptions, running no `__init__` but that of the builtin exception they derive from."""
    layout = layout_of(cls)
    base = _builtin_base(cls)

    def build(decoder: Decoder, data: dict[str, Any]) -> Any:
        args = decoder.items(data["args"])
        attributes = decoder.fields(data["attributes"]) if "attributes" in data else {}
        obj = base.__new__(cls, *args)
        base.__init__(obj, *args)
        for name in _IN_C:
            if name in attributes and hasattr(base, name):
                setattr(obj, name, attributes.pop(name))
        layout.restore(obj, attributes)
        for link, set_link in _LINKS.items():
            reason = decoder.optional(data[link]) if link in data else None
            if isinstance(reason, BaseException):
                set_link(obj, reason)
        return obj

    return build


def _set_cause(obj: BaseException, reason: BaseException) -> None:
    obj.__cause__ = reason


def _set_context(obj: BaseException, reason: BaseException) -> None:
    obj.__context__ = reason


_LINKS = {"cause": _set_cause, "context": _set_context}


def _builtin_base(cls: type[BaseException]) -> type[BaseException]:
    return next(base for base in cls.__mro__ if base.__module__ == "builtins" and issubclass(base, BaseException))


# --- objects ------------------------------------------------------------------------------------------------


class _Raw:
    """A provider's own object within one of MAF's: stored when it can be, None when not, as MAF's pickling does."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def encode_raw(encoder: Encoder, obj: _Raw) -> Any:
    """Encode a provider's object, or None for one that cannot be stored."""
    return encoder.optional(obj.value)[1]


def omit_raw(encoder: Encoder, obj: _Raw) -> None:
    """Encode a provider's object as None."""


RAW_TYPE: type = _Raw


def is_direct(cls: type) -> bool:
    """Whether an object is stored as its attributes, without asking the class.

    MAF's types count: their pickling hooks only leave out `raw_representation`.
    """
    if reduces_by_default(cls):
        return True
    hook = own_hook(cls, "__getstate__")
    if hook is None or not is_maf_module(getattr(hook, "__module__", "")):
        return False
    return is_plain(cls) and not any(own_hook(cls, name) for name in ("__reduce__", "__reduce_ex__"))


def object_encoder(cls: type, type_data: Any, pickled: EncodeHandler) -> EncodeHandler:
    """Return what encodes instances of a class; `pickled` does those that reduce in a way of their own."""
    if not is_direct(cls):
        return _reducing_encoder(cls, type_data, pickled)
    layout = layout_of(cls)
    prepare = _maf_state if is_maf_module(module_name(cls)) or own_hook(cls, "__getstate__") else None
    blank = _blank_state(cls)

    def encode(encoder: Encoder, obj: Any) -> Any:
        state = layout.state(obj)
        if prepare is not None:
            prepare(state)
        if blank:
            state = {name: value for name, value in state.items() if value is not None or name not in blank}
        return {TAG: "object", "type": type_data, "fields": encode_attributes(encoder, obj, state, layout)}

    return encode


def _maf_state(state: dict[str, Any]) -> None:
    if state.get(_RAW) is not None:
        state[_RAW] = _Raw(state[_RAW])
    annotations = state.get("annotations")
    if isinstance(annotations, list):
        state["annotations"] = [_maf_annotation(item) for item in cast("list[Any]", annotations)]


def _maf_annotation(annotation: Any) -> Any:
    if type(annotation) is not dict:
        return annotation
    parts = cast("dict[Any, Any]", annotation)
    return parts if parts.get(_RAW) is None else {**parts, _RAW: _Raw(parts[_RAW])}


def _blank_state(cls: type) -> dict[str, Any]:
    """Return attributes that are left out when None, and their values when missing.

    A Content has an attribute for every kind of content there is: about 45, nearly all None.
    """
    if not issubclass(cls, Content):
        return {}
    return {name: None for name, value in vars(Content("usage")).items() if value is None}


def _reducing_encoder(cls: type, type_data: Any, pickled: EncodeHandler) -> EncodeHandler:
    layout = layout_of(cls)
    sets_state = own_hook(cls, "__setstate__") is not None

    def encode(encoder: Encoder, obj: Any) -> Any:
        try:
            reduced = obj.__reduce_ex__(2)
        except Exception as error:
            raise EncodeError(
                f"type {type_data} cannot be stored: {type(error).__name__}: {error}. Leave out of __getstate__ what "
                f"cannot be stored, or do not put it in a message, state or executor attribute."
            ) from error
        if not isinstance(reduced, tuple):
            return pickled(encoder, obj)
        function, args, *rest = cast("tuple[Any, ...]", reduced)
        if function is not _NEW_OBJECT or args[0] is not cls:
            return pickled(encoder, obj)
        state, items, entries = (*rest, None, None, None)[:3]
        encoded: dict[str, Any] = {TAG: "object", "type": type_data}
        if len(args) > 1:
            encoded["new"] = encoder.items(obj, args[1:])
        if items is not None:
            encoded["items"] = encoder.items(obj, items)
        if entries is not None:
            encoded["entries"] = encoder.pairs(obj, entries)
        if state is not None and sets_state:
            encoded["state"] = encoder.fields(obj, {"__getstate__()": state})["__getstate__()"]
        elif state:
            encoded["fields"] = encode_attributes(encoder, obj, _merged(state, type_data), layout)
        return encoded

    return encode


def _merged(state: Any, type_data: Any) -> dict[str, Any]:
    """Return the state of the attributes and slots as one dict."""
    parts = cast("tuple[Any, ...]", state if isinstance(state, tuple) else (state,))
    merged: dict[str, Any] = {}
    for part in parts:
        if part is not None and not isinstance(part, dict):
            raise EncodeError(f"__getstate__ of type {type_data} returned no dict, and there is no __setstate__.")
        merged.update(cast("dict[str, Any]", part or {}))
    return merged


def object_builder(cls: type[Any], type_data: Any) -> DecodeHandler:
    """Return what builds instances of a class from attributes or state."""
    layout = layout_of(cls)
    plain = is_plain(cls)
    blank = _blank_state(cls)
    set_state = own_hook(cls, "__setstate__")
    is_maf = set_state is not None and is_maf_module(getattr(set_state, "__module__", ""))

    def build(decoder: Decoder, data: dict[str, Any]) -> Any:
        obj = _new_object(cls, decoder.items(data["new"]) if "new" in data else [], plain=plain)
        for item in decoder.items(data["items"]) if "items" in data else ():
            cast("Any", list).append(obj, item)
        for key, value in decoder.pairs(data["entries"]) if "entries" in data else ():
            cast("Any", dict).__setitem__(obj, key, value)
        if "state" in data:
            _set_state(obj, decoder.value(data["state"]), layout, set_state)
        elif "fields" in data:
            fields = decoder.fields(data["fields"])
            state = {**blank, **fields} if blank else fields
            _set_state(obj, state if is_maf else _split(state, layout), layout, set_state)
            if is_maf and state.get(_RAW) is not None:
                layout.restore(obj, {_RAW: state[_RAW]})  # MAF's hook blanks it
        return obj

    return build


def _new_object(cls: type[Any], args: list[Any], *, plain: bool) -> Any:
    return object.__new__(cls) if plain and not args else cls.__new__(cls, *args)


def _split(state: dict[str, Any], layout: Layout) -> Any:
    """Return a state in the form that Python's own `__getstate__` gives: slots apart, if there are any."""
    if not layout.slots:
        return state
    slots = {name: value for name, value in state.items() if name in layout.slots}
    return {name: value for name, value in state.items() if name not in slots} or None, slots


def _set_state(obj: Any, state: Any, layout: Layout, hook: Callable[[Any, Any], None] | None) -> None:
    parts = cast("tuple[Any, ...]", state if isinstance(state, tuple) else (state,))
    if hook is not None:
        for part in parts:
            layout.check(part)
        hook(obj, state)
        return
    for part in parts:
        if part is None:
            continue
        if not isinstance(part, dict):
            raise DecodeError("the state of an object without __setstate__ is a dict of its attributes.")
        layout.restore(obj, cast("dict[str, Any]", part))
