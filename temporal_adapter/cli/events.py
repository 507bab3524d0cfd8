"""How an event of a run looks: as a line for people, and as JSON. Where events come from is not known here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from . import output

_IN_LINE = ("iteration", "state", "executor_id", "request_id", "error")


def event_line(shown: Mapping[str, Any], *, full: bool = False) -> Text:
    """Return an event in one line: its type, what it is about, and its data.

    Args:
        shown: Its JSON: `type`, `data`, and what else of `executor_id`, `iteration`, `state`, `request_id` and `error`.
        full: Whether long data is shown whole, over several lines. A warning always is.
    """
    words = [output.name(f" {shown[key]}") for key in _IN_LINE if shown.get(key) is not None]
    if shown["data"] is None:
        return Text.assemble(output.name(shown["type"], "bold"), *words)
    data = output.value(shown["data"], full=full or shown["type"] == "warning")
    return Text.assemble(output.name(shown["type"], "bold"), *words, Text(f" {data}"))
