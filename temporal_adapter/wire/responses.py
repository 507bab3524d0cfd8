"""Reading what people and services send to `respond`."""

from __future__ import annotations

from typing import Any, cast

from .schema import WireError, load
from .shapes import Response

MAX_DEPTH = 150
"""Levels of nesting that JSON from outside may have: what the codec stores, and far from any recursion limit."""

MAX_VALUES = 100_000
"""Values that the JSON of a response may have: what a workflow task, which has two seconds, can look at by far."""

_CONTAINERS: tuple[type[Any], ...] = (dict, list)
_MOST_RESPONSES = 1000  # at once
LONGEST_ID = 1000
"""Characters that the id of a request may have."""

LONGEST_RESPONDER, LONGEST_COMMENT = 1000, 10_000
"""Characters: both are kept for the life of the run, and are in the metadata of a checkpoint."""

_EXPECTED = 'expected {"request_id": "...", "response": ...}, or a list of such objects'


def parse_responses(data: Any = None, *more: Any) -> list[Response]:
    """Return the responses in the JSON of a signal or update: one object, or a list of them, in one argument.

    Raises:
        WireError: The JSON has another shape; the message shows the expected one.
    """
    if more:
        raise WireError(f"{1 + len(more)} arguments came; {_EXPECTED}, in one argument.")
    check_depth(data, MAX_VALUES)
    items = cast("list[Any]", data) if isinstance(data, list) else [data]
    if not items:
        raise WireError(f"The list of responses is empty; {_EXPECTED}.")
    if len(items) > _MOST_RESPONSES:
        raise WireError(f"{len(items)} responses came at once; send at most {_MOST_RESPONSES} in one message.")
    responses: list[Response] = []
    for item in items:
        if not isinstance(item, dict) or "response" not in item:
            raise WireError(f"A response is malformed: {excerpt(item)}; {_EXPECTED}.")
        try:
            response = load(Response, item)
        except WireError as error:
            raise WireError(f"{error}; {_EXPECTED}.") from error
        if len(response.request_id) > LONGEST_ID:
            raise WireError(f"A request_id has {len(response.request_id)} characters: {excerpt(response.request_id)}")
        _check_length(response, "responder", response.responder, LONGEST_RESPONDER)
        _check_length(response, "comment", response.comment, LONGEST_COMMENT)
        responses.append(response)
    return responses


def _check_length(response: Response, name: str, text: str | None, most: int) -> None:
    if text is not None and len(text) > most:
        raise WireError(
            f"The {name} of the response to request {response.request_id!r} has {len(text)} characters; "
            f"send at most {most}."
        )


def check_text(text: bytes) -> None:
    """Refuse the text of JSON that would take long to read: a signal is in history, and is read again for ever.

    Raises:
        WireError: It has more than `MAX_VALUES` lists and objects, so far as that can be told.
    """
    if text.count(b"[") + text.count(b"{") > MAX_VALUES:
        raise WireError(f"The JSON has more than {MAX_VALUES} lists and objects.")


def check_depth(data: Any, most: int | None = None) -> None:
    """Refuse JSON that is nested too deeply, or has more values than it may.

    Raises:
        WireError: It has more than `MAX_DEPTH` levels, or more than `most` values.
    """
    level = [data] if type(data) in _CONTAINERS else []
    values = 0
    for _ in range(MAX_DEPTH):
        if not level:
            return
        # Without a call for each value: a payload may hold a million, and a workflow task has two seconds.
        inner: list[Any] = []
        for one in level:
            inner.extend(one.values() if type(one) is dict else one)  # pyright: ignore[reportUnknownArgumentType]
        values += len(inner)
        if most is not None and values > most:
            raise WireError(f"The JSON has more than {most} values; send large data otherwise, and a reference to it.")
        # By type, not isinstance, which costs eight times as much in a workflow's sandbox.
        level = [one for one in inner if type(one) in _CONTAINERS]
    if not level:
        return
    raise WireError(f"The JSON is nested more than {MAX_DEPTH} levels deep.")


def excerpt(item: Any) -> str:
    """Return what came, as an error may show it."""
    text = repr(item)
    return text if len(text) <= 200 else f"{text[:200]}..."
