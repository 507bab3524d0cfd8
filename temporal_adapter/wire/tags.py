"""The grammar of tagged JSON, and its reading as plain JSON.

Tagged JSON is JSON with one reserved key. `None`, `bool`, `int`, finite `float`, `str`, `list` and a `dict`
with string keys stand for themselves; everything else is an object whose `$` names its kind:

    {"$": "dataclass", "type": "app:Report", "fields": {...}}

`values` writes and reads the kinds, and lists them; this module only knows how each looks to a person. It reads
whatever it is given, from any release, and never raises.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

TAG = "$"

_MAX_DEPTH = 200  # levels of JSON that a person is shown
_TEXT_DEPTH = 6  # of these within a line of text; JSON text in JSON text doubles its escapes with each level
_CUT = "..."


def plain(encoded: Any) -> Any:
    """Return tagged JSON without its tags, for people and for readers in other languages.

    Models, dataclasses and objects become their fields, collections lists, enums their values, exceptions and types
    a line of text; what has no plain form (a pickle) stays tagged.
    """
    return _plain(encoded, 0)


def _plain(encoded: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return _CUT
    if isinstance(encoded, list):
        return [_plain(item, depth + 1) for item in cast("list[Any]", encoded)]
    if not isinstance(encoded, dict):
        return encoded
    tagged = cast("dict[str, Any]", encoded)
    if TAG not in tagged:
        return {key: _plain(value, depth + 1) for key, value in tagged.items()}
    kind = tagged[TAG]
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return _generic(tagged, depth) if reader is None else reader(tagged, depth)


def _generic(tagged: dict[str, Any], depth: int) -> Any:
    """Read a kind by its looks; also one that a newer release wrote."""
    if "fields" in tagged:
        return _fields(tagged, depth)
    if isinstance(tagged.get("items"), list):
        return _plain(tagged["items"], depth + 1)
    if "value" in tagged:
        return _plain(tagged["value"], depth + 1)
    return {key: _plain(value, depth + 1) for key, value in tagged.items() if key != TAG}


def _fields(tagged: dict[str, Any], depth: int) -> Any:
    """Read a record: its fields, then what was stored beside them."""
    parts = [tagged.get(part) for part in ("fields", "extra", "attributes")]
    merged: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, dict):
            merged.update(cast("dict[str, Any]", part))
    return {key: _plain(value, depth + 1) for key, value in merged.items()}


def _mapping(tagged: dict[str, Any], depth: int) -> Any:
    items = tagged.get("items")
    if not isinstance(items, list):
        return _generic(tagged, depth)
    read: dict[str, Any] = {}
    for pair in cast("list[Any]", items):
        if not isinstance(pair, list) or len(cast("list[Any]", pair)) != 2:
            return _generic(tagged, depth)
        key, value = cast("list[Any]", pair)
        read[_text(key, depth)] = _plain(value, depth + 1)
    return read


def _text(encoded: Any, depth: int) -> str:
    """Return a string as it is, and anything else as one line of plain JSON."""
    read = _plain(encoded, max(depth + 1, _MAX_DEPTH - _TEXT_DEPTH))
    return read if isinstance(read, str) else _json(read)


def _json(read: Any) -> str:
    return json.dumps(read, default=str)


def _enum(tagged: dict[str, Any], depth: int) -> Any:
    return _plain(tagged["value"] if "value" in tagged else tagged.get("name"), depth + 1)


def _exception(tagged: dict[str, Any], depth: int) -> str:
    args = tagged.get("args")
    texts = [_text(item, depth + 1) for item in (cast("list[Any]", args) if isinstance(args, list) else [args])]
    name = _type_text(tagged.get("type"), depth + 1)
    return f"{name}: {', '.join(texts)}" if texts else name


def _object(tagged: dict[str, Any], depth: int) -> Any:
    new, items, entries = tagged.get("new"), tagged.get("items"), tagged.get("entries")
    if "fields" in tagged and not items and not entries:
        return _fields(tagged, depth)
    if isinstance(items, list):
        return _plain(items, depth + 1)
    if isinstance(entries, list):
        return _mapping({"items": entries}, depth)
    if "state" in tagged:
        return _plain(tagged["state"], depth + 1)
    if isinstance(new, list):
        args = cast("list[Any]", new)
        return _plain(args[0] if len(args) == 1 else args, depth + 1)
    return _generic(tagged, depth) if len(tagged) > 2 else {}


_Reader = Callable[[dict[str, Any], int], Any]

_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(("dict", "ordereddict", "defaultdict", "counter", "mappingproxy"), _mapping),
    "enum": _enum,
    "exception": _exception,
    "object": _object,
    "pickle": lambda tagged, depth: tagged,
    "type": lambda tagged, depth: _type_text(tagged.get("value"), depth + 1),
}


def type_text(encoded: Any) -> str:
    """Return an encoded type as people write it: `list[app:Report] | None`."""
    return _type_text(encoded, 0)


def _type_text(encoded: Any, depth: int) -> str:
    if isinstance(encoded, str):
        return "Any" if encoded == "typing:Any" else encoded
    if depth > _MAX_DEPTH:
        return _CUT
    if isinstance(encoded, list):
        return f"[{_joined(cast('list[Any]', encoded), depth)}]"
    if not isinstance(encoded, dict):
        return str(encoded)
    expression = cast("dict[str, Any]", encoded)
    union, literal, args = expression.get("union"), expression.get("literal"), expression.get("args")
    if isinstance(union, list):
        return " | ".join(_type_text(member, depth + 1) for member in cast("list[Any]", union))
    if isinstance(literal, list):
        near = max(depth + 1, _MAX_DEPTH - _TEXT_DEPTH)
        return f"Literal[{', '.join(_json(_plain(value, near)) for value in cast('list[Any]', literal))}]"
    if isinstance(args, list):
        return f"{_type_text(expression.get('generic'), depth + 1)}[{_joined(cast('list[Any]', args), depth)}]"
    return _text(expression, depth)


def _joined(encoded: list[Any], depth: int) -> str:
    return ", ".join(_type_text(item, depth + 1) for item in encoded)


def bytes_to_text(data: bytes) -> str:
    """Return bytes in base64, the form they have in tagged JSON."""
    return base64.b64encode(data).decode("ascii")


def text_to_bytes(text: str) -> bytes:
    """Reverse `bytes_to_text`.

    Raises:
        ValueError: The text is not base64.
    """
    return base64.b64decode(text.encode("ascii"), validate=True)
