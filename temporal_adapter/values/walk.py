"""The walk through an object and through tagged JSON: depth, cycles, attribute paths, and what JSON says by itself.

How the kinds look is not decided here: a table of handlers, one per class or kind, is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from temporal_adapter.wire.tags import TAG, plain

from .errors import DecodeError, EncodeError

# Levels of nesting of Python objects. What can be stored can be read again: at three JSON levels and three stack
# frames for each, this stays below Python's recursion limit of 1,000, with room for the frames of the callers.
MAX_DEPTH = 150

# Python refuses to print integers of more than 640 to 4,300 decimal digits, as configured.
_MAX_INT_BITS = 2000


class Encoder:
    """One walk through an object."""

    __slots__ = ("_handlers", "_optional", "_plan", "_within")

    def __init__(self, handlers: Mapping[type, EncodeHandler], plan: Callable[[object], EncodeHandler]) -> None:
        """Take the handlers by exact class, and what makes one for a class that is not yet among them."""
        self._handlers = handlers
        self._plan = plan
        self._within: list[object] = []  # the objects the current one is in
        self._optional = 0  # of these, how many may be left out

    def value(self, obj: Any) -> Any:
        """Return the tagged JSON of an object."""
        handler = self._handlers.get(cast("type[Any]", type(obj)))
        if handler is None:
            handler = self._plan(obj)
        return handler(self, obj)

    def optional(self, obj: Any, owner: object = None) -> tuple[bool, Any]:
        """Return whether an object can be stored, and its tagged JSON; `owner` is what it is in, if not yet entered."""
        depth = len(self._within)
        self._optional += 1
        try:
            if owner is not None:
                self._enter(owner)
            return True, self.value(obj)
        except EncodeError:
            return False, None
        finally:
            del self._within[depth:]
            self._optional -= 1

    def items(self, owner: object, items: Iterable[Any]) -> list[Any]:
        """Encode the items of a container."""
        self._enter(owner)
        encoded: list[Any] = []
        try:
            for item in items:
                encoded.append(self.value(item))
        except EncodeError as error:
            error.within(f"[{len(encoded)}]")
            raise
        self._within.pop()
        return encoded

    def entries(self, owner: object, entries: Mapping[str, Any]) -> dict[str, Any]:
        """Encode the values of a dict with string keys."""
        self._enter(owner)
        encoded: dict[str, Any] = {}
        key: str | None = None
        try:
            for key, item in entries.items():
                encoded[key] = self.value(item)
        except EncodeError as error:
            error.within(f"[{key!r}]")
            raise
        self._within.pop()
        return encoded

    def pairs(self, owner: object, entries: Iterable[tuple[Any, Any]]) -> list[list[Any]]:
        """Encode the entries of a mapping with keys of any type."""
        self._enter(owner)
        encoded: list[list[Any]] = []
        key: Any = None
        try:
            for key, item in entries:
                encoded.append([self.value(key), self.value(item)])
        except EncodeError as error:
            error.within(f"[{key!r}]" if isinstance(key, (str, int)) else f"[<{type(key).__name__}>]")
            raise
        self._within.pop()
        return encoded

    def fields(self, owner: object, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Encode attributes by name."""
        self._enter(owner)
        encoded: dict[str, Any] = {}
        name: Any = None
        try:
            for name, item in fields.items():
                if not isinstance(name, str) or not is_text(name):
                    raise EncodeError(f"the attribute name {name!r} is not Unicode text, and cannot be stored.")
                encoded[name] = self.value(item)
        except EncodeError as error:
            error.within(f".{name}")
            raise
        self._within.pop()
        return encoded

    def _enter(self, owner: object) -> None:
        # What may be left out is left out where it first leads back, and not at the end of a hundred copies.
        if self._optional and any(one is owner for one in self._within):
            raise EncodeError(_cycle(owner))
        self._within.append(owner)
        if len(self._within) > MAX_DEPTH:
            raise EncodeError(_too_deep(self._within))


