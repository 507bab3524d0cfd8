"""Takes out of histories what is a machine's or a person's own, and nothing that a replay compares.

It goes by what Temporal's events have: identities, names of sticky task queues, stack traces. So that histories stay
small, what no replay reads goes as well: of what activities were given, all but what names it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

IDENTITY = "golden"
"""Of clients and workers that record."""

_STICKY = "golden-sticky"

FOREIGN = {
    "a path of a machine": re.compile(r"(?<![\w.])/(?:home|root|tmp|usr|var|opt|work|srv|mnt|Users|private)/[\w.-]+"),
    "a path of a machine that runs Windows": re.compile(r"\b[A-Za-z]:\\\\?\w+"),
    "an e-mail address": re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}"),
    "an identity of a process and host": re.compile(r"\b\d+@[\w-]+"),
    "a frame of a stack trace": re.compile(r'File \\*"'),
    "an address of a machine": re.compile(r"\b(?:localhost|\d{1,3}(?:\.\d{1,3}){3})\b"),
}
"""What no stored history may have, in its JSON or in any payload."""


_UNREAD = {
    None: ("stackTrace", "taskId", "workerVersion", "meteringMetadata", "priority", "header"),
    "activityTaskScheduledEventAttributes": (
        "taskQueue",
        "retryPolicy",
        "useWorkflowBuildId",
        "heartbeatTimeout",
        "startToCloseTimeout",
        "scheduleToCloseTimeout",
        "scheduleToStartTimeout",
    ),
    "activityTaskStartedEventAttributes": ("identity", "requestId"),
    "activityTaskCompletedEventAttributes": ("identity",),
    "workflowTaskScheduledEventAttributes": ("startToCloseTimeout", "attempt"),
    "workflowTaskStartedEventAttributes": ("identity", "requestId"),
    "workflowTaskCompletedEventAttributes": ("identity",),
    "workflowExecutionCompletedEventAttributes": ("result",),
}
"""What of an event's attributes, and of all that is in any, no replay reads, so that histories are small."""


def scrubbed(history: dict[str, Any]) -> dict[str, Any]:
    """Return a history (the JSON of its protobuf message) without what is foreign or never read."""
    return {"events": [_event(event) for event in history["events"]]}


def _event(event: dict[str, Any]) -> dict[str, Any]:
    clean = _scrubbed(event)
    for name, attributes in clean.items():
        for unread in _UNREAD.get(name, ()):
            attributes.pop(unread, None)
    for payload in clean.get("activityTaskScheduledEventAttributes", {}).get("input", {}).get("payloads", ()):
        if base64.b64decode(payload["metadata"]["encoding"]) == b"json/plain":
            essence = json.dumps(essential(payload["data"]), separators=(",", ":"))
            payload["data"] = base64.b64encode(essence.encode()).decode()
    return clean


def _scrubbed(data: Any) -> Any:
    if isinstance(data, list):
        return [_scrubbed(one) for one in data]
    if not isinstance(data, dict):
        return data
    clean = {key: _scrubbed(value) for key, value in data.items() if key not in _UNREAD[None]}
    if "identity" in clean:
        clean["identity"] = IDENTITY
    if clean.get("kind") == "TASK_QUEUE_KIND_STICKY":
        clean["name"] = _STICKY
    return clean


def essential(data: str | bytes) -> Any:
    """Return of what an activity was given (base64 of its JSON) what names it: keys, and ids of checkpoints.

    That is what an open run and the blob store have agreed upon. The rest may change from release to release.
    """
    told = json.loads(base64.b64decode(data))
    if not isinstance(told, dict):
        return told
    kept = {name: value for name, value in told.items() if isinstance(value, str | int) or name in ("path", "discard")}
    kept |= {name: _ids(told[name]) for name in ("own", "header", "request") if name in told}
    if "records" in told:
        kept["records"] = [{"header": _ids(record["header"])} for record in told["records"]]
    return kept


def _ids(header: Any) -> dict[str, Any]:
    if not isinstance(header, dict):
        return header
    return {name: value for name, value in header.items() if name.endswith("_id") or name in ("kind", "iteration")}


def foreign_in(history: dict[str, Any]) -> list[str]:
    """Return what a history has that none may have, and where."""
    found: list[str] = []
    for event in history["events"]:
        for text in _texts(event):
            for what, pattern in FOREIGN.items():
                match = pattern.search(text)
                if match:
                    found.append(f"event {event['eventId']} has {what}: {match[0]!r}")
    return found


def _texts(data: Any) -> Iterator[str]:
    """Yield all texts of an event, those in its payloads too."""
    if isinstance(data, list):
        for one in data:
            yield from _texts(one)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key == "data" and isinstance(value, str):
                yield _payload(value)
            else:
                yield from _texts(value)
    elif isinstance(data, str):
        yield data


def _payload(encoded: str) -> str:
    data = base64.b64decode(encoded)
    with contextlib.suppress(zlib.error):  # most are not compressed
        data = zlib.decompress(data)
    return data.decode(errors="replace")


def to_text(history: dict[str, Any]) -> str:
    """Return a history's JSON, one event a line."""
    lines = [json.dumps(event, separators=(",", ":"), sort_keys=True) for event in history["events"]]
    return '{"events":[\n' + ",\n".join(lines) + "\n]}\n"
