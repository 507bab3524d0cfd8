"""What an executor sent and showed, as a result that names each value once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, cast

from agent_framework import WorkflowErrorDetails, WorkflowEvent, WorkflowEventSource

from temporal_adapter import wire
from temporal_adapter.payload import Writer
from temporal_adapter.values import Codec, EncodeError

_STRIP = 16
"""From how many on consecutive yields of a streaming run are one value: history must not grow by an agent's every
word, nor the blob store by an object for each."""


class ResultTable:
    """Encoded values of one result, each kept once: a message is also in `executor_completed`, an output too.

    Attributes:
        encoded: The values, in order of their places.
        outputs: Places of values that are outputs of the run.
        many: Of strips, by place, how many objects each holds.
        uses: By place, how often a value is used: in history it is as often.
    """

    def __init__(self, codec: Codec) -> None:
        self.encoded: list[Any] = []
        self.outputs: set[int] = set()
        self.many: dict[int, int] = {}
        self.uses: Counter[int] = Counter()
        self._codec = codec
        self._index: dict[str, int] = {}
        self._strips: list[tuple[int, list[Any]]] = []  # place and objects, in order

    def index(self, obj: Any, path: str) -> int:
        """Return the place of an object; `path` names it in errors.

        Raises:
            EncodeError: The object cannot be encoded.
        """
        return self.add(self._codec.encode(obj, path))

    def add(self, encoded: Any) -> int:
        """Return the place of a value that is encoded already."""
        digest = wire.digest(wire.to_bytes(encoded))
        if digest not in self._index:
            self._index[digest] = len(self.encoded)
            self.encoded.append(encoded)
        self.uses[self._index[digest]] += 1
        return self._index[digest]

    def strip(self, objects: Iterable[Any], path: str) -> int:
        """Return the place of a new value that holds all these objects."""
        encoded = [self._codec.encode(obj, f"{path}[{position}]") for position, obj in enumerate(objects)]
        place = len(self.encoded)
        self.encoded.append(encoded)
        self.many[place] = len(encoded)
        self._strips.append((place, encoded))
        return place

    def items(self, objects: Sequence[Any], path: str) -> list[int]:
        """Return the places of objects; those that are strips already, in that order, are at these places."""
        encoded = [self._codec.encode(obj, f"{path}[{position}]") for position, obj in enumerate(objects)]
        places: list[int] = []
        position = 0
        for place, strip in [*self._strips, (-1, [])]:
            start = _find(encoded, strip, position) if strip else len(encoded)
            if start is not None:
                places += [self.add(one) for one in encoded[position:start]]
                places += [place] if strip else []
                position = start + len(strip)
        return places


def _find(encoded: list[Any], strip: list[Any], position: int) -> int | None:
    """Return where a strip's objects are among others, from a position on."""
    for start in range(position, len(encoded) - len(strip) + 1):
        if encoded[start] == strip[0] and encoded[start : start + len(strip)] == strip:
            return start
    return None


async def result_events(
    events: Sequence[WorkflowEvent[Any]], table: ResultTable, writer: Writer, *, strips: bool = False
) -> list[wire.ResultEvent]:
    """Return the events as shapes, in order; with strips, one shape may stand for many yields."""
    shapes: list[wire.ResultEvent] = []
    for kind, group in groupby(events, _kind):
        alike = list(group)
        if strips and kind is not None and len(alike) >= _STRIP:
            shapes.append(_strip_event(alike, table))
        else:
            shapes += [await _result_event(event, table, writer) for event in alike]
    return shapes


def _kind(event: WorkflowEvent[Any]) -> tuple[str, str | None] | None:
    """Return what events that may share a strip have in common: yields of one executor."""
    return (event.type, event.executor_id) if event.type in ("output", "intermediate") else None


def _strip_event(events: Sequence[WorkflowEvent[Any]], table: ResultTable) -> wire.ResultEvent:
    first = events[0]
    place = table.strip((event.data for event in events), f"{first.type} events")
    return wire.ResultEvent(type=first.type, origin=first.origin.value, data=place, executor_id=first.executor_id)


async def _result_event(event: WorkflowEvent[Any], table: ResultTable, writer: Writer) -> wire.ResultEvent:
    data, items = _payload(event, table)
    return wire.ResultEvent(
        type=event.type,
        origin=event.origin.value,
        data=data,
        items=items,
        executor_id=event.executor_id,
        iteration=event.iteration,
        state=None if event.state is None else event.state.value,
        details=None if event.details is None else error_details(event.details),
        request=await writer.request(event) if event.type == "request_info" else None,
    )


def _payload(event: WorkflowEvent[Any], table: ResultTable) -> tuple[int | None, list[int] | None]:
    path = f"{event.type} event"
    if event.data is None or event.type in ("request_info", "executor_failed") or _is_own_invocation(event):
        return None, None  # known otherwise: the request, the details, the delivery's input
    if event.type == "executor_completed":
        data = cast("list[Any]", event.data)
        return None, table.items(data, path)
    try:
        place = table.index(event.data, path)
    except EncodeError:
        if event.type != "error":
            raise
        # An exception of a type that cannot be stored still says what it said.
        place = table.index(RuntimeError(f"{type(event.data).__name__}: {event.data}"), path)
    if event.type == "output":
        table.outputs.add(place)
    return place, None


def _is_own_invocation(event: WorkflowEvent[Any]) -> bool:
    """Whether this is MAF's event of the delivery itself; a handler may emit another of the type."""
    return event.type == "executor_invoked" and event.origin is WorkflowEventSource.FRAMEWORK


def error_details(details: WorkflowErrorDetails) -> wire.ErrorDetails:
    """Return MAF's error details as a shape."""
    return wire.ErrorDetails(
        error_type=details.error_type,
        message=details.message,
        traceback=details.traceback,
        executor_id=details.executor_id,
        extra=None if details.extra is None else {key: str(value) for key, value in details.extra.items()},
    )