class Decoder:
    """One walk through tagged JSON.

    Attributes:
        lenient: A client's: what it does not know becomes plain JSON.
    """

    __slots__ = ("_builders", "_depth", "_kinds", "_plan", "lenient")

    def __init__(
        self,
        kinds: Mapping[str, DecodeHandler],
        builders: Mapping[str, DecodeHandler],
        plan: Callable[[Any], DecodeHandler],
        *,
        lenient: bool,
    ) -> None:
        """Take the handlers by kind, builders by class name, and what makes a builder for another class."""
        self._kinds = kinds
        self._builders = builders
        self._plan = plan
        self._depth = 0
        self.lenient = lenient

    def value(self, data: Any) -> Any:
        """Return the object of tagged JSON."""
        cls = cast("type[Any]", type(data))
        if cls is dict:
            return self._tagged(data) if TAG in data else self.fields(data)
        if cls is list:
            return self.items(data)
        if cls is str or cls is int or data is None or cls is bool or cls is float:
            return data
        raise DecodeError(f"{cls.__name__} is not a type of JSON.")

    def items(self, items: Any) -> list[Any]:
        """Decode a JSON array."""
        self._enter()
        value = self.value
        decoded = [value(item) for item in _array(items)]
        self._depth -= 1
        return decoded

    def pairs(self, pairs: Any) -> list[tuple[Any, Any]]:
        """Decode the entries of a mapping: an array of arrays of two."""
        self._enter()
        value = self.value
        decoded = [(value(key), value(item)) for key, item in map(_array, _array(pairs))]
        self._depth -= 1
        return decoded

    def fields(self, fields: Any) -> dict[str, Any]:
        """Decode the values of a JSON object that is not tagged itself."""
        self._enter()
        value = self.value
        decoded = {name: value(item) for name, item in _object(fields).items()}
        self._depth -= 1
        return decoded

    def some_fields(self, fields: Any, names: Iterable[str]) -> dict[str, Any]:
        """Decode those values of a JSON object that have one of the names, in the order of the names."""
        self._enter()
        given = _object(fields)
        decoded = {name: self.value(given[name]) for name in names if name in given}
        self._depth -= 1
        return decoded

    def optional(self, data: Any) -> Any:
        """Return the object of tagged JSON, or None for one that cannot be read any more."""
        depth = self._depth
        try:
            self._enter()
            return self.value(data)
        except DecodeError:
            return None
        finally:
            self._depth = depth

    def builder(self, type_data: Any) -> DecodeHandler:
        """Return what makes instances of a class, by the JSON of its name."""
        found = self._builders.get(type_data) if isinstance(type_data, str) else None
        return found or self._plan(type_data)

    def _tagged(self, data: dict[str, Any]) -> Any:
        kind = data[TAG]
        handler = self._kinds.get(kind) if isinstance(kind, str) else None
        if handler is None:
            if self.lenient:
                return plain(data)
            raise DecodeError(
                f"kind {_short(kind)} is not known to this release of agent-framework-temporal. "
                f"Upgrade this process to the release that wrote it."
            )
        depth = self._depth
        try:
            return handler(self, data)
        except DecodeError:
            raise
        except Exception as error:  # of a class's own hooks too, which may raise anything
            if self.lenient:  # such as a set of what became plain dicts
                self._depth = depth
                return plain(data)
            named = f" for type {_short(data['type'])}" if "type" in data else ""
            raise DecodeError(f"kind {kind!r}{named} cannot be read: {type(error).__name__}: {error}") from error

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DecodeError(f"tagged JSON is nested more than {MAX_DEPTH} levels deep; no release writes such.")


EncodeHandler: TypeAlias = Callable[[Encoder, Any], Any]
DecodeHandler: TypeAlias = Callable[[Decoder, "dict[str, Any]"], Any]


def is_text(text: str) -> bool:
    """Whether a string is Unicode text; lone surrogates are not."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode_itself(encoder: Encoder, obj: object) -> object:
    """Encode what stands for itself in JSON."""
    return obj


def encode_int(encoder: Encoder, obj: int) -> Any:
    """Encode an int: itself, unless no JSON library would print it."""
    return obj if obj.bit_length() <= _MAX_INT_BITS else {TAG: "int", "value": hex(obj)}


def encode_float(encoder: Encoder, obj: float) -> Any:
    """Encode a float; JSON has no name for infinity and NaN."""
    return obj if math.isfinite(obj) else {TAG: "float", "value": str(obj)}


def encode_str(encoder: Encoder, obj: str) -> Any:
    """Encode a str; lone surrogates would merge into pairs, or be refused, on their way through JSON."""
    return obj if is_text(obj) else {TAG: "str", "value": obj.encode("unicode_escape").decode("ascii")}


def encode_list(encoder: Encoder, obj: list[Any]) -> Any:
    """Encode a list."""
    return encoder.items(obj, obj)


def encode_dict(encoder: Encoder, obj: dict[Any, Any]) -> Any:
    """Encode a dict: as a JSON object if its keys can be those of one."""
    for key in obj:
        if type(key) is not str or key == TAG or not is_text(key):
            return {TAG: "dict", "items": encoder.pairs(obj, obj.items())}
    return encoder.entries(obj, obj)


ITSELF: Mapping[type, EncodeHandler] = {
    type(None): encode_itself,
    bool: encode_itself,
    int: encode_int,
    float: encode_float,
    str: encode_str,
    list: encode_list,
    dict: encode_dict,
}


def _array(data: Any) -> list[Any]:
    if type(data) is not list:
        raise DecodeError(f"expected a JSON array, found {type(data).__name__}.")
    return cast("list[Any]", data)


def _object(data: Any) -> dict[str, Any]:
    if type(data) is not dict:
        raise DecodeError(f"expected a JSON object, found {type(data).__name__}.")
    return cast("dict[str, Any]", data)


def _short(data: Any) -> str:
    return repr(data)[:120] if isinstance(data, str) else type(data).__name__


def _too_deep(within: list[object]) -> str:
    ids = [id(obj) for obj in within]
    repeated = next((obj for index, obj in enumerate(within) if ids[index] in ids[:index]), None)
    if repeated is not None:
        return _cycle(repeated)
    return f"more than {MAX_DEPTH} levels of nesting cannot be stored. Store a flat list, or ids instead of objects."


def _cycle(repeated: object) -> str:
    name = type(repeated).__qualname__
    return f"this {name} contains itself, and a cycle cannot be stored. Refer to the other object by an id instead."
