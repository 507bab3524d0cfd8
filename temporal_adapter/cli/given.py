"""What is typed as a value: JSON, a file of it, plain text, an age. Whether it suits a run is not decided here."""

from __future__ import annotations

import json
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from .running import CliError, ExitCode

_AGE = re.compile(
    r"(?:(?P<weeks>\d+)w)?(?:(?P<days>\d+)d)?(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?(?:(?P<seconds>\d+)s)?"
)


def given_value(text: str, what: str, *, as_text: bool) -> Any:
    """Return a value that was typed.

    Args:
        text: JSON; `@FILE`, a file of JSON; or `@-`, JSON at the standard input.
        what: What it is, for messages: the name of an argument or option.
        as_text: Whether it is none of these, but a text that stands for itself.

    Raises:
        CliError: It is not JSON, or there is no such file.
    """
    if as_text:
        return text
    if not text.startswith("@"):
        return parsed_json(text, f"{what}: {text!r} is not JSON", hint=" A text wants quotes, '\"yes\"', or --text.")
    return parsed_json(_read(text[1:], what), f"{what}: {text[1:]!r} does not hold JSON")


def parsed_json(text: str, problem: str, *, hint: str = "") -> Any:
    """Return what JSON text stands for.

    Raises:
        CliError: It is no JSON; says the problem, in brackets the reason, then the hint, if it looks like a mere text.
    """
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        meant_as_json = text.lstrip().startswith(("{", "[", '"'))
        raise CliError(ExitCode.USAGE, f"{problem} ({error}).{'' if meant_as_json else hint}") from error


def given_age(text: str, option: str) -> timedelta:
    """Return an age that was typed, such as `30d`, `12h`, `1d12h`, `2w` or `90m`.

    Raises:
        CliError: It is none.
    """
    found = _AGE.fullmatch(text)
    parts = {unit: int(number) for unit, number in found.groupdict().items() if number} if found else {}
    try:
        if parts:
            return timedelta(**parts)
    except OverflowError:
        pass
    raise CliError(ExitCode.USAGE, f"{option}: {text!r} is no age. Ages are like 30d, 12h, 1d12h, 2w, 90m.")


def _read(name: str, what: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CliError(ExitCode.USAGE, f"{what}: {name!r} cannot be read: {reason}.") from error


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
