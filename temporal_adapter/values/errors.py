"""Errors of the codec. Each names the thing that is wrong and what to do; none is ever raised half way into a write."""

from __future__ import annotations

_SHOWN_SEGMENTS = 12  # of an attribute path; a path into a cycle would fill pages


class EncodeError(ValueError):
    """An object that cannot be stored.

    Attributes:
        segments: The way to it from the object that was given, such as `(".items", "[3]", ".client")`.
    """

    segments: tuple[str, ...] = ()  # of the class, since a client raises a worker's error again without its `__init__`

    def __init__(self, problem: str) -> None:
        super().__init__(problem)

    @property
    def problem(self) -> str:
        """What is wrong and what to do, a sentence that starts in lower case."""
        return str(self.args[0])

    def within(self, segment: str) -> None:
        """Note that the object was found at `segment` of a larger one. Called while the error travels outwards."""
        self.segments = (segment, *self.segments)

    @property
    def path(self) -> str:
        """The segments as one string, cut when very long."""
        path = "".join(self.segments[:_SHOWN_SEGMENTS])
        return f"{path}..." if len(self.segments) > _SHOWN_SEGMENTS else path

    def __str__(self) -> str:
        path = self.path.removeprefix(".")
        return f"{path}: {self.problem}" if path else self.problem


class DecodeError(ValueError):
    """Tagged JSON that cannot be read: of an unknown kind, a wrong shape, or a type that is not trusted."""


class CoercionError(ValueError):
    """JSON from a person or another language that is none of the types it should be."""
