"""Says where two object trees first differ, in words a person can act on. Knows nothing of workflows.

Objects of any class can be compared: what has no equality of its own is taken apart into its attributes. Types count
(`1` is not `1.0`, nor `True`), and so does the order of a dict's keys. UUIDs, and what MAF makes of them (ids of
function calls, names of workflows that were given none), may differ, if they differ alike throughout.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

_SCALARS = (type(None), bool, int, float, complex, str, bytes)
_UUID = re.compile(r"(WorkflowBuilder-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|af-call-[0-9a-f]{32}")
_SHORT = 300  # characters of a value that a message may hold

SIDES = ("in-process", "on Temporal")
"""What messages call the two trees."""


def first_difference(expected: Any, actual: Any, path: str = "", *, sides: tuple[str, str] = SIDES) -> str | None:
    """Return where and how the second tree differs from the first, or None.

    Args:
        expected: What is right.
        actual: What is compared to it.
        path: Where both stand, such as `superstep 2`.
        sides: What the message calls the two.
    """
    return next(_Comparison(sides).differences(expected, actual, path), None)


class _Comparison:
    """One walk over two trees."""

    def __init__(self, sides: tuple[str, str]) -> None:
        self._left, self._right = sides
        self._uuids: dict[str, str] = {}  # left -> right

    def differences(self, expected: Any, actual: Any, path: str) -> Iterator[str]:
        """Yield the differences, depth first."""
        if type(expected) is not type(actual):
            yield self._say(path, expected, actual)
        elif isinstance(expected, (*_SCALARS, type, enum.Enum)):
            if expected != actual and not self._same_uuid(expected, actual):
                yield self._say(path, expected, actual)
        elif isinstance(expected, Mapping):
            yield from self._of_mappings(cast("Mapping[Any, Any]", expected), actual, path)
        elif isinstance(expected, (list, tuple)):
            yield from self._of_sequences(cast("Sequence[Any]", expected), actual, path)
        elif isinstance(expected, (set, frozenset)):
            left, right = _sorted(expected), _sorted(actual)
            yield from self._of_sequences(left, right, path)
        else:
            yield from self._of_objects(expected, actual, path)

    def _same_uuid(self, expected: Any, actual: Any) -> bool:
        """Whether both are random ids that a run made itself, and stand for each other throughout."""
        if not isinstance(expected, str):
            return False
        left, right = _ids_in(expected), _ids_in(actual)
        if len(left) != len(right) or _UUID.sub("", expected) != _UUID.sub("", actual):
            return False
        return all(self._uuids.setdefault(one, other) == other for one, other in zip(left, right, strict=True))

    def _of_mappings(self, expected: Mapping[Any, Any], actual: Mapping[Any, Any], path: str) -> Iterator[str]:
        expected = self._with_ids_of(actual, expected)
        for key in expected:
            if key not in actual:
                yield f"{path}: key {key!r} is {self._left} only, with {_short(expected[key])}"
        for key in actual:
            if key not in expected:
                yield f"{path}: key {key!r} is {self._right} only, with {_short(actual[key])}"
        for key in expected:
            yield from self.differences(expected[key], actual[key], f"{path}[{key!r}]")
        if list(expected) != list(actual):
            yield f"{path}: keys are in order {list(expected)} {self._left}, and {list(actual)} {self._right}"

    def _with_ids_of(self, actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Name the entries whose keys are random ids as they are named on the right."""
        for left, right in zip(expected, actual, strict=False):
            if isinstance(right, str) and left != right:
                self._same_uuid(left, right)
        return {self._uuids.get(key, key): value for key, value in expected.items()}

    def _of_sequences(self, expected: Sequence[Any], actual: Sequence[Any], path: str) -> Iterator[str]:
        for index, (left, right) in enumerate(zip(expected, actual, strict=False)):
            yield from self.differences(left, right, f"{path}[{index}]")
        if len(expected) != len(actual):
            common = min(len(expected), len(actual))
            side, longer = (self._left, expected) if len(expected) > common else (self._right, actual)
            counts = f"{len(expected)} items {self._left}, {len(actual)} {self._right}"
            yield f"{path}: {counts}; [{common}] is {side} only, with {_short(longer[common])}"

    def _of_objects(self, expected: Any, actual: Any, path: str) -> Iterator[str]:
        if isinstance(expected, BaseException):
            yield from self.differences(expected.args, actual.args, f"{path}.args")
        elif dataclasses.is_dataclass(expected) or hasattr(expected, "__dict__"):
            left, right = _attributes(expected), _attributes(actual)
            for name in sorted({*left, *right}):
                yield from self.differences(left.get(name), right.get(name), f"{path}.{name}")
        elif expected != actual:
            yield self._say(path, expected, actual)

    def _say(self, path: str, expected: Any, actual: Any) -> str:
        return f"{path}: {self._both(expected, actual)}"

    def _both(self, expected: Any, actual: Any) -> str:
        return f"{self._left} {_short(expected)}, {self._right} {_short(actual)}"


def _ids_in(text: str) -> list[str]:
    return [match[0] for match in _UUID.finditer(text)]


def _sorted(members: Any) -> list[Any]:
    return sorted(cast("set[Any]", members), key=repr)


def _attributes(obj: Any) -> dict[str, Any]:
    if hasattr(obj, "__dict__"):
        return dict(cast("dict[str, Any]", vars(obj)))
    return {field.name: getattr(obj, field.name) for field in dataclasses.fields(obj)}  # a dataclass with slots


def _short(value: Any) -> str:
    text = f"{value!r} ({type(value).__name__})"
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
