"""What a run shows, from its first event to its last: read by query, without a worker where its result has it all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from temporal_adapter import wire
from temporal_adapter.answers import readable_request, readable_value
from temporal_adapter.cli.running import tell
from temporal_adapter.client import NoWorker

from .archive import Archive
from .found import Found, asked, is_served, query, refreshed

_LOOK_SECONDS = (0.1, 1.0)  # between looks for new events: at first, and at most


async def event_documents(one: Found, archive: Archive) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the events of a run as JSON, the same keys in all, until it has ended.

    While nobody serves its task queue it waits, and says so once. Of a run that is over and whose events only a worker
    can tell, nothing comes then; and that is told.
    """
    recorded = None if one.is_open else await _in_result(one)
    if recorded is not None:
        for event in recorded:
            for shown in event_json(event):
                yield shown
        return
    waited = not await is_served(one)
    if waited and not one.is_open:
        _tell_untold(one)
        return
    if waited:
        tell(f"Waiting: no worker serves task queue {one.description.task_queue!r}.")
    offset, pause = 0, _LOOK_SECONDS[0]
    while True:
        closed = not (await refreshed(one)).is_open  # before the look, so that nothing comes after the last one
        page = await _page(one, offset, told=waited or closed)
        waited = page is None
        if page is None and closed:
            _tell_untold(one)
            return
        if page is None:
            continue
        shown, following = await _shown(page, offset, archive)
        for document in shown:
            yield document
        ended, went_on, offset = page.ended, following > offset, following
        if ended or (closed and not went_on):
            return
        pause = _LOOK_SECONDS[0] if went_on else min(2 * pause, _LOOK_SECONDS[1])
        await asyncio.sleep(0 if went_on else pause)


async def _shown(page: wire.EventLog, offset: int, archive: Archive) -> tuple[list[dict[str, Any]], int]:
    """Return the events of a page from an offset on, as JSON, and the offset that follows."""
    events, skip = page.events, page.skip
    if page.archived is not None:
        archived = await archive.events(page.archived)
        if archived is None:
            return [], page.archived.next
        events, skip = [*archived], offset - page.archived.first
    shown = [document for event in events for document in event_json(event)][skip:]
    return shown, offset + len(shown)


async def _page(one: Found, offset: int, *, told: bool) -> wire.EventLog | None:
    """Return events from an offset on; None while nobody answers, and that is told, unless it was."""
    async with asked(one):
        try:
            return wire.load(wire.EventLog, await query(one, "events", offset))
        except NoWorker as error:
            if not told:
                tell(f"Waiting: {error}")
            return None


def _tell_untold(one: Found) -> None:
    tell(f"No worker answers on task queue {one.description.task_queue!r}, and only one could tell the run's events.")


async def _in_result(one: Found) -> Sequence[wire.Event] | None:
    """Return the events that the result of a completed run has, if it has them."""
    if one.status != "COMPLETED":
        return None
    return wire.load(wire.RunResult, await one.run.handle.result()).events


def event_json(event: wire.Event) -> list[dict[str, Any]]:
    """Return an event as JSON; or the several that it stands for, one each.

    The keys are those of `checkpoint debug`. What is in the blob store is named: `{"ref": ..., "size": ...}`.
    """
    shown: dict[str, Any] = {
        "type": event.type,
        "executor_id": event.executor_id,
        "iteration": event.iteration,
        "state": event.state,
        "data": None,
    }
    if event.request is not None:
        request = readable_request(event.request)
        asks = {"request_id": request.request_id, "response_type": request.response_type}
        return [{**shown, "executor_id": request.executor_id, "data": request.data, **asks}]
    if event.details is not None:
        return [{**shown, "error": f"{event.details.error_type}: {event.details.message}"}]
    if event.items is not None:
        return [{**shown, "data": [one for item in event.items for one in _each(item)]}]
    if event.data is None:
        return [shown]
    return [{**shown, "data": one} for one in _each(event.data)]


def _each(value: wire.Value) -> list[Any]:
    readable = readable_value(value)
    if value.many is None:
        return [readable]
    return [readable] * value.many if value.ref is not None else readable
