"""Checkpoints made by hand, with state of many types. How they are stored is not known here."""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from agent_framework import Content, Message, Workflow, WorkflowBuilder, WorkflowCheckpoint, WorkflowMessage
from pydantic import BaseModel

from tests.support.graphs import Report

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Colour(enum.Enum):
    """An enum."""

    RED = "red"


@dataclass(frozen=True)
class Point:
    """A dataclass that is a key, too."""

    x: int
    y: int = 0


@dataclass
class Track:
    """A dataclass that holds others."""

    name: str
    points: list[Point] = field(default_factory=list)


class Invoice(BaseModel):
    """A Pydantic model."""

    number: int
    total: Decimal
    due: date | None = None


STORED = [Colour, Point, Track, Invoice]

STATE: dict[str, Any] = {
    "none": None,
    "bools": [True, False],
    "ints": [0, -1, 2**53 + 1, 10**40],
    "floats": [0.5, -0.0, 1e300, float("inf")],
    "text": "é 🦊 \u202e \x00 \n",
    "empty": ["", [], {}, (), set(), b""],
    "bytes": bytes(range(256)),
    "tuple": (1, (2, [3])),
    "sets": [{3, 1, 2}, frozenset({"a"})],
    "dict": {"b": 1, "a": {"nested": [1, None]}},
    "keys": {1: "int", "1": "str", (1, 2): "tuple", None: "none", Point(1): "point"},
    "counter": Counter("abca"),
    "ordered": OrderedDict([("z", 1), ("a", 2)]),
    "deque": deque([1, 2], maxlen=5),
    "decimal": Decimal("1.50"),
    "date": date(2026, 1, 2),
    "time": [datetime(2026, 1, 2, 3, 4, 5, 6, timezone.utc), datetime(2026, 1, 2), timedelta(days=1, seconds=5)],
    "zone": datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    "uuid": UUID(int=7),
    "complex": 1 + 2j,
    "enum": Colour.RED,
    "dataclass": Track("t", [Point(1, 2), Point(3)]),
    "model": Invoice(number=1, total=Decimal("9.90"), due=date(2026, 2, 1)),
    "messages": [Message("user", ["hello", Content.from_text("there")])],
    "large": "x" * 300_000,
    "tagged": {"$": "pickle", "data": "gASVAAAA", "__pickled__": "x"},
}


def nothing() -> Workflow:
    """A workflow that declares none of these."""
    return WorkflowBuilder(name="nothing", start_executor=Report("only")).build()


def checkpoint(id: str, *, parent: str | None = None, name: str = "sample", **fields: Any) -> WorkflowCheckpoint:
    """Make a checkpoint; `at` is its age in seconds after the first one."""
    at = fields.pop("at", 0)
    return WorkflowCheckpoint(
        workflow_name=name,
        graph_signature_hash="signature",
        checkpoint_id=id,
        previous_checkpoint_id=parent,
        timestamp=(START + timedelta(seconds=at)).isoformat(),
        **fields,
    )


def sent(source: str, data: Any, target: str | None = None) -> WorkflowMessage:
    """Make a message in flight."""
    return WorkflowMessage(data=data, source_id=source, target_id=target)


def lineage_of(count: int, *, name: str = "sample") -> list[WorkflowCheckpoint]:
    """Make checkpoints of which each is the parent of the next, a second apart."""
    ids = [f"{name}-{number}" for number in range(count)]
    parents = [None, *ids]
    return [
        checkpoint(id, parent=parents[number], name=name, at=number, iteration_count=number, state={"number": number})
        for number, id in enumerate(ids)
    ]
