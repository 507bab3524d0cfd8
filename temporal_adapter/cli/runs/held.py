"""Why a response is not accepted yet, and whether Temporal has it for good: for `respond`, while it waits."""

from __future__ import annotations

import contextlib

from temporalio.api.enums.v1 import EventType
from temporalio.service import RPCError

from temporal_adapter import wire
from temporal_adapter.answers import readable_value
from temporal_adapter.cli.running import CliError
from temporal_adapter.client import NoWorker
from temporal_adapter.client.errors import RunNotFound
from temporal_adapter.wire.names import WAITS

from .found import Found, asked, query

_BEGINS = ("started", "superstep_started")  # what a run says when it is at work (again)
_NEWEST = 200  # events that are looked at


async def why_it_waits(one: Found) -> str | None:
    """Return the run's newest warning that something of it waits, if it has not gone on since; None if nobody tells."""
    with contextlib.suppress(CliError, NoWorker, RunNotFound, RPCError):
        async with asked(one):
            count = wire.load(wire.RunStatus, await query(one, "status")).events
            events = await one.run.events_between(max(0, count - _NEWEST), count)
        return _newest_warning(events)
    return None


def _newest_warning(events: list[wire.Event]) -> str | None:
    for event in reversed(events):
        if event.type in _BEGINS:
            return None
        if event.type == "warning" and event.data is not None:
            text = readable_value(event.data)
            if isinstance(text, str) and WAITS in text:
                return text
    return None


async def is_kept(one: Found) -> bool:
    """Whether history has a response of this client, sent since the run was found, that the run has not answered yet.

    That survives the client. What no worker has taken yet is in the server's memory only. False if nobody tells.
    """
    with contextlib.suppress(RPCError):
        return await _is_kept(one)
    return False


async def _is_kept(one: Found) -> bool:
    now = await one.run.handle.describe()
    before = one.description.history_length if now.run_id == one.description.run_id else 0
    kept: set[int] = set()
    async for event in one.run.handle.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
            request = event.workflow_execution_update_accepted_event_attributes.accepted_request
            mine = request.meta.identity == one.client.identity and request.input.name == "respond"
            if mine and event.event_id > before:
                kept.add(event.event_id)
        elif event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
            kept.discard(event.workflow_execution_update_completed_event_attributes.accepted_event_id)
    return bool(kept)
