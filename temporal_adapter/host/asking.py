"""Requests as they are made: when, under which deadline, and how their responses look."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

from agent_framework import WorkflowEvent
from temporalio import activity

from temporal_adapter import wire
from temporal_adapter.deadlines import Reminder, deadline_for
from temporal_adapter.payload import AskedTerms, Reader
from temporal_adapter.values import CoercionError, coerce_response

from .context import Host, now


class Asking:
    """Gives a request what is recorded with it. Made when an activity begins, which is not before a given time."""

    def __init__(self, host: Host, not_before: str | None = None) -> None:
        self._host = host
        self._not_before = not_before
        self._began = time.monotonic()

    def __call__(self, request: WorkflowEvent[Any]) -> AskedTerms:
        deadline = deadline_for(self._host.deadlines, self._host.name, request)
        return AskedTerms(self.present(), None if deadline is None else deadline.terms())

    def doubts(self, events: Iterable[WorkflowEvent[Any]]) -> list[WorkflowEvent[Any]]:
        """Return a warning for each request that is made whose deadline would answer it with what it does not take."""
        found: list[WorkflowEvent[Any]] = []
        for event in events:
            if event.type != "request_info":
                continue
            deadline = deadline_for(self._host.deadlines, self._host.name, event)
            if deadline is None or deadline.on_expiry != "default":
                continue
            try:
                coerce_response(deadline.terms().default, event)
            except CoercionError as error:
                text = f"The default of the request's deadline will be refused, and the run fail of it: {error}"
                found.append(WorkflowEvent.warning(text))
        return found

    def present(self) -> str:
        """Return the time by the server's clock, which timers go by; a worker's may be another."""
        present = activity.info().started_time + timedelta(seconds=time.monotonic() - self._began)
        return max(present.astimezone(timezone.utc).isoformat(timespec="microseconds"), self._not_before or "")


async def notify(host: Host, data: wire.NotifyInput) -> wire.NotifyResult:
    """Call the `notify` of a request's deadline, as this worker is configured; without one nothing is to be done.

    No executor runs, and people are waited for: a worker with another graph than the run's reminds them as well.

    Raises:
        ApplicationError: The worker has another graph, and no deadline that fits the request.
    """
    async with host.pool.borrow() as graph:
        request = await Reader(graph.codec, host.stores().values).request(data.request)
        deadline = deadline_for(host.deadlines, host.name, request)
        if deadline is None and graph.workflow.graph_signature_hash != data.graph:
            raise host.other_graph(graph, data.graph)
    if deadline is not None and deadline.notify is not None:
        await deadline.notify(_reminder(host, data, request))
    return wire.NotifyResult(at=now())


def _reminder(host: Host, data: wire.NotifyInput, request: WorkflowEvent[Any]) -> Reminder:
    workflow_id = activity.info().workflow_id or ""
    link = host.request_link
    return Reminder(
        workflow_id=workflow_id,
        workflow_name=host.name,
        request=request,
        number=data.number,
        asked_at=datetime.fromisoformat(data.request.asked_at or now()),
        expires_at=None if data.expires_at is None else datetime.fromisoformat(data.expires_at),
        link=None
        if link is None
        else link.format(workflow_id=quote(workflow_id, safe=""), request_id=quote(request.request_id, safe="")),
    )
