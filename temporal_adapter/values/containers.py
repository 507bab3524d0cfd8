"""Kinds of the standard containers."""

from __future__ import annotations

import collections
import json
import types
from collections.abc import Mapping
from typing import Any, cast

from temporal_adapter.wire.tags import TAG

from .errors import DecodeError, EncodeError
from .walk import DecodeHandler, Decoder, EncodeHandler, Encoder


def _encode_tuple(encoder: Encoder, obj: tuple[Any, ...]) -> Any:
    return {TAG: "tuple", "items": encoder.items(obj, obj)}


def _set_encoder(kind: str) -> EncodeHandler:
    def encode(encoder: Encoder, obj: set[Any] | frozenset[Any]) -> Any:
        items = encoder.items(obj, obj)
        if len(items) > 1:
            # Sets of strings are ordered by a seed of the process; equal sets must have equal JSON.
            items.sort(key=_canonical)
        return {TAG: kind, "items": items}

    return encode


def _canonical(encoded: Any) -> str:
    return json.dumps(encoded, sort_keys=True)


def _encode_deque(encoder: Encoder, obj: collections.deque[Any]) -> Any:
    encoded: dict[str, Any] = {TAG: "deque", "items": encoder.items(obj, obj)}
    return encoded if obj.maxlen is None else {**encoded, "maxlen": obj.maxlen}


def _decode_deque(decoder: Decoder, data: dict[str, Any]) -> collections.deque[Any]:
    return collections.deque(decoder.items(data["items"]), data.get("maxlen"))


def _encode_range(encoder: Encoder, obj: range) -> Any:
    value = encoder.value
    return {TAG: "range", "start": value(obj.start), "stop": value(obj.stop), "step": value(obj.step)}


def _encode_slice(encoder: Encoder, obj: slice) -> Any:
    start, stop, step = encoder.items(obj, (obj.start, obj.stop, obj.step))
    return {TAG: "slice", "start": start, "stop": stop, "step": step}


def _bounds(decoder: Decoder, data: dict[str, Any]) -> list[Any]:
    return decoder.items([data["start"], data["stop"], data["step"]])


def _mapping_encoder(kind: str) -> EncodeHandler:
    def encode(encoder: Encoder, obj: Mapping[Any, Any]) -> Any:
        return {TAG: kind, "items": encoder.pairs(obj, obj.items())}

    return encode


def _encode_defaultdict(encoder: Encoder, obj: collections.defaultdict[Any, Any]) -> Any:
    factory = obj.default_factory
    if factory is not None and not isinstance(factory, type):
        raise EncodeError(
            "a defaultdict whose factory is a function cannot be stored. Use a class, such as defaultdict(list)."
        )
    return {
        TAG: "defaultdict",
        "factory": None if factory is None else encoder.value(factory),
        "items": encoder.pairs(obj, obj.items()),
    }


def _decode_defaultdict(decoder: Decoder, data: dict[str, Any]) -> Any:
    factory = decoder.value(data["factory"])
    if factory is not None and not isinstance(factory, type):
        if decoder.lenient:  # a class this client does not know
            return dict(decoder.pairs(data["items"]))
        raise DecodeError("the factory of a defaultdict is a class.")
    return collections.defaultdict(factory, decoder.pairs(data["items"]))


def _decode_counter(decoder: Decoder, data: dict[str, Any]) -> collections.Counter[Any]:
    counter: collections.Counter[Any] = collections.Counter()
    cast("Any", dict).update(counter, decoder.pairs(data["items"]))
    return counter


ENCODERS: Mapping[type, EncodeHandler] = {
    tuple: _encode_tuple,
    set: _set_encoder("set"),
    frozenset: _set_encoder("frozenset"),
    collections.deque: _encode_deque,
    range: _encode_range,
    slice: _encode_slice,
    type(Ellipsis): lambda encoder, obj: {TAG: "ellipsis"},
    collections.Counter: _mapping_encoder("counter"),
    collections.OrderedDict: _mapping_encoder("ordereddict"),
    types.MappingProxyType: _mapping_encoder("mappingproxy"),
    collections.defaultdict: _encode_defaultdict,
}

DECODERS: Mapping[str, DecodeHandler] = {
    "dict": lambda decoder, data: dict(decoder.pairs(data["items"])),
    "tuple": lambda decoder, data: tuple(decoder.items(data["items"])),
    "set": lambda decoder, data: set(decoder.items(data["items"])),
    "frozenset": lambda decoder, data: frozenset(decoder.items(data["items"])),
    "deque": _decode_deque,
    "range": lambda decoder, data: range(*_bounds(decoder, data)),
    "slice": lambda decoder, data: slice(*_bounds(decoder, data)),
    "ellipsis": lambda decoder, data: Ellipsis,
    "counter": _decode_counter,
    "ordereddict": lambda decoder, data: collections.OrderedDict(decoder.pairs(data["items"])),
    "mappingproxy": lambda decoder, data: types.MappingProxyType(dict(decoder.pairs(data["items"]))),
    "defaultdict": _decode_defaultdict,
}
