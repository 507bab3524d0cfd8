"""A form with what is typed in it, and back: the JSON that it stands for.

Fields are named by their path: `response`, `response/items/0/amount`. A part of a path that has `/` or `~` in it is
escaped as in a JSON pointer. Beside them there are, by the same path, `count:` (rows of a list), `which:` (the kind
that was chosen of several) and `given:` (a tick).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, Final, cast

from .nodes import COMPOSITE, Choice, Either, Group, Items, Json, Moment, Node, Number, Place, Text, YesNo

ROOT = "response"

_MOST_ROWS = 200
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_OMITTED: Final = object()

Typed = Mapping[str, str]


class Mistyped(ValueError):
    """What was typed is no JSON; `errors` says what of it, by the paths of fields."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(errors.values()))
        self.errors = dict(errors)


@dataclass(frozen=True)
class Form:
    """A form as it is shown.

    Attributes:
        place: What it is a form for.
        typed: What is in the fields, by name.
        errors: What is wrong with it, by path.
    """

    place: Place
    typed: Typed
    errors: Mapping[str, str] = field(default_factory=dict[str, str])

    def value(self) -> Any:
        """Return the JSON that the form stands for.

        Raises:
            Mistyped: It stands for none.
        """
        errors: dict[str, str] = {}
        value = _read(self.place, ROOT, self.typed, errors)
        if not errors and value == "" and isinstance(self.place.node, Text):
            errors[ROOT] = "Write an answer."
        if errors:
            raise Mistyped(errors)
        return value

    def with_errors(self, errors: Mapping[str, str]) -> Form:
        """Return the form with what is wrong with it."""
        return replace(self, errors=errors)

    def rows(self, path: str, items: Items) -> int:
        """Return how many rows a list has."""
        return _rows(path, items, self.typed)

    def with_row(self, path: str) -> Form:
        """Return the form with one row more in a list."""
        place = _place_at(self.place, path)
        if place is None or not isinstance(place.node, Items):
            return self
        rows = _rows(path, place.node, self.typed)
        if rows == _MOST_ROWS:
            return self
        typed = {**self.typed, f"count:{path}": str(rows + 1)}
        _write_blank(place.node.item, child(path, rows), typed)
        return replace(self, typed=typed)

    def without_row(self, path: str) -> Form:
        """Return the form without a row of a list; `path` is the row's."""
        of_list, _, place = path.rpartition("/")
        count, gone = _count(self.typed.get(f"count:{of_list}")), _count(place)
        kept: dict[str, str] = {}
        for name, text in self.typed.items():
            moved = _moved(name, of_list, gone)
            if moved is not None:
                kept[moved] = text
        return replace(self, typed={**kept, f"count:{of_list}": str(max(count - 1, 0))})


def empty_form(node: Node) -> Form:
    """Return a form for a node, with its defaults filled in."""
    place = Place(node=node)
    typed: dict[str, str] = {}
    _write_blank(place, ROOT, typed)
    return Form(place, typed)


def filled_form(node: Node, value: Any) -> Form:
    """Return a form for a node that stands for a value, as far as the value fits it."""
    place = Place(node=node)
    typed: dict[str, str] = {}
    _write(place, ROOT, value, typed)
    return Form(place, typed)


def child(path: str, part: str | int) -> str:
    """Return the path of a part of what is at a path."""
    return f"{path}/{str(part).replace('~', '~0').replace('/', '~1')}"


def _place_at(place: Place, path: str) -> Place | None:
    """Return what is at a path, if anything."""
    _, *parts = path.split("/")
    for part in parts:
        node, part = place.node, part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Group):
            found = [entry.place for entry in node.entries if entry.key == part]
        elif isinstance(node, Items):
            found = [node.item]
        else:
            found = (
                [one for which, one in enumerate(node.places) if str(which) == part] if isinstance(node, Either) else []
            )
        if not found:
            return None
        place = found[0]
    return place


# --- reading ------------------------------------------------------------------------------------------------


def _read(place: Place, path: str, typed: Typed, errors: dict[str, str]) -> Any:
    """Return what is typed for a place, or `_OMITTED`; note what is wrong with it."""
    if _is_blank(place, path, typed):
        return None if place.blank == "null" else _OMITTED
    node, text = place.node, typed.get(path, "")
    try:
        if isinstance(node, Group):
            read = {entry.key: _read(entry.place, child(path, entry.key), typed, errors) for entry in node.entries}
            return {key: value for key, value in read.items() if value is not _OMITTED}
        if isinstance(node, Items):
            return [_read(node.item, child(path, row), typed, errors) for row in range(_rows(path, node, typed))]
        if isinstance(node, Either):
            which = _chosen(typed.get(f"which:{path}"), len(node.places))
            return _read(node.places[which], child(path, which), typed, errors)
        return _scalar(node, text)
    except ValueError as error:
        errors[path] = str(error)
        return None


def _is_blank(place: Place, path: str, typed: Typed) -> bool:
    if place.blank is None:
        return False
    if isinstance(place.node, COMPOSITE):
        return place.asks_whether and f"given:{path}" not in typed
    if typed.get(path):
        return False
    # An empty text is not left blank where it takes the place of another one.
    is_text = isinstance(place.node, Text) and place.node.kind in ("text", "textarea")
    return not (is_text and place.blank == "omit" and isinstance(place.default, str))


