"""The run's event list, in MAF's types and order, and its status as the last status event says."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from temporal_adapter import wire
from temporal_adapter.wire.tags import plain

EVENTS_PER_PAGE = 2000
"""At most, in one answer. A worker replays a run that is over for each, so pages are as large as may be."""

RESULT_OUTPUTS_LIMIT = 1024 * 1024
"""Bytes of outputs that a run's result holds (Temporal's limit for a payload is 2 MiB)."""

RESULT_EVENTS_LIMIT = 512 * 1024
"""Bytes of events up to which a run's result carries them; beyond, they are read by the query `events`."""

PAGE_BYTES = 1024 * 1024
_EVENT_FRAME = 200  # bytes of an event around its payload, roughly


class Journal:
    """Events, appended only.

    Attributes:
        events: The shapes, of which one may stand for many events.
        length: How many events these are.
    """

    def __init__(self) -> None:
        self.events: list[wire.Event] = []
        self.length = 0
        self._offsets: list[int] = []  # of the first event of each shape
        self.state = "STARTED"
        self._outputs: list[wire.Value | None] = []
        self._announced_requests = False  # since the run last went on

    def begin(self) -> None:
        """The run goes on, by an input or by responses: what MAF shows at the start of `Workflow.run`."""
        self._announced_requests = False
        self.emit(wire.Event(type="started"))
        self.status("IN_PROGRESS")

    def emit(self, event: wire.Event) -> None:
        """Append an event; the first request since `begin` also changes the status."""
        self._append(event)
        if event.type == "request_info":
            self.announce_requests()

    def announce_requests(self) -> None:
        """There are pending requests: told once since `begin`."""
        if not self._announced_requests:
            self._announced_requests = True
            self.status("IN_PROGRESS_PENDING_REQUESTS")

    def status(self, state: str) -> None:
        """Append a status event."""
        self.state = state
        self._append(wire.Event(type="status", state=state))

    def superstep(self, type: str, iteration: int) -> None:
        """Append `superstep_started` or `superstep_completed`."""
        # MAF creates these outside its framework-origin block, so their origin is EXECUTOR.
        self._append(wire.Event(type=type, origin="EXECUTOR", iteration=iteration))

    def warn(self, text: str) -> None:
        """Append a `warning` event."""
        data = wire.Value(inline=text, size=len(text) + 2)
        self._append(wire.Event(type="warning", data=data))

    def fail(self, details: wire.ErrorDetails) -> None:
        """Append `failed` and the status FAILED."""
        self._append(wire.Event(type="failed", details=details))
        self.status("FAILED")

    def _append(self, event: wire.Event) -> None:
        self._offsets.append(self.length)
        self.events.append(event)
        self.length += _count(event)

    def merge(self, events: Iterable[wire.Event]) -> None:
        """Keep the outputs of a delivery: in delivery order, whichever executor was first to finish."""
        self._outputs += [event.data for event in events if event.type == "output"]

    def result(self, iteration: int, checkpoint_id: str) -> wire.RunResult:
        """Return the result of a run that ends now."""
        fits = sum(map(weight, self.events)) <= RESULT_EVENTS_LIMIT
        return wire.RunResult(
            outputs=_readable(self._outputs),
            state=self.state,
            iteration=iteration,
            checkpoint_id=checkpoint_id,
            events=list(self.events) if fits else None,
        )

    @property
    def outputs(self) -> list[wire.Value | None]:
        """The payloads of the run's outputs so far, in delivery order."""
        return list(self._outputs)

    def page(self, offset: int, ended: bool) -> wire.EventLog:
        """Return the events from an offset on, as many as fit one answer.

        Raises:
            ValueError: The offset is negative or beyond the last event.
        """
        if not 0 <= offset <= self.length:
            raise ValueError(f"offset {offset} is outside the run's events; it has 0 to {self.length}.")
        first = bisect_right(self._offsets, offset) - 1 if offset < self.length else len(self.events)
        size = 0
        page: list[wire.Event] = []
        for event in self.events[first : first + EVENTS_PER_PAGE]:
            size += weight(event)
            if page and size > PAGE_BYTES:
                break
            page.append(event)
        return wire.EventLog(
            offset=offset,
            events=page,
            ended=ended and first + len(page) == len(self.events),
            skip=offset - self._offsets[first] if page else 0,
        )


def _count(event: wire.Event) -> int:
    return 1 if event.data is None else event.data.many or 1


def weight(event: wire.Event) -> int:
    """Return roughly how many bytes an event takes in JSON."""
    payloads = [*(event.items or []), *([] if event.data is None else [event.data])]
    if event.request is not None:
        payloads.append(event.request.data)
        if event.request.response_schema is not None:
            payloads.append(event.request.response_schema)
    return _EVENT_FRAME + sum(payload.size if payload.ref is None else _EVENT_FRAME for payload in payloads)


def _readable(values: list[wire.Value | None]) -> list[Any]:
    """Return outputs as plain JSON. What is in the store is named; what is too much in all is only counted."""
    readable: list[Any] = []
    size = 0
    for value in values:
        if value is None:
            readable.append(None)
            continue
        size += 0 if value.ref is not None else value.size
        many = {} if value.many is None else {"many": value.many}
        if value.ref is not None:
            readable.append({"ref": value.ref, "size": value.size, **many})
        elif size > RESULT_OUTPUTS_LIMIT:
            readable.append({"see": "query events", "size": value.size, **many})
        elif value.many is not None:
            readable.extend(plain(value.inline))
        else:
            readable.append(plain(value.inline))
    return readable
