"""From wire shapes to MAF's objects, in a client."""

from __future__ import annotations

from typing import Any

from agent_framework import (
    WorkflowErrorDetails,
    WorkflowEvent,
    WorkflowEventSource,
    WorkflowRunResult,
    WorkflowRunState,
)

from temporal_adapter import wire
from temporal_adapter.payload import Reader
from temporal_adapter.wire.tags import plain

from .errors import ValueUnavailable


class NoStore:
    """Stands in for the blob store in a client that was not told where it is."""

    async def resolve(self, value: wire.Value) -> Any:
        """Return an inline value.

        Raises:
            ValueUnavailable: It is in the store.
        """
        if value.ref is not None:
            raise ValueUnavailable(
                f"A value of {value.size} bytes is in the blob store. Tell the client where that is: "
                "DurableWorkflow(..., checkpoint_store=<the store the workers use>)."
            )
        return value.inline


class EventReader:
    """Decodes events."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def event(self, event: wire.Event) -> WorkflowEvent[Any]:
        """Return a MAF event with its typed payload."""
        if event.request is not None:
            return await self.request(event.request)
        return WorkflowEvent(
            event.type,  # pyright: ignore[reportArgumentType]  # MAF's own literal, through JSON
            await self._data(event),
            origin=WorkflowEventSource(event.origin),
            state=None if event.state is None else WorkflowRunState(event.state),
            details=None if event.details is None else _details(event.details),
            executor_id=event.executor_id,
            iteration=event.iteration,
        )

    async def each(self, event: wire.Event) -> list[wire.Event]:
        """Return the events that one stands for: as many as its value holds, or itself."""
        if event.data is None or event.data.many is None:
            return [event]
        objects: list[Any] = await self._reader.raw(event.data)
        return [wire.replace(event, data=_inline(one)) for one in objects]

    async def archived(self, page: wire.ArchivedPage) -> list[Any]:
        """Return the items of a page that earlier Temporal runs of the run left in the blob store, in JSON.

        Raises:
            ValueUnavailable: The client does not know the store.
        """
        return await self._reader.raw(page.page)

    async def request(self, request: wire.Request) -> WorkflowEvent[Any]:
        """Return a MAF `request_info` event with its typed payload."""
        return await self._reader.request(request)

    async def value(self, value: wire.Value) -> Any:
        """Return the object that a value stands for."""
        return await self._reader.value(value)

    async def readable(self, request: wire.PendingRequest, typed: wire.Request) -> wire.PendingRequest:
        """Return a request in plain JSON, with what of it is in the blob store, where that is known."""
        return wire.replace(
            request,
            data=await self._plain(typed.data, request.data),
            response_schema=request.response_schema
            if typed.response_schema is None
            else await self._plain(typed.response_schema, request.response_schema),
        )

    async def _plain(self, value: wire.Value, otherwise: Any) -> Any:
        try:
            return plain(await self._reader.raw(value))
        except ValueUnavailable:
            return otherwise

    async def _data(self, event: wire.Event) -> Any:
        if event.items is not None:
            return [one for item in event.items for one in await self._objects(item)]
        if event.data is not None:
            return await self._reader.value(event.data)
        # MAF gives `executor_failed` its details as data too.
        return _details(event.details) if event.type == "executor_failed" and event.details is not None else None

    async def _objects(self, item: wire.Value) -> list[Any]:
        if item.many is None:
            return [await self._reader.value(item)]
        return [await self._reader.value(_inline(one)) for one in await self._reader.raw(item)]


def _inline(encoded: Any) -> wire.Value:
    return wire.Value(inline=encoded, size=0)


def run_result(events: list[WorkflowEvent[Any]]) -> WorkflowRunResult:
    """Return events as MAF's result does it (`Workflow._finalize_events`): without `started`, statuses apart."""
    shown = [event for event in events if event.type not in ("started", "status")]
    return WorkflowRunResult(shown, [event for event in events if event.type == "status"])


def _details(details: wire.ErrorDetails) -> WorkflowErrorDetails:
    return WorkflowErrorDetails(
        error_type=details.error_type,
        message=details.message,
        traceback=details.traceback,
        executor_id=details.executor_id,
        extra=details.extra,
    )
