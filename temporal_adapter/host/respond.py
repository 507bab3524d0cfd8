"""Judging responses: coerce each by MAF's rules, find its handler, route it, and write the response-entry checkpoint.

Responses are JSON from outside: they are coerced to the request's response type, never decoded as values.
"""

from __future__ import annotations

from typing import Any

from agent_framework import INTERNAL_SOURCE_ID, WorkflowEvent, WorkflowMessage

from temporal_adapter import wire
from temporal_adapter.maf import MessageType
from temporal_adapter.payload import Reader, Writer
from temporal_adapter.pool import BuiltGraph
from temporal_adapter.values import CoercionError, EncodeError, coerce_response

from . import mirror
from .context import Host, Stores, now


async def respond(host: Host, data: wire.RespondInput) -> wire.RespondResult:
    """Return, for each response, the message it makes or the reason why it is refused."""
    async with host.graph(data.graph) as graph:
        stores = host.stores()
        reader = Reader(graph.codec, stores.values)
        writer = Writer(graph.codec, stores.values, inline_budget=data.inline_budget)
        judgements = [
            await judge(graph, reader, writer, request, response)
            for request, response in zip(data.requests, data.responses, strict=True)
        ]
        at = now()
        commit = await _commit(stores, graph, data, judgements, at)
        return wire.RespondResult(judgements=judgements, commit=commit, at=at, stamped=True, audited=True)


async def judge(
    graph: BuiltGraph, reader: Reader, writer: Writer, request: wire.Request, response: wire.Response
) -> wire.Judgement:
    """Return the message that a response makes, or the reason why it is refused."""
    event = await reader.request(request)
    try:
        value = coerce_response(response.response, event)
        message = _response_message(event, value)
        if not _is_handled(graph, message):
            return wire.Judgement(request_id=request.request_id, refused=_no_handler(event, value))
        data = await writer.value(value, f"response to {request.request_id!r}")
    except (CoercionError, EncodeError) as error:
        return wire.Judgement(request_id=request.request_id, refused=str(error))
    routed = wire.RoutedMessage(
        message=wire.Message(
            source_id=message.source_id,
            data=data,
            target_id=message.target_id,
            type="response",
            request=await writer.embedded(request),
        ),
        routes=await graph.router.route(message),
    )
    return wire.Judgement(request_id=request.request_id, message=routed)


def _response_message(event: WorkflowEvent[Any], value: Any) -> WorkflowMessage:
    executor_id = event.source_executor_id
    return WorkflowMessage(
        data=value,
        source_id=INTERNAL_SOURCE_ID(executor_id),
        target_id=executor_id,
        type=MessageType.RESPONSE,
        original_request_info_event=event,
    )


def _is_handled(graph: BuiltGraph, message: WorkflowMessage) -> bool:
    try:
        return graph.executor(str(message.target_id)).can_handle(message)
    except TypeError:  # a type of a handler that MAF cannot check
        return False


def _no_handler(event: WorkflowEvent[Any], value: Any) -> str:
    return (
        f"executor {event.source_executor_id!r} has no response handler for a request of type "
        f"{type(event.data).__name__} and a response of type {type(value).__name__}. "
        "Add a @response_handler for these two types."
    )


async def _commit(
    stores: Stores, graph: BuiltGraph, data: wire.RespondInput, judgements: list[wire.Judgement], at: str
) -> wire.CommitOutcome | None:
    accepted = [judgement for judgement in judgements if judgement.message is not None]
    if data.header is None or data.snapshot is None or not accepted:
        return None
    changes = data.snapshot.changes
    answered = {judgement.request_id: None for judgement in accepted}
    record = wire.CheckpointRecord(
        # The run has been at rest since the time in the header.
        header=wire.replace(data.header, timestamp=at, metadata=_audit(data, accepted, at)),
        snapshot=wire.Snapshot(
            base=data.snapshot.base, changes=wire.replace(changes, requests={**changes.requests, **answered})
        ),
        messages=[judgement.message.message for judgement in accepted if judgement.message is not None],
    )
    return await mirror.write(stores, graph.description(), [record], mirror.own_rank())


def _audit(data: wire.RespondInput, accepted: list[wire.Judgement], at: str) -> dict[str, Any]:
    """Return what the checkpoint says of who answered, just as the engine will record it."""
    given = {
        response.request_id: (request, response)
        for request, response in zip(data.requests, data.responses, strict=True)
    }
    return wire.response_metadata(
        wire.Responded(
            request_id=one.request_id,
            outcome="accepted",
            executor_id=given[one.request_id][0].source_executor_id,
            source="deadline" if one.request_id in data.expired else "person",
            responder=given[one.request_id][1].responder,
            comment=given[one.request_id][1].comment,
            at=at,
        )
        for one in accepted
    )
