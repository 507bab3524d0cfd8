"""What a run's queries and updates answer, in plain JSON or in pages. Pure functions, used by workflow code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from temporal_adapter import wire
from temporal_adapter.engine import Fate, expires_at
from temporal_adapter.wire.tags import plain, type_text

_PAGE_ITEMS, _PAGE_BYTES = 500, 512 * 1024

ItemT = TypeVar("ItemT")


def fates_as_json(fates: Sequence[Fate]) -> Any:
    """Return what became of responses, for whoever sent them."""
    accepted = [
        {"request_id": fate.request_id, "accepted": fate.refused is None, "checkpoint_id": fate.checkpoint_id}
        if fate.refused is None
        else {"request_id": fate.request_id, "accepted": False, "reason": fate.refused}
        for fate in fates
    ]
    return {"responses": accepted}


def readable_request(request: wire.Request, reminders: int = 0) -> wire.PendingRequest:
    """Return a pending request in plain JSON; `reminders` is how many were sent."""
    schema, expiry = request.response_schema, expires_at(request)
    return wire.PendingRequest(
        request_id=request.request_id,
        executor_id=request.source_executor_id,
        request_type=type_text(request.request_type),
        response_type=type_text(request.response_type),
        data=readable_value(request.data),
        response_schema=None if schema is None else readable_value(schema),
        asked_at=request.asked_at,
        expires_at=expiry,
        on_expiry=None if expiry is None or request.deadline is None else request.deadline.on_expiry,
        reminders=reminders,
    )


def readable_value(value: wire.Value) -> Any:
    """Return a value in plain JSON, or how the blob store has it."""
    return plain(value.inline) if value.ref is None else {"ref": value.ref, "size": value.size}


def readable_responded(record: wire.Responded) -> wire.ReadableResponded:
    """Return an entry of the audit trail in plain JSON."""
    unreadable = ("response", "fingerprint")
    told = {key: value for key, value in msgspec.structs.asdict(record).items() if key not in unreadable}
    return wire.ReadableResponded(**told, response=None if record.response is None else readable_value(record.response))


def page_of_requests(requests: Sequence[wire.Request], offset: int) -> list[wire.Request]:
    """Return the requests from an offset on, as many as fit one answer; none at the end."""
    return _page(requests, offset, _size_of_request)


def page_of_records(records: Sequence[wire.Responded], offset: int) -> list[wire.Responded]:
    """Return the entries of the audit trail from an offset on, as many as fit one answer; none at the end."""
    return _page(records, offset, _size_of_record)


def page_of_headers(headers: Sequence[wire.CheckpointHeader], offset: int) -> list[wire.CheckpointHeader]:
    """Return the checkpoint lineage from an offset on, as much as fits one answer; nothing at the end."""
    return _page(headers, offset, lambda one: len(wire.to_bytes(one.metadata)) if one.metadata else 0)


def page_of_outputs(outputs: Sequence[wire.Value | None], offset: int) -> list[Any]:
    """Return the outputs from an offset on in plain JSON, as many as fit one answer; none at the end."""
    each = [one for output in outputs for one in _each(output)]
    return [one for one, _ in _page(each, offset, lambda item: item[1])]


def _each(output: wire.Value | None) -> list[tuple[Any, int]]:
    """Return the outputs that one value stands for, in plain JSON, with their sizes; of a reference, only itself."""
    if output is None:
        return [(None, 0)]
    if output.ref is not None:
        many = {} if output.many is None else {"many": output.many}
        return [({**readable_value(output), **many}, 0)]
    if output.many is None:
        return [(readable_value(output), output.size)]
    return [(one, output.size // max(1, output.many)) for one in readable_value(output)]


def _size_of_request(request: wire.Request) -> int:
    return _size(request.data) + _size(request.response_schema)


def _size_of_record(record: wire.Responded) -> int:
    texts = [record.request_id, record.responder, record.comment, record.reason]
    return _size(record.response) + len(wire.to_bytes(texts))


def _size(value: wire.Value | None) -> int:
    return 0 if value is None or value.ref is not None else value.size


def _page(items: Sequence[ItemT], offset: int, size_of: Callable[[ItemT], int]) -> list[ItemT]:
    some: list[ItemT] = []
    size = 0
    for item in items[max(offset, 0) :]:
        size += size_of(item)
        if some and (size > _PAGE_BYTES or len(some) == _PAGE_ITEMS):
            break
        some.append(item)
    return some
