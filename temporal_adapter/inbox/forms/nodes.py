"""What a form is made of: one node for each part of a JSON schema. How a node looks is the templates' to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, kw_only=True)
class _Node:
    title: str = ""
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Text(_Node):
    """A string.

    Attributes:
        kind: The `type` of an HTML input, or `textarea`.
        needed: Whether it must not be empty.
    """

    kind: str = "textarea"
    needed: bool = False


@dataclass(frozen=True, kw_only=True)
class Moment(_Node):
    """A date and time, typed and shown in UTC."""


@dataclass(frozen=True, kw_only=True)
class Number(_Node):
    """An integer, or any number."""

    integer: bool
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, kw_only=True)
class YesNo(_Node):
    """A boolean."""


@dataclass(frozen=True, kw_only=True)
class Choice(_Node):
    """One of some values, whatever JSON they are; chosen by place."""

    values: tuple[Any, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Json(_Node):
    """JSON as text: for all that has no form."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A property of a group."""

    key: str
    place: Place


@dataclass(frozen=True, kw_only=True)
class Group(_Node):
    """An object with the properties of its schema."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True)
class Items(_Node):
    """A list."""

    item: Place
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, kw_only=True)
class Either(_Node):
    """One of several kinds of values."""

    places: tuple[Place, ...]
    labels: tuple[str, ...]


Node: TypeAlias = "Text | Moment | Number | YesNo | Choice | Json | Group | Items | Either"

COMPOSITE = (Group, Items, Either)
"""Nodes that cannot be seen to be left blank, so that a form asks whether they are given."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a node is, and what it is when it is left blank.

    Attributes:
        node: The node.
        blank: `null`; `omit` for a property that may be left out; None where something must be given.
        default: What the schema has as default, if it has one.
        has_default: Whether it has one; None can be one.
    """

    node: Node
    blank: Literal["null", "omit"] | None = None
    default: Any = None
    has_default: bool = False

    @property
    def can_be_blank(self) -> bool:
        """Whether the form offers to leave this blank. A property with a default is simply left as it is."""
        return self.blank == "null" or (self.blank == "omit" and not self.has_default)

    @property
    def asks_whether(self) -> bool:
        """Whether the form asks by a tick if this is given at all."""
        return self.can_be_blank and isinstance(self.node, COMPOSITE)
