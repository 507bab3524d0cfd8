"""A request's data as people read it: nested lists of terms and rows of tables instead of JSON, within bounds.

Only the shape is made here, for the templates; what is text stays text, and they escape it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

_MOST_PARTS = 2_000  # terms, items and cells; beyond them, JSON text
_DEEPEST = 8
_MOST_TEXT = 200_000  # characters of one text
_MOST_COLUMNS = 8


@dataclass(frozen=True)
class Words:
    """Something in one piece. `kind` is text, number, yes-no, nothing or json."""

    text: str
    kind: str


@dataclass(frozen=True)
class Terms:
    """An object."""

    terms: tuple[tuple[str, Shown], ...]


@dataclass(frozen=True)
class Listed:
    """A list."""

    items: tuple[Shown, ...]


@dataclass(frozen=True)
class Tabled:
    """A list of objects with the same few keys, none of which has parts."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Words, ...], ...]


@dataclass(frozen=True)
class Away:
    """What is in the blob store, which this inbox was not told of. `size` is in bytes of JSON."""

    size: int


Shown: TypeAlias = "Words | Terms | Listed | Tabled | Away"


def shown(data: Any) -> Shown:
    """Return the shape of plain JSON for people. Never raises."""
    return _Showing().part(data, 0)


def summary(data: Any, most: int = 120) -> str:
    """Return plain JSON in a few words, for a row of a list."""
    if isinstance(data, dict):
        found = [f"{key}: {_word(value)}" for key, value in cast("dict[str, Any]", data).items()]
        text = ", ".join(found)
    else:
        text = _word(data)
    text = " ".join(text[: 4 * most].split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        count = len(cast("list[Any]", value))
        return f"({count} {'entry' if count == 1 else 'entries'})"
    return _scalar(value).text


class _Showing:
    def __init__(self) -> None:
        self._parts = 0

    def part(self, data: Any, depth: int) -> Shown:
        self._parts += 1
        if not isinstance(data, (dict, list)) or not data:
            return _scalar(data)
        if depth >= _DEEPEST or self._parts + len(cast("list[Any]", data)) > _MOST_PARTS:
            return Words(_cut(json.dumps(data, ensure_ascii=False, indent=2)), "json")
        if isinstance(data, list):
            items = cast("list[Any]", data)
            table = self._table(items)
            return table or Listed(tuple(self.part(one, depth + 1) for one in items))
        found = cast("dict[str, Any]", data)
        if _is_away(found):
            return Away(found["size"])
        return Terms(tuple((key, self.part(value, depth + 1)) for key, value in found.items()))

    def _table(self, items: list[Any]) -> Tabled | None:
        if len(items) < 2 or not all(isinstance(one, dict) for one in items):
            return None
        columns = tuple(items[0])
        cells = len(items) * len(columns)
        if not 1 < len(columns) <= _MOST_COLUMNS or self._parts + cells > _MOST_PARTS:
            return None
        if any(tuple(one) != columns or any(_has_parts(cell) for cell in one.values()) for one in items):
            return None
        self._parts += cells
        return Tabled(columns, tuple(tuple(_scalar(cell) for cell in one.values()) for one in items))


def _has_parts(value: Any) -> bool:
    return isinstance(value, (dict, list)) and value not in ({}, [])


def _is_away(found: Mapping[str, Any]) -> bool:
    return set(found) == {"ref", "size"} and isinstance(found["ref"], str) and isinstance(found["size"], int)


def _scalar(value: Any) -> Words:
    if value is None or value in ({}, []):
        return Words("nothing", "nothing")
    if isinstance(value, bool):
        return Words("yes" if value else "no", "yes-no")
    if isinstance(value, str):
        return Words(_cut(value), "text") if value else Words("(empty)", "nothing")
    return Words(json.dumps(value), "number")


def _cut(text: str) -> str:
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[:_MOST_TEXT]}… ({len(text):,} characters in all; the JSON API has them)"
