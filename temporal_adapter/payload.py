"""Values between Python objects and an activity's payloads: codec and blob store together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agent_framework import Content, WorkflowEvent, WorkflowEventSource, WorkflowMessage

from temporal_adapter import wire
from temporal_adapter.maf import MessageType
from temporal_adapter.store import INLINE_BUDGET, INLINE_LIMIT, Spill, ValueStore
from temporal_adapter.values import Codec, response_schema

READABLE_INLINE_LIMIT = 64 * 1024
"""Bytes of a request's data, or an output, up to which it travels inline, so that anybody can read it."""


class Values(Protocol):
    """Where values are that are not inline: a `ValueStore`, or a client's stand-in for one."""

    async def resolve(self, value: wire.Value) -> Any:
        """Return the tagged JSON of a value."""
        ...


class Reader:
    """Decodes values of one graph, or of a client that knows none."""

    def __init__(self, codec: Codec, values: Values) -> None:
        self._codec = codec
        self._values = values

    async def value(self, value: wire.Value) -> Any:
        """Return the object that a value stands for."""
        return self._codec.decode(await self._values.resolve(value))

    async def raw(self, value: wire.Value) -> Any:
        """Return a value's JSON as it is."""
        return await self._values.resolve(value)

    def decoded(self, encoded: Any) -> Any:
        """Return the object that tagged JSON stands for."""
        return self._codec.decode(encoded)

    async def message(self, message: wire.Message) -> WorkflowMessage:
        """Return a MAF message."""
        return WorkflowMessage(
            data=await self.value(message.data),
            source_id=message.source_id,
            target_id=message.target_id,
            type=MessageType(message.type),
            trace_contexts=message.trace_contexts,
            source_span_ids=message.source_span_ids,
            original_request_info_event=None if message.request is None else await self.request(message.request),
        )

    async def request(self, request: wire.Request) -> WorkflowEvent[Any]:
        """Return a MAF `request_info` event."""
        return WorkflowEvent(
            "request_info",
            await self.value(request.data),
            origin=WorkflowEventSource(request.origin),
            request_id=request.request_id,
            source_executor_id=request.source_executor_id,
            request_type=self._codec.decode_type(request.request_type),
            response_type=self._codec.decode_type(request.response_type),
        )


@dataclass(frozen=True, slots=True)
class AskedTerms:
    """What a request records beside what MAF knows of it: when it was made (ISO 8601, UTC), and its deadline."""

    asked_at: str
    deadline: wire.Deadline | None = None


class Writer:
    """Encodes objects of one graph for one payload."""

    def __init__(
        self,
        codec: Codec,
        values: ValueStore,
        *,
        inline_budget: int = INLINE_BUDGET,
        for_people: bool = True,
        asked: Callable[[WorkflowEvent[Any]], AskedTerms] | None = None,
    ) -> None:
        self._codec = codec
        self._asked = asked  # of requests that people will answer
        self._spill = Spill(values, budget=inline_budget)
        limit = READABLE_INLINE_LIMIT if for_people else INLINE_LIMIT  # nobody reads what stays in a sub-workflow
        self._readable = Spill(values, inline_limit=limit, budget=inline_budget)

    async def value(self, obj: Any, path: str) -> wire.Value:
        """Return an object as a value; `path` names it in errors."""
        return await self._spill.encode(self._codec.encode(obj, path))

    def encoded(self, obj: Any, path: str) -> Any:
        """Return the tagged JSON of an object; `path` names it in errors."""
        return self._codec.encode(obj, path)

    async def values(self, objects: Mapping[str, Any], path: str) -> dict[str, wire.Value]:
        """Return a mapping of objects as values."""
        return {key: await self.value(obj, f"{path}[{key!r}]") for key, obj in objects.items()}

    async def raw(self, encoded: Any, times: int = 1) -> wire.Value:
        """Return JSON that is encoded already as a value, which is used so many times."""
        return await self._spill.encode(encoded, times)

    async def readable(self, encoded: Any, times: int = 1) -> wire.Value:
        """The same of a value that people and other languages are to read."""
        return await self._readable.encode(encoded, times)

    async def message(self, message: WorkflowMessage, path: str) -> wire.Message:
        """Return a MAF message as a shape."""
        request = message.original_request_info_event
        return wire.Message(
            source_id=message.source_id,
            data=await self.value(message.data, path),
            target_id=message.target_id,
            type="response" if message.type is MessageType.RESPONSE else "standard",
            trace_contexts=message.trace_contexts,
            source_span_ids=message.source_span_ids,
            request=None if request is None else await self.request(request),
        )

    async def embedded(self, request: wire.Request) -> wire.Request:
        """Return a request as a response to it carries it: without what only whoever answers needs."""
        data = request.data if request.data.ref is not None else await self.raw(request.data.inline)
        return wire.replace(request, data=data, response_schema=None, deadline=None)

    async def request(self, event: WorkflowEvent[Any]) -> wire.Request:
        """Return a MAF `request_info` event as a shape."""
        path = f"request_info {event.request_id!r}"
        shape = wire.Request(
            request_id=event.request_id,
            source_executor_id=event.source_executor_id,
            data=await self._readable.encode(self._codec.encode(event.data, path)),
            request_type=self._codec.encode_type(event.request_type),
            response_type=self._codec.encode_type(event.response_type),
            origin=event.origin.value,
            cancelled_together=isinstance(event.data, Content) and event.data.type == "computer_tool_call",
        )
        if self._asked is None:
            return shape
        terms, schema = self._asked(event), response_schema(event)
        return wire.replace(
            shape,
            asked_at=terms.asked_at,
            deadline=terms.deadline,
            response_schema=None if schema is None else await self._spill.encode(schema),
        )
