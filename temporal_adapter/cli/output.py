"""How answers look: for people at a terminal, for people behind a pipe, and as JSON.

Behind a pipe there are no colours, and no line is cut or broken, however long: what is piped is searched and cut by
other programs. Text from runs is shown with what could steer a terminal escaped. What is shown is the commands'.
"""

from __future__ import annotations

import functools
import json
import sys
from datetime import datetime, timedelta, timezone
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNLIMITED = 1_000_000  # characters in a line
_NARROW = 72  # columns of a terminal in which ids have to be folded
_SHORT = 160  # characters of a value that is not shown in full


@functools.cache
def console() -> Console:
    """Return the console of the standard output."""
    at_terminal = Console(markup=False, highlight=False, emoji=False)
    if at_terminal.is_terminal:
        return at_terminal
    return Console(markup=False, highlight=False, emoji=False, width=_UNLIMITED, color_system=None)


def print_json(document: Any) -> None:
    """Print the one JSON document that a command answers with `--json`."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def printable(text: str) -> str:
    """Return text in which control characters, lone surrogates and the like are escaped; line breaks stay."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in text
    )


def name(text: str, style: str = "") -> Text:
    """Return an id or another name, in one line."""
    return Text(printable(text).replace("\n", "\\n") or '""', style)


def moment(timestamp: str) -> str:
    """Return a time as people read it, in UTC: `2026-01-05 10:00:04Z`."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone(timezone.utc):%Y-%m-%d %H:%M:%SZ}"
    except ValueError:  # another's checkpoint may have any text there
        return printable(timestamp)


def age(age: timedelta) -> str:
    """Return an age in its one or two largest units, as `--older-than` takes it: `3d4h`, `12m`, `0s`."""
    seconds = max(0, int(age.total_seconds()))
    parts: list[str] = []
    for unit, size in {"d": 86400, "h": 3600, "m": 60, "s": 1}.items():
        number, seconds = divmod(seconds, size)
        if number or parts:
            parts.append(f"{number}{unit}" if number else "")
        if len(parts) == 2:
            break
    return "".join(parts) or "0s"


def value(plain: Any, *, full: bool = False) -> str:
    """Return plain JSON as text: in one line, long ones cut with a note; or whole, over several lines."""
    text = json.dumps(plain, ensure_ascii=False)
    if full and len(text) > _SHORT:
        return printable(json.dumps(plain, ensure_ascii=False, indent=2))
    if full or len(text) <= _SHORT:
        return printable(text)
    return f"{printable(text[:_SHORT])}... ({len(text):,} characters in all; --full shows them)"


def table(*columns: str, whole: int = 1) -> Table:
    """Return an empty table. No cell is ever cut: at a terminal too narrow for it, it goes over several lines.

    Args:
        columns: Headings.
        whole: So many columns, from the left, stay in one line while others can give way: ids are to be copied.
    """
    gap = 1 if console().is_terminal else 2
    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for place, column in enumerate(columns):
        made.add_column(column, overflow="fold", no_wrap=place < whole and console().width >= _NARROW)
    return made
