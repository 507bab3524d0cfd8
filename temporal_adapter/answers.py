"""What a run's queries and updates answer, in plain JSON or in pages. Pure functions, used by workflow code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from temporal_adapter import wire
from temporal_adapter.engine import Fate
from temporal_adapter.wire.tags import plain, type_text

_PAGE_REQUESTS, _PAGE_BYTES = 500, 512 * 1024


def fates_as_json(fates: Sequence[Fate]) -> Any:
    """Return what became of responses, for whoever sent them."""
    accepted = [
        {"request_id": fate.request_id, "accepted": fate.refused is None, "checkpoint_id": fate.checkpoint_id}
        if fate.refused is None
        else {"request_id": fate.request_id, "accepted": False, "reason": fate.refused}
        for fate in fates
    ]
    return {"responses": accepted}


def readable_request(request: wire.Request) -> wire.PendingRequest:
    """Return a pending request in plain JSON."""
    data = request.data
    return wire.PendingRequest(
        request_id=request.request_id,
        executor_id=request.source_executor_id,
        request_type=type_text(request.request_type),
        response_type=type_text(request.response_type),
        data=plain(data.inline) if data.ref is None else {"ref": data.ref, "size": data.size},
    )


def page_of_requests(requests: Sequence[wire.Request], offset: int) -> list[wire.Request]:
    """Return the requests from an offset on, as many as fit one answer; none at the end."""
    some: list[wire.Request] = []
    size = 0
    for request in requests[max(offset, 0) :]:
        size += request.data.size if request.data.ref is None else 0
        if some and (size > _PAGE_BYTES or len(some) == _PAGE_REQUESTS):
            break
        some.append(request)
    return some