def _scalar(node: Node, text: str) -> Any:
    if isinstance(node, Text):
        return text.replace("\r\n", "\n")
    if isinstance(node, Moment):
        return _moment(text)
    if isinstance(node, Number):
        return _number(text.strip(), node)
    if isinstance(node, YesNo):
        if text not in ("true", "false"):
            raise ValueError("Choose yes or no.")
        return text == "true"
    if isinstance(node, Choice):
        return node.values[_chosen(text, len(node.values))]
    return _json(text)


def _moment(text: str) -> str:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("Give a date and a time.") from None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).isoformat()


def _number(text: str, node: Number) -> int | float:
    if _INTEGER.fullmatch(text):
        return int(text)
    if node.integer:
        raise ValueError(f"{_short(text)} is not a whole number." if text else "Give a whole number.")
    try:
        found = float(text)
    except ValueError:
        raise ValueError(f"{_short(text)} is not a number." if text else "Give a number.") from None
    if found in (float("inf"), float("-inf")) or found != found:
        raise ValueError(f"{_short(text)} is not a number that JSON has.")
    return found


def _json(text: str) -> Any:
    if not text.strip():
        raise ValueError('Write JSON, such as true, 12, "text" or {"key": "value"}.')
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"This is not JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise ValueError("This JSON is nested too deeply.") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON.")


def _chosen(text: str | None, count: int) -> int:
    """Return which of some is chosen; the first where there is no choice."""
    if count == 1:
        return 0
    if text is None or not text.isascii() or not text.isdecimal() or int(text) >= count:
        raise ValueError("Choose one of these.")
    return int(text)


def _rows(path: str, items: Items, typed: Typed) -> int:
    return min(max(_count(typed.get(f"count:{path}")), items.least), _MOST_ROWS)


def _count(text: str | None) -> int:
    return int(text) if text and len(text) < 6 and text.isascii() and text.isdecimal() else 0


def _short(text: str) -> str:
    return f'"{text}"' if len(text) <= 40 else f'"{text[:40]}..."'


def _moved(name: str, of_list: str, gone: int) -> str | None:
    """Return a field's name once a row before it is gone; None for a field of that row."""
    mark, colon, path = name.partition(":")
    if not colon or mark not in ("count", "which", "given"):
        mark, colon, path = "", "", name
    if not path.startswith(f"{of_list}/"):
        return name
    row, slash, rest = path[len(of_list) + 1 :].partition("/")
    place = _count(row)
    if place == gone:
        return None
    return f"{mark}{colon}{of_list}/{place - 1}{slash}{rest}" if place > gone else name


# --- writing ------------------------------------------------------------------------------------------------


def _write_blank(place: Place, path: str, typed: dict[str, str]) -> None:
    """Fill in what a form shows before anybody typed: defaults, and as many rows as there must be."""
    if place.has_default and not (place.blank == "null" and place.default is None):
        _write(place, path, place.default, typed)
        return
    node = place.node
    if isinstance(node, Group):
        for entry in node.entries:
            _write_blank(entry.place, child(path, entry.key), typed)
    elif isinstance(node, Items):
        typed[f"count:{path}"] = str(min(node.least, _MOST_ROWS))
        for row in range(_rows(path, node, typed)):
            _write_blank(node.item, child(path, row), typed)
    elif isinstance(node, Either):
        for which, one in enumerate(node.places):
            _write_blank(one, child(path, which), typed)


def _write(place: Place, path: str, value: Any, typed: dict[str, str]) -> None:
    """Fill in a value; of one that does not fit, nothing."""
    node = place.node
    if place.blank == "null" and value is None:
        return
    if place.asks_whether:
        typed[f"given:{path}"] = "on"
    if isinstance(node, Group):
        properties = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        for entry in node.entries:
            if entry.key in properties:
                _write(entry.place, child(path, entry.key), properties[entry.key], typed)
            elif entry.place.blank != "omit" or not entry.place.asks_whether:
                _write_blank(entry.place, child(path, entry.key), typed)
    elif isinstance(node, Items):
        items = cast("list[Any]", value) if isinstance(value, list) else []
        typed[f"count:{path}"] = str(len(items))
        for row, item in enumerate(items[:_MOST_ROWS]):
            _write(node.item, child(path, row), item, typed)
    elif isinstance(node, Either):
        _write_either(node, path, value, typed)
    else:
        text = _text_of(node, value)
        if text is not None:
            typed[path] = text


def _write_either(node: Either, path: str, value: Any, typed: dict[str, str]) -> None:
    for which, one in enumerate(node.places):
        tried: dict[str, str] = {}
        _write(one, child(path, which), value, tried)
        errors: dict[str, str] = {}
        read = _read(one, child(path, which), tried, errors)
        if not errors and _same(read, value):
            typed.update(tried)
            typed[f"which:{path}"] = str(which)
            return


def _text_of(node: Node, value: Any) -> str | None:
    if isinstance(node, Text):
        return value if isinstance(value, str) else None
    if isinstance(node, Moment):
        return _moment_text(value)
    if isinstance(node, YesNo):
        return json.dumps(value) if isinstance(value, bool) else None
    if isinstance(node, Number):
        return json.dumps(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if isinstance(node, Choice):
        return next((str(place) for place, one in enumerate(node.values) if _same(one, value)), None)
    return json.dumps(value, ensure_ascii=False, indent=2) if isinstance(node, Json) else None


def _moment_text(value: Any) -> str | None:
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None
    found = found.astimezone(timezone.utc) if found.tzinfo else found
    return found.replace(tzinfo=None).isoformat(timespec="seconds" if not found.microsecond else "milliseconds")


def _same(one: Any, other: Any) -> bool:
    """Whether two are the same JSON; 1, 1.0 and true are not."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
