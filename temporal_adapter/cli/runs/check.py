"""One finding of `doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Check:
    """What was looked at, and how it is.

    Attributes:
        subject: What was looked at, such as `task queue 'expenses'`.
        result: How it is. A warning need not be mended for runs to work.
        detail: What was found.
        fix: What to do.
    """

    subject: str
    result: Literal["ok", "warning", "problem"]
    detail: str
    fix: str | None = None
