"""Reading what people and services send to `respond`."""

from __future__ import annotations

from typing import Any, cast

from .schema import WireError, load
from .shapes import Response

_EXPECTED = 'expected {"request_id": "...", "response": ...}, or a list of such objects'


def parse_responses(data: Any) -> list[Response]:
    """Return the responses in the JSON of a signal or update: one object, or a list of them.

    Raises:
        WireError: The JSON has another shape; the message shows the expected one.
    """
    items = cast("list[Any]", data) if isinstance(data, list) else [data]
    if not items:
        raise WireError(f"The list of responses is empty; {_EXPECTED}.")
    responses: list[Response] = []
    for item in items:
        if not isinstance(item, dict) or "response" not in item:
            raise WireError(f"A response is malformed: {_excerpt(item)}; {_EXPECTED}.")
        try:
            responses.append(load(Response, item))
        except WireError as error:
            raise WireError(f"{error}; {_EXPECTED}.") from error
    return responses


def _excerpt(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 200 else f"{text[:200]}..."
