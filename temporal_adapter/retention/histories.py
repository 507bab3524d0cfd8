"""What a run's history refers to: values that only it knows of, and checkpoints that its next activity may build on.

The history is read, not replayed: whatever looks like a reference is taken for one: keeping too much does
no harm.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.common import RawValue
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter.histories import local_activity
from temporal_adapter.store.chunks import LARGEST

_DIGEST = re.compile(r"[0-9a-f]{64}")
_STANDARD = ("json/", "binary/null", "binary/plain", "binary/protobuf")
_NOT_OURS = ("search_attributes", "memo", "header")
_OF_THE_SDK = ("data", "patch-data")  # in markers; no payload codec has encoded them
_CARRIED = 2  # place among the arguments of a link of what the one before handed over
_UNKNOWN_SIZE = LARGEST + 1  # so that it is looked up whether the value is in parts


class HistoryUnreadable(Exception):
    """A run's history cannot be read, so that nobody knows what it needs."""


@dataclass(slots=True)
class Mentions:
    """What a history refers to.

    Attributes:
        refs: Values, each with its bytes as far as known.
        stowed: Of these, the ones that refer to others: entries of a sub-workflow, pages of a run's lists.
        parts: Of these, the ones that do so together, as strings: what a link hands over to the next.
        bases: Checkpoints that activities built on or wrote, the one mentioned last at the end.
        pending: Checkpoints that activities and updates name which are not over.
    """

    refs: dict[str, int] = field(default_factory=dict[str, int])
    stowed: set[str] = field(default_factory=set[str])
    parts: list[list[str]] = field(default_factory=list[list[str]])
    bases: dict[str, None] = field(default_factory=dict[str, None])
    pending: set[str] = field(default_factory=set[str])


async def mentions_of(client: Client, workflow_id: str, run_id: str) -> Mentions | None:
    """Return what a run's history refers to; None if the server has it no more.

    Raises:
        HistoryUnreadable: A payload of it cannot be read.
        temporalio.service.RPCError: The server cannot be asked.
    """
    reading = _Reading()
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    try:
        async for event in handle.fetch_history_events():
            payloads = list(_payloads(event))
            texts: list[bytes] = []
            if payloads:
                try:
                    decoded: list[RawValue] = await client.data_converter.decode(payloads, [RawValue] * len(payloads))
                except Exception as error:  # of a codec
                    raise _unreadable(workflow_id, run_id, event, str(error)) from error
                texts = [_text(one.payload, workflow_id, run_id, event) for one in decoded]
            reading.take(event, texts)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    return reading.result()


def _text(payload: Payload, workflow_id: str, run_id: str, event: HistoryEvent) -> bytes:
    encoding = payload.metadata.get("encoding", b"").decode("utf-8", "replace")
    if encoding and not encoding.startswith(_STANDARD):
        reason = f"a payload is encoded as {encoding!r}; give the client the payload codec of the workers"
        raise _unreadable(workflow_id, run_id, event, reason)
    return payload.data


def _unreadable(workflow_id: str, run_id: str, event: HistoryEvent, reason: str) -> HistoryUnreadable:
    return HistoryUnreadable(
        f"The history of run {run_id} of {workflow_id!r} cannot be read, event {event.event_id}: {reason}. "
        "Nothing is pruned while it is not known what a run needs."
    )


def _payloads(message: Message) -> Iterator[Payload]:
    """Yield all payloads in a message, at any depth."""
    if isinstance(message, Payload):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None or descriptor.name in _NOT_OURS:
            continue
        if isinstance(value, Message):
            yield from _payloads(value)
        elif isinstance(value, Mapping):
            for key, item in cast("Mapping[str, Any]", value).items():
                if key not in _OF_THE_SDK and isinstance(item, Message):
                    yield from _payloads(item)
        else:
            for item in cast("Iterable[Message]", value):
                yield from _payloads(item)


