"""The grammar of tagged JSON, and its reading as plain JSON.

Tagged JSON is JSON with one reserved key. `None`, `bool`, `int`, finite `float`, `str`, `list` and a `dict`
with string keys stand for themselves; everything else is an object whose `$` names its kind:

    {"$": "dataclass", "type": "app:Report", "fields": {...}}

`values.codec` writes and reads the kinds; this module only knows how each looks to a person.
"""

from __future__ import annotations

import base64
from typing import Any, cast

TAG = "$"


def plain(encoded: Any) -> Any:
    """Return tagged JSON without its tags, for people and for readers in other languages.

    Models, dataclasses and objects become their fields, collections lists, enums their values; what has no plain
    form (a pickle) stays tagged.
    """
    if isinstance(encoded, list):
        return [plain(item) for item in cast("list[Any]", encoded)]
    if not isinstance(encoded, dict):
        return encoded
    tagged = cast("dict[str, Any]", encoded)
    kind = tagged.get(TAG)
    if kind is None:
        return {key: plain(value) for key, value in tagged.items()}
    if "fields" in tagged:
        return {key: plain(value) for key, value in tagged["fields"].items()}
    if "items" in tagged:
        items: list[Any] = tagged["items"]
        if kind in _MAPPINGS:
            return {_key(key): plain(value) for key, value in items}
        return [plain(item) for item in items]
    if "value" in tagged:
        return plain(tagged["value"])
    return tagged


_MAPPINGS = frozenset({"dict", "ordereddict", "defaultdict", "counter"})


def _key(encoded: Any) -> str:
    key = plain(encoded)
    return key if isinstance(key, str) else str(key)


def bytes_to_text(data: bytes) -> str:
    """Return bytes in base64, the form they have in tagged JSON."""
    return base64.b64encode(data).decode("ascii")


def text_to_bytes(text: str) -> bytes:
    """Reverse `bytes_to_text`.

    Raises:
        ValueError: The text is not base64.
    """
    return base64.b64decode(text.encode("ascii"), validate=True)
