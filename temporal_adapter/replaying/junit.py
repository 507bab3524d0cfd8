"""JUnit XML of a gate: a test suite with a case for each history, as CI systems show it. Needs `junitparser`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite  # pyright: ignore[reportMissingTypeStubs]

from .verdicts import Replayed

_SUITE = "temporal-adapter replay"


def write_junit(path: str | Path, replayed: Sequence[Replayed]) -> None:
    """Write what histories came to into a file.

    A history that diverges, or fails, is a failed case; a file without one an error; another's workflow is skipped.

    Args:
        path: Of the file; directories above it are made.
        replayed: Cases, in order.

    Raises:
        OSError: The file cannot be written.
    """
    suite = cast("Any", TestSuite(_SUITE))
    for one in replayed:
        suite.add_testcase(_case(one))
    document = cast("Any", JUnitXml(_SUITE))
    document.add_testsuite(suite)
    document.update_statistics()
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    document.write(str(path), pretty=True)


def _case(one: Replayed) -> Any:
    case = cast(
        "Any", TestCase(_xml(one.source or one.workflow_id), _xml(one.workflow_name or _SUITE), round(one.seconds, 3))
    )
    if one.outcome == "replays":
        return case
    if one.outcome == "foreign":
        return _with_result(case, Skipped(_xml(one.reason)))
    kind = Error if one.outcome == "unreadable" else Failure
    result = cast("Any", kind(_xml(one.reason), one.outcome))
    details = [f"run: {one.workflow_id} {one.run_id}".rstrip(), one.reason]
    if one.temporal and one.temporal != one.reason:
        details.append(f"Temporal: {one.temporal}")
    result.text = _xml("\n".join(details))
    return _with_result(case, result)


def _with_result(case: Any, result: Any) -> Any:
    case.result = [result]
    return case


def _xml(text: str) -> str:
    """Return text without the characters that XML 1.0 cannot hold, which are shown as Python escapes them."""
    return "".join(
        char
        if char in "\t\n\r" or ("\x20" <= char <= "\ud7ff") or ("\ue000" <= char <= "\ufffd") or char > "\uffff"
        else char.encode("unicode_escape").decode()
        for char in text
    )
