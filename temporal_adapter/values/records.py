"""Kinds of things with named parts: dataclasses, models, structs, named tuples, enum members.

Each class is analysed once, into a function that encodes its instances and one that builds them. Building runs no
`__init__`, `__post_init__` or validator of the class (a msgspec Struct is the exception: nothing else can fill one).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
import pydantic
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from temporal_adapter.wire.tags import TAG

from .errors import DecodeError
from .layout import Layout, layout_of
from .walk import DecodeHandler, Decoder, EncodeHandler, Encoder

# `Generic[...]` classes remember the expression they were called through; it is decoration, and may not be storable.
_ORIGINAL_CLASS = "__orig_class__"

_JSON_SCALARS = (str, int, float, bool, type(None))

Default = Callable[[], Any]


def encode_attributes(encoder: Encoder, owner: object, attributes: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """Encode attributes by name, leaving out what can be computed again and cannot be stored."""
    derived: dict[str, Any] = {}
    if layout.derived or _ORIGINAL_CLASS in attributes:
        names = [name for name in attributes if name in layout.derived or name == _ORIGINAL_CLASS]
        derived = {name: attributes.pop(name) for name in names}
    encoded = encoder.fields(owner, attributes)
    for name, value in derived.items():
        stored, data = encoder.optional(value, owner)
        if stored:
            encoded[name] = data
    return encoded


def names_given(data: dict[str, Any], key: str) -> frozenset[str]:
    """Return a list of names in tagged JSON, as a set."""
    names = data.get(key, [])
    if type(names) is not list:
        raise DecodeError(f"{key} is a list of names.")
    return frozenset(cast("list[str]", names))


def _missing(type_data: Any, name: str) -> DecodeError:
    return DecodeError(
        f"type {type_data} has a field {name!r} that the stored object lacks. Give the field a default, "
        f"so that objects stored before it was added can be read."
    )


# --- dataclasses --------------------------------------------------------------------------------------------


def dataclass_encoder(cls: type[Any], type_data: Any) -> EncodeHandler:
    """Return what encodes instances of a dataclass."""
    layout = layout_of(cls)
    names = tuple(field.name for field in dataclasses.fields(cls))

    def encode(encoder: Encoder, obj: Any) -> Any:
        state = layout.state(obj)
        fields = {name: state.pop(name) for name in names if name in state}
        encoded: dict[str, Any] = {TAG: "dataclass", "type": type_data, "fields": encoder.fields(obj, fields)}
        if len(fields) < len(names):
            encoded["absent"] = [name for name in names if name not in fields]
        if state:
            encoded["attributes"] = encode_attributes(encoder, obj, state, layout)
        return encoded

    return encode


def dataclass_builder(cls: type[Any], type_data: Any) -> DecodeHandler:
    """Return what builds instances of a dataclass."""
    layout = layout_of(cls)
    defaults = {field.name: _dataclass_default(field) for field in dataclasses.fields(cls)}
    required = frozenset(field.name for field in dataclasses.fields(cls) if field.init)

    def build(decoder: Decoder, data: dict[str, Any]) -> Any:
        state = decoder.some_fields(data["fields"], defaults)
        if "attributes" in data:
            state = {**decoder.fields(data["attributes"]), **state}
        if len(state) < len(defaults):
            absent = names_given(data, "absent")
            for name, default in defaults.items():
                if name in state or name in absent:
                    continue
                if default is not None:
                    state[name] = default()
                elif name in required:
                    raise _missing(type_data, name)
        obj = object.__new__(cls)
        layout.restore(obj, state)
        return obj

    return build


def _dataclass_default(field: dataclasses.Field[Any]) -> Default | None:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    return None if field.default is dataclasses.MISSING else lambda: field.default


# --- Pydantic models ----------------------------------------------------------------------------------------


def model_encoder(cls: type[pydantic.BaseModel], type_data: Any) -> EncodeHandler:
    """Return what encodes instances of a Pydantic model, by the values they hold and not by the types declared."""
    layout = layout_of(cls)
    names = tuple(cls.model_fields)

    def encode(encoder: Encoder, obj: pydantic.BaseModel) -> Any:
        state = obj.__dict__
        fields = {name: state[name] for name in names if name in state}
        extra, private, given = obj.__pydantic_extra__, obj.__pydantic_private__, obj.__pydantic_fields_set__
        encoded: dict[str, Any] = {TAG: "model", "type": type_data, "fields": encoder.fields(obj, fields)}
        if len(fields) < len(names):
            encoded["absent"] = [name for name in names if name not in fields]
        if len(fields) < len(state):
            rest = {name: value for name, value in state.items() if name not in fields}
            encoded["attributes"] = encode_attributes(encoder, obj, rest, layout)
        if extra:
            encoded["extra"] = encoder.fields(obj, extra)
        if private:
            encoded["private"] = encoder.fields(obj, private)
        unset = [name for name in (*fields, *(extra or ())) if name not in given]
        return {**encoded, "unset": unset} if unset else encoded

    return encode


def model_builder(cls: type[pydantic.BaseModel], type_data: Any) -> DecodeHandler:
    """Return what builds instances of a Pydantic model."""
    fields: Mapping[str, FieldInfo] = cls.model_fields
    allows_extra = cls.model_config.get("extra") == "allow"
    privates = cls.__private_attributes__

    def build(decoder: Decoder, data: dict[str, Any]) -> Any:
        state = decoder.some_fields(data["fields"], fields)
        extra = decoder.fields(data["extra"]) if "extra" in data else {}
        if len(state) < len(fields):
            # A field that the class once took as an extra one is read from there.
            state.update({name: extra.pop(name) for name in fields if name in extra and name not in state})
        given = {*state, *(extra if allows_extra else ())} - names_given(data, "unset")
        if len(state) < len(fields):
            _add_model_defaults(state, fields, names_given(data, "absent"), type_data)
        if "attributes" in data:
            state.update(decoder.fields(data["attributes"]))
        private = None
        if privates:
            private = decoder.some_fields(data["private"], privates) if "private" in data else {}
            for name, attribute in privates.items():
                if name not in private and (default := attribute.get_default()) is not PydanticUndefined:
                    private[name] = default
        obj = object.__new__(cls)
        put = object.__setattr__
        put(obj, "__dict__", state)
        put(obj, "__pydantic_fields_set__", given)
        put(obj, "__pydantic_extra__", extra if allows_extra else None)
        put(obj, "__pydantic_private__", private)
        return obj

    return build


def _add_model_defaults(
    state: dict[str, Any], fields: Mapping[str, FieldInfo], absent: frozenset[str], type_data: Any
) -> None:
    for name, field in fields.items():
        if name in state or name in absent:
            continue
        if field.is_required():
            raise _missing(type_data, name)
        state[name] = field.get_default(call_default_factory=True, validated_data=state)


# --- msgspec structs ----------------------------------------------------------------------------------------


def struct_encoder(cls: type[msgspec.Struct], type_data: Any) -> EncodeHandler:
    """Return what encodes instances of a msgspec Struct."""
    names = cls.__struct_fields__

    def encode(encoder: Encoder, obj: msgspec.Struct) -> Any:
        fields = {name: getattr(obj, name) for name in names if hasattr(obj, name)}
        return {TAG: "struct", "type": type_data, "fields": encoder.fields(obj, fields)}

    return encode


def struct_builder(cls: type[msgspec.Struct], type_data: Any) -> DecodeHandler:
    """Return what builds instances of a msgspec Struct."""
    names = cls.__struct_fields__
    required = tuple(field.name for field in msgspec.structs.fields(cls) if field.required)

    def build(decoder: Decoder, data: dict[str, Any]) -> Any:
        fields = decoder.some_fields(data["fields"], names)
        for name in required:
            if name not in fields:
                raise _missing(type_data, name)
        return cls(**fields)

    return build


# --- named tuples -------------------------------------------------------------------------------------------


def namedtuple_encoder(cls: type, type_data: Any) -> EncodeHandler:
    """Return what encodes instances of a named tuple."""
    layout = layout_of(cls)
    names = cast("tuple[str, ...]", cast("Any", cls)._fields)

    def encode(encoder: Encoder, obj: tuple[Any, ...]) -> Any:
        fields = dict(zip(names, obj, strict=True))
        encoded: dict[str, Any] = {TAG: "namedtuple", "type": type_data, "fields": encoder.fields(obj, fields)}
        state = layout.state(obj)
        return {**encoded, "attributes": encode_attributes(encoder, obj, state, layout)} if state else encoded

    return encode


def namedtuple_builder(cls: type[Any], type_data: Any) -> DecodeHandler:
    """Return what builds instances of a named tuple."""
    layout = layout_of(cls)
    names = cast("tuple[str, ...]", cast("Any", cls)._fields)
    defaults = cast("dict[str, Any]", cast("Any", cls)._field_defaults)

    def build(decoder: Decoder, data: dict[str, Any]) -> Any:
        fields = decoder.some_fields(data["fields"], names)
        for name in names:
            if name not in fields and name not in defaults:
                raise _missing(type_data, name)
        values = [fields[name] if name in fields else defaults[name] for name in names]
        obj = cast("Any", tuple).__new__(cls, values)
        if "attributes" in data:
            layout.restore(obj, decoder.fields(data["attributes"]))
        return obj

    return build


# --- enum members -------------------------------------------------------------------------------------------


def enum_encoder(cls: type[enum.Enum], type_data: Any) -> EncodeHandler:
    """Return what encodes members of an enum: by name, with a JSON value for people; flags without a name by value."""
    members = cls.__members__

    def encode(encoder: Encoder, obj: enum.Enum) -> Any:
        name, value = obj._name_, obj._value_  # the properties may be overridden
        if name is None or members.get(name) is not obj:  # pyright: ignore[reportUnnecessaryComparison]  # a flag's
            return {TAG: "enum", "type": type_data, "value": encoder.value(value)}
        encoded: dict[str, Any] = {TAG: "enum", "type": type_data, "name": name}
        return {**encoded, "value": encoder.value(value)} if type(value) in _JSON_SCALARS else encoded

    return encode


def enum_builder(cls: type[enum.Enum], type_data: Any) -> DecodeHandler:
    """Return what finds members of an enum: by name, or by value if it was renamed."""
    members = cls.__members__

    def build(decoder: Decoder, data: dict[str, Any]) -> Any:
        name = data.get("name")
        if isinstance(name, str) and name in members:
            return members[name]
        if "value" not in data:
            raise DecodeError(f"enum {type_data} has no member {name!r} any more. Keep old members, or their values.")
        value = decoder.value(data["value"])
        try:
            return cls(value)
        except ValueError as error:
            raise DecodeError(
                f"enum {type_data} has no member {name!r} any more, and none with the value {value!r}. Keep old "
                f"members, or their values, or have _missing_ return what they became."
            ) from error

    return build
