"""Histories in files: as the `temporal` CLI, the web UI and the SDKs write them. Replaying them is not done here."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

_SUFFIXES = (".json", ".json.gz")  # of the files in a directory

# What follows the start of a workflow task. Over others Temporal's core breaks down.
_AFTER_TASK = (
    EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
)


class DamagedHistory(ValueError):
    """A file has no history that can be replayed; the message names the file and says what is wrong with it."""


class NoHistories(ValueError):
    """A path has no history files; the message names it."""


def history_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files that paths stand for: a file for itself, a directory for all `.json` and `.json.gz` below it.

    Raises:
        NoHistories: There is no such file or directory, or nothing in the directory.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(one for one in path.rglob("*") if one.name.endswith(_SUFFIXES) and one.is_file())
            if not files:
                raise NoHistories(f"{path}: there is no history file ({' or '.join(_SUFFIXES)}) in this directory.")
        elif path.exists():
            files = [path]
        else:
            raise NoHistories(f"{path}: there is no such file or directory.")
        found.update(dict.fromkeys(files))
    return list(found)


def read_history(path: str | Path) -> WorkflowHistory:
    """Return the history in a file, plain or compressed by gzip.

    Taken are the JSON of `temporal workflow show --output json` (or `jsonl`), the download of the web UI, and that of
    the SDKs (`WorkflowHistory.to_json`): an object with `events`, with or without an object `history` around it, or a
    list of events. The workflow id is the history's, or where servers of old did not record it the file's name.

    Raises:
        DamagedHistory: It has none; says why.
    """
    path = Path(path)
    events = _events(_document(path), path)
    if _has_decoded_payloads(events):
        raise DamagedHistory(f"{path}: its payloads are decoded. Download the history again without decoding them.")
    try:
        history = WorkflowHistory.from_json(path.name.partition(".")[0], {"events": events})
    except Exception as error:  # of many kinds: a wrong type anywhere, an unknown enum, base64 that is none
        raise DamagedHistory(f"{path}: this is not Temporal's JSON of a history ({_first_line(error)}).") from error
    check_whole(history.events, str(path))
    started = history.events[0].workflow_execution_started_event_attributes
    return WorkflowHistory(started.workflow_id or history.workflow_id, history.events)


def check_whole(events: Iterable[HistoryEvent], name: str) -> None:
    """See that events are a history from its beginning.

    Raises:
        DamagedHistory: They are not; says which event is missing, or that there are none.
    """
    position = 0
    in_task = False
    for position, event in enumerate(events, 1):
        if in_task and event.event_type not in _AFTER_TASK:
            raise DamagedHistory(f"{name}: event {position} should say how the workflow task before it ended.")
        in_task = event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
        if event.event_id != position:
            raise DamagedHistory(f"{name}: event {position} is missing: in its place is event {event.event_id}.")
        if not event.event_type and not event.worker_may_ignore:
            raise DamagedHistory(f"{name}: event {position} is of no type, or of one that only newer SDKs know.")
        if position == 1 and not event.HasField("workflow_execution_started_event_attributes"):
            raise DamagedHistory(f"{name}: the first event is not the start of a run.")
    if not position:
        raise DamagedHistory(f"{name}: the history has no events.")


def _document(path: Path) -> Any:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except OSError as error:
        raise DamagedHistory(f"{path}: it cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise DamagedHistory(f"{path}: it is not text in UTF-8.") from error
    except (EOFError, zlib.error) as error:
        raise DamagedHistory(f"{path}: it is not whole ({error}).") from error
    if not text.strip():
        raise DamagedHistory(f"{path}: the file is empty.")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise DamagedHistory(f"{path}: it is nested too deeply.") from error
    except ValueError as error:
        raise DamagedHistory(f"{path}: it is not JSON, or not all of it ({error}).") from error


def _events(document: Any, path: Path) -> list[Any]:
    if isinstance(document, dict):
        fields = cast("dict[str, Any]", document)
        around = fields.get("history")
        inner = cast("dict[str, Any]", around) if isinstance(around, dict) else {}
        document = fields.get("events", inner.get("events"))
    if not isinstance(document, list):
        raise DamagedHistory(f"{path}: this JSON is no history: it has no list of `events`.")
    return cast("list[Any]", document)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _has_decoded_payloads(part: Any) -> bool:
    """Whether payloads are what they stand for, as the web UI shows them, and not as Temporal has them."""
    if isinstance(part, list):
        return any(_has_decoded_payloads(one) for one in cast("list[Any]", part))
    if not isinstance(part, dict):
        return False
    fields = cast("dict[str, Any]", part)
    payloads = fields.get("payloads")
    if isinstance(payloads, list):
        return not all(isinstance(one, dict) and "metadata" in one for one in cast("list[Any]", payloads))
    return any(_has_decoded_payloads(one) for one in fields.values())