class _Reading:
    """What is known so far, in the course of a history."""

    def __init__(self) -> None:
        self._mentions = Mentions()
        self._open: dict[tuple[str, int], set[str]] = {}  # activities and updates under way, by their first event
        self._fetched: list[str] = []  # what was carried over, in parts that were read from the store

    def take(self, event: HistoryEvent, texts: list[bytes]) -> None:
        kind = event.WhichOneof("attributes") or ""
        attributes = getattr(event, kind, None)
        named: set[str] = set()
        for place, text in enumerate(texts):
            is_carried = kind in _HANDS_OVER and place == _CARRIED
            # The checkpoints that a run tells of over its links are many; what it builds on is among the bases.
            self._walk(text, set() if is_carried else named)
            if is_carried:
                self._take_parts(text)
        local = local_activity(event)
        if local is not None and local.activity_type.endswith(_FETCH):
            self._fetched += [item for text in texts for item in _items(text)]
        if kind == "workflow_execution_started_event_attributes":
            self._open["start", event.event_id] = named
        elif kind == "activity_task_scheduled_event_attributes":
            self._open["activity", event.event_id] = named
        elif kind == "workflow_execution_update_accepted_event_attributes":
            self._open["update", event.event_id] = named
        elif kind == "workflow_execution_update_completed_event_attributes":
            self._open.pop(("update", cast("Any", attributes).accepted_event_id), None)
        elif kind in _ENDS_OF_ACTIVITIES:
            self._open.pop(("activity", cast("Any", attributes).scheduled_event_id), None)

    def result(self) -> Mentions:
        self._mentions.pending = set().union(*self._open.values())
        if self._fetched:
            self._walk("".join(self._fetched).encode(), set())
        return self._mentions

    def _take_parts(self, text: bytes) -> None:
        for fields in _dicts(text):
            parts = fields.get("parts")
            if isinstance(parts, list):
                pairs = filter(None, map(_pair, cast("list[Any]", parts)))
                self._mentions.parts.append([ref for ref, _ in pairs])

    def _walk(self, text: bytes, named: set[str]) -> None:
        self._mentions.refs.update(refs_in_text(text))
        self._mentions.stowed.update(stowed_in_text(text))
        for fields in _dicts(text):
            checkpoint_id = fields.get("checkpoint_id")
            if isinstance(checkpoint_id, str):
                named.add(checkpoint_id)
                if "object" in fields and "digest" in fields:
                    self._mentions.bases.pop(checkpoint_id, None)
                    self._mentions.bases[checkpoint_id] = None


_HANDS_OVER = [
    "workflow_execution_started_event_attributes",
    "workflow_execution_continued_as_new_event_attributes",
]
_FETCH = ":fetch"  # the service activity, at the end of its type
_ENDS_OF_ACTIVITIES = [
    f"activity_task_{end}_event_attributes" for end in ("completed", "failed", "timed_out", "canceled")
]


def _items(text: bytes) -> list[str]:
    """Return what an activity `fetch` read, if it is text."""
    items = [fields.get("item") for fields in _dicts(text)]
    return [item for item in items if isinstance(item, str)]


def stowed_in_text(text: bytes) -> set[str]:
    """Return the values that JSON text refers to and that hold JSON which refers to others."""
    found: set[str] = set()
    for fields in _dicts(text):
        stowed = fields.get("stowed")
        items = [*cast("list[Any]", stowed)] if isinstance(stowed, list) else [stowed]
        found.update(ref for ref, _ in filter(None, map(_pair, [*items, fields.get("page")])))
    return found


def refs_in_text(text: bytes) -> dict[str, int]:
    """Return the values that JSON text refers to, each with its bytes as far as known; of other text, all digests."""
    try:
        pairs = [pair for fields in _dicts(text, strict=True) if (pair := _pair(fields)) is not None]
    except (ValueError, RecursionError):
        return dict.fromkeys(_DIGEST.findall(text.decode("latin-1")), _UNKNOWN_SIZE)
    refs: dict[str, int] = {}
    for ref, size in pairs:
        refs[ref] = max(size, refs.get(ref, 0))
    return refs


def _dicts(text: bytes, *, strict: bool = False) -> Iterator[dict[str, Any]]:
    """Yield all dicts in JSON text, at any depth; none of other text, unless strict."""
    try:
        waiting: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        if strict:
            raise
        return
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            yield fields
            waiting += fields.values()
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)


def _pair(value: Any) -> tuple[str, int] | None:
    """Return a value's digest and bytes, if this is a reference."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    ref, size = fields.get("ref"), fields.get("size")
    if not isinstance(ref, str) or not _DIGEST.fullmatch(ref):
        return None
    return ref, size if isinstance(size, int) else _UNKNOWN_SIZE
