"""What an executor sent and showed, as a result that names each value once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agent_framework import WorkflowErrorDetails, WorkflowEvent, WorkflowEventSource

from temporal_adapter import wire
from temporal_adapter.payload import Writer
from temporal_adapter.values import Codec, EncodeError


class ResultTable:
    """Encoded values of one result, each kept once: a message is also in `executor_completed`, an output too."""

    def __init__(self, codec: Codec) -> None:
        self.encoded: list[Any] = []
        self._codec = codec
        self.outputs: set[int] = set()  # places of values that are outputs of the run
        self._index: dict[str, int] = {}

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
        return self._index[digest]


async def result_events(
    events: Sequence[WorkflowEvent[Any]], table: ResultTable, writer: Writer
) -> list[wire.ResultEvent]:
    """Return the events as shapes, in order."""
    return [await _result_event(event, table, writer) for event in events]


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
        return None, [table.index(item, f"{path}[{position}]") for position, item in enumerate(data)]
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
