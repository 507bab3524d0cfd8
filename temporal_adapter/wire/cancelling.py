"""Reading what people and services send to `cancel_requests`."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from .responses import LONGEST_COMMENT, LONGEST_ID, MAX_VALUES, check_depth, excerpt
from .schema import VERSION_KEY, WireError, load
from .seen import CancelRequests

_MOST_REQUESTS = 1000  # at once

_EXPECTED = 'expected {"request_ids": ["..."]}, with "responder" and "comment" if you like'


def parse_cancel_requests(data: Any = None, *more: Any) -> CancelRequests:
    """Return the cancellation in the JSON of a signal or update.

    Raises:
        WireError: The JSON has another shape, unknown keys, or is out of bounds; the message shows the expected one.
    """
    if more:
        raise WireError(f"{1 + len(more)} arguments came; {_EXPECTED}, in one argument.")
    check_depth(data, MAX_VALUES)
    if not isinstance(data, dict):
        raise WireError(f"A cancellation is malformed: {excerpt(data)}; {_EXPECTED}.")
    known = [field.encode_name for field in msgspec.structs.fields(CancelRequests)]
    for key in cast("dict[str, Any]", data):
        if key not in (*known, VERSION_KEY):
            raise WireError(f"The cancellation has the unknown key {excerpt(key)}; {_EXPECTED}.")
    try:
        asked = load(CancelRequests, data)
    except WireError as error:
        raise WireError(f"{error}; {_EXPECTED}.") from error
    _check_bounds(asked)
    return asked


def _check_bounds(asked: CancelRequests) -> None:
    ids = asked.request_ids
    if not ids or not all(ids):
        raise WireError(f"A cancellation names the requests to cancel; {_EXPECTED}.")
    if len(ids) > _MOST_REQUESTS:
        raise WireError(f"{len(ids)} requests are to be cancelled at once; name at most {_MOST_REQUESTS}.")
    for what, text, most in (
        *(("request id", one, LONGEST_ID) for one in ids),
        ("responder", asked.responder or "", LONGEST_COMMENT),
        ("comment", asked.comment or "", LONGEST_COMMENT),
    ):
        if len(text) > most:
            raise WireError(f"A {what} has {len(text)} characters, and may have {most}: {excerpt(text)}")
