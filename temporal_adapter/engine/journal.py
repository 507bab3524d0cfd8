"""The run's event list, in MAF's types and order, and its status as the last status event says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from temporal_adapter import wire
from temporal_adapter.wire.tags import plain

from .log import Log

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
        log: The shapes, of which one may stand for many events.
        outputs: The payloads of the run's outputs so far, in delivery order.
        state: MAF's WorkflowRunState.
        announced_requests: Whether it was told, since the run last went on, that there are pending requests.
    """

    def __init__(self) -> None:
        self.log: Log[wire.Event] = Log(_count)
        self.outputs: Log[wire.Value | None] = Log(_count_of_output)
        self.state = "STARTED"
        self.announced_requests = False

    @property
    def events(self) -> list[wire.Event]:
        """The shapes that are not in the blob store."""
        return self.log.items

    @property
    def length(self) -> int:
        """How many events there are in all."""
        return self.log.length

    def begin(self) -> None:
        """The run goes on, by an input or by responses: what MAF shows at the start of `Workflow.run`."""
        self.announced_requests = False
        self.emit(wire.Event(type="started"))
        self.status("IN_PROGRESS")

    def emit(self, event: wire.Event) -> None:
        """Append an event; the first request since `begin` also changes the status."""
        self.log.append(event)
        if event.type == "request_info":
            self.announce_requests()

    def announce_requests(self) -> None:
        """There are pending requests: told once since `begin`."""
        if not self.announced_requests:
            self.announced_requests = True
            self.status("IN_PROGRESS_PENDING_REQUESTS")

    def status(self, state: str) -> None:
        """Append a status event."""
        self.state = state
        self.log.append(wire.Event(type="status", state=state))

    def superstep(self, type: str, iteration: int) -> None:
        """Append `superstep_started` or `superstep_completed`."""
        # MAF creates these outside its framework-origin block, so their origin is EXECUTOR.
        self.log.append(wire.Event(type=type, origin="EXECUTOR", iteration=iteration))

    def warn(self, text: str) -> None:
        """Append a `warning` event."""
        data = wire.Value(inline=text, size=len(text) + 2)
        self.log.append(wire.Event(type="warning", data=data))

    def fail(self, details: wire.ErrorDetails) -> None:
        """Append `failed` and the status FAILED."""
        self.log.append(wire.Event(type="failed", details=details))
        self.status("FAILED")

    def merge(self, events: Iterable[wire.Event]) -> None:
        """Keep the outputs of a delivery: in delivery order, whichever executor was first to finish."""
        for event in events:
            if event.type == "output":
                self.outputs.append(event.data)

    def result(self, iteration: int, checkpoint_id: str) -> wire.RunResult:
        """Return the result of a run that ends now."""
        fits = not self.log.pages and sum(map(weight, self.events)) <= RESULT_EVENTS_LIMIT
        return wire.RunResult(
            outputs=[*map(_see, self.outputs.pages), *_readable(self.outputs.items)],
            state=self.state,
            iteration=iteration,
            checkpoint_id=checkpoint_id,
            events=list(self.events) if fits else None,
        )

    def page(self, offset: int, ended: bool) -> wire.EventLog:
        """Return the events from an offset on, as many as fit one answer.

        Raises:
            ValueError: The offset is negative or beyond the last event.
        """
        if not 0 <= offset <= self.length:
            raise ValueError(f"offset {offset} is outside the run's events; it has 0 to {self.length}.")
        archived = self.log.archived(offset)
        if archived is not None:
            return wire.EventLog(offset=offset, events=[], ended=False, archived=archived)
        first = self.log.place_of(offset)
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
            skip=offset - self.log.offset_of(first) if page else 0,
        )


def _count(event: wire.Event) -> int:
    return 1 if event.data is None else event.data.many or 1


def _count_of_output(value: wire.Value | None) -> int:
    """Return how many items of the query `outputs` a value is: what is in the store is one, whatever it stands for."""
    return 1 if value is None or value.ref is not None or value.many is None else value.many


def _see(page: wire.ArchivedPage) -> Any:
    """Say where in the blob store outputs of earlier Temporal runs are."""
    return {"archived": {"first": page.first, "next": page.next, "ref": page.page.ref, "size": page.page.size}}


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
