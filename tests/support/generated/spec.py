"""Specifications of workflows and of what happens to them. Plain data: nothing here knows MAF or Hypothesis.

What an executor does with a message is decided by its *fuel*, a number that every message has (`fuel_of`). A message is
passed on only with less fuel than it came with, divided among all that is sent, so that every run ends, and soon.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal


class Printed:
    """Prints as the code that makes it, without what is as by default."""

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if field.default is dataclasses.MISSING or getattr(self, field.name) != field.default
        )
        return f"{type(self).__name__}({shown})"


# --- values -------------------------------------------------------------------------------------------------

Kind = Literal["token", "number", "text", "mapping", "none", "empty text", "zero", "false", "empty list"]
FUELED: tuple[Kind, ...] = ("token", "number", "text", "mapping")
FALSY: tuple[Kind, ...] = ("none", "empty text", "zero", "false", "empty list")


# --- what executors do --------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Send(Printed):
    """Send messages, to all or to one target."""

    kind: Kind = "token"
    times: int = 1
    to: str | None = None


@dataclass(frozen=True, repr=False)
class Yield(Printed):
    """Yield an output; `remembered` yields what the executor remembers."""

    kind: Kind | Literal["remembered"] = "text"


@dataclass(frozen=True, repr=False)
class Write(Printed):
    """Change the executor's own key of the shared state. `nest` changes a list inside of it in place."""

    how: Literal["set", "count", "nest", "delete"] = "set"
    kind: Kind = "token"


@dataclass(frozen=True, repr=False)
class Peek(Printed):
    """Yield another executor's key of the shared state, which nobody writes in the same superstep."""

    of: str


@dataclass(frozen=True, repr=False)
class Remember(Printed):
    """Add the message to what the executor remembers in an attribute."""


@dataclass(frozen=True, repr=False)
class Show(Printed):
    """Add an event of the user's own."""

    kind: Kind = "text"


@dataclass(frozen=True, repr=False)
class Ask(Printed):
    """Request information, several times at once; `named` requests have ids of the executor's own."""

    kind: Literal["token", "text", "mapping"] = "text"
    answer: Literal["number", "text", "yes", "token"] = "number"
    times: int = 1
    named: bool = False


@dataclass(frozen=True, repr=False)
class Fail(Printed):
    """Raise an error."""


Action = Send | Yield | Write | Peek | Remember | Show | Ask | Fail


@dataclass(frozen=True, repr=False)
class Node(Printed):
    """An executor.

    Attributes:
        takes: The types it has handlers for, alone and in a list.
        does: With a message; those of `odd` are done instead with a message of odd fuel, if there are any.
        answered: With a response.
        hooks: Whether what it remembers travels by checkpoint hooks; else it is an attribute like any other.
        intercepts: Whether it answers requests of sub-workflows that reach it as messages.
    """

    id: str
    does: tuple[Action, ...] = ()
    odd: tuple[Action, ...] = ()
    answered: tuple[Action, ...] = ()
    takes: Literal["any", "numbers", "texts", "tokens"] = "any"
    hooks: bool = False
    intercepts: bool = False


# --- edges --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class When(Printed):
    """A condition on an edge."""

    says: Literal["always", "never", "even", "above", "falsy", "raises"]
    limit: int = 0
    is_async: bool = False


@dataclass(frozen=True, repr=False)
class Edge(Printed):
    source: str
    target: str
    when: When | None = None


@dataclass(frozen=True, repr=False)
class FanOut(Printed):
    source: str
    targets: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class FanIn(Printed):
    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, repr=False)
class Switch(Printed):
    source: str
    cases: tuple[tuple[When, str], ...]
    default: str


@dataclass(frozen=True, repr=False)
class Select(Printed):
    """A multi-selection; `how` names the targets that its function selects."""

    source: str
    targets: tuple[str, ...]
    how: Literal["all", "none", "first", "one by fuel", "last twice", "unknown"] = "all"


AnyEdge = Edge | FanOut | FanIn | Switch | Select


@dataclass(frozen=True, repr=False)
class Graph(Printed):
    """A workflow. The first node is the start.

    Attributes:
        outputs: The nodes whose yields are outputs; None for all.
        intermediate: The nodes whose yields are intermediate outputs.
    """

    nodes: tuple[Node | Sub, ...]
    edges: tuple[AnyEdge, ...] = ()
    outputs: tuple[str, ...] | None = None
    intermediate: tuple[str, ...] = ()
    max_iterations: int = 20
    name: str = "generated"


@dataclass(frozen=True, repr=False)
class Sub(Printed):
    """A sub-workflow as an executor.

    Attributes:
        direct: Its outputs are outputs of the outer workflow; else messages.
        propagates: Its requests are requests of the outer workflow; else messages to an executor there.
    """

    id: str
    graph: Graph
    direct: bool = False
    propagates: bool = False


# --- what happens to a run ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Round(Printed):
    """One pause: which of the pending requests are answered, by their places in a fixed order, and with how much."""

    places: tuple[int, ...] = (0,)
    fuel: int = 2


@dataclass(frozen=True, repr=False)
class Play(Printed):
    """The input, and what is answered at each pause. At the pauses after the last round nothing is answered."""

    kind: Kind = "token"
    fuel: int = 6
    rounds: tuple[Round, ...] = ()


def targets_of(edge: AnyEdge) -> tuple[tuple[str, str], ...]:
    """Return the pairs of source and target that an edge group joins."""
    match edge:
        case Edge():
            return ((edge.source, edge.target),)
        case FanIn():
            return tuple((source, edge.target) for source in edge.sources)
        case Switch():
            return tuple((edge.source, target) for target in (*(one for _, one in edge.cases), edge.default))
        case FanOut() | Select():
            return tuple((edge.source, target) for target in edge.targets)


def types_taken(node: Node | Sub) -> str:
    """Return what a node takes; a sub-workflow takes what its start does."""
    return node.takes if isinstance(node, Node) else types_taken(node.graph.nodes[0])


def fuel_of(value: Any) -> int:
    """Return the fuel of any value that may travel."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return int(value.rpartition(":")[2]) if ":" in value else 0
    if isinstance(value, dict):
        return int(value.get("fuel", 0))
    if isinstance(value, list):
        return sum(map(fuel_of, value))
    return int(getattr(value, "fuel", 0))
