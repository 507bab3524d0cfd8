"""What checkpoints say of the responses that are in flight in them: MAF's checkpoint metadata, in plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from .schema import prepare, to_bytes
from .seen import Responded

RESPONSES_KEY = "responses"

_CUT = ("responder", "comment")
_TOLD = ("request_id", "executor_id", "outcome", "source", "responder", "comment", "at")


def cancelled_in(metadata: Mapping[str, Any]) -> list[str]:
    """Return the requests whose cancellation a checkpoint with this metadata follows."""
    try:
        prepare(list[Responded])
        records = msgspec.convert(metadata.get(RESPONSES_KEY, []), list[Responded])
    except msgspec.ValidationError:  # somebody's own, of a checkpoint that was made in-process
        return []
    return [one.request_id for one in records if one.outcome == "cancelled"]


def answered_by(source: str, responder: str | None, at: str | None) -> str:
    """Return whose an accepted response was, and when: `by Ada at 2026-...`."""
    by = {"deadline": "its deadline", "replay": "the run that this one replays"}.get(source, responder or "somebody")
    return f"by {by}" if at is None else f"by {by} at {at}"


def answered_otherwise(request_id: str, told: str) -> str:
    """Return why a response is refused that differs from one that was accepted; `told` is of `answered_by`."""
    return f"request {request_id!r} was already answered, with a different response, {told}."


_TEXT_BUDGET = 64 * 1024  # bytes of JSON for names and comments in one checkpoint: it may go through history


def response_metadata(records: Iterable[Responded]) -> dict[str, Any]:
    """Return the metadata of a response-entry checkpoint: who answered or cancelled what, when, with what comment.

    What was answered is in the checkpoint itself. Where there are many, long names and comments are cut: in full they
    are in the audit trail.
    """
    told = list(records)
    longest = _TEXT_BUDGET // max(len(told), 1)
    return {RESPONSES_KEY: [_told(one, longest) for one in told]}


def _told(record: Responded, longest: int) -> dict[str, Any]:
    fields = {key: value for key, value in msgspec.structs.asdict(record).items() if key in _TOLD and value is not None}
    return {key: _cut(value, longest) if key in _CUT else value for key, value in fields.items()}


def _cut(text: str, longest: int) -> str:
    if len(to_bytes(text)) <= longest:
        return text
    cut = text[:longest]
    while len(to_bytes(cut)) > longest:  # a character takes up to 12 bytes
        cut = cut[: len(cut) * longest // len(to_bytes(cut))]
    return f"{cut}..."
