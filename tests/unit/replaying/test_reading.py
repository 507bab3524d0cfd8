"""Histories in files: every shape in which Temporal's tools write them is read; what is damaged is told by file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from temporal_adapter.replaying import DamagedHistory, NoHistories, history_files, read_history

STARTED = {
    "workflowType": {"name": "greeting"},
    "taskQueue": {"name": "greetings", "kind": "TASK_QUEUE_KIND_NORMAL"},
    "input": {"payloads": [{"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "IkFkYSI="}]},
    "originalExecutionRunId": "5d1c92f6",
    "workflowId": "greet-ada",
}
EVENTS: list[dict[str, Any]] = [
    {
        "eventId": "1",
        "eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED",
        "workflowExecutionStartedEventAttributes": STARTED,
    },
    {"eventId": "2", "eventType": "EVENT_TYPE_WORKFLOW_TASK_SCHEDULED", "workflowTaskScheduledEventAttributes": {}},
]


def as_in_older_uis(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = {"EVENT_TYPE_WORKFLOW_EXECUTION_STARTED": "WorkflowExecutionStarted"}
    names["EVENT_TYPE_WORKFLOW_TASK_SCHEDULED"] = "WorkflowTaskScheduled"
    started = {**STARTED, "taskQueue": {"name": "greetings", "kind": "Normal"}}
    altered = [{**event, "eventType": names[event["eventType"]]} for event in events]
    altered[0]["workflowExecutionStartedEventAttributes"] = started
    return altered


SHAPES: dict[str, Callable[[], str]] = {
    "the CLI's, and the SDKs'": lambda: json.dumps({"events": EVENTS}, indent=2),
    "the CLI's, in one line": lambda: json.dumps({"events": EVENTS}) + "\n",
    "the web UI's": lambda: json.dumps({"events": [{**event, "eventId": int(event["eventId"])} for event in EVENTS]}),
    "the web UI's of old": lambda: json.dumps({"events": as_in_older_uis(EVENTS)}),
    "the server's own, by HTTP": lambda: json.dumps({"history": {"events": EVENTS}, "nextPageToken": None}),
    "a bare list": lambda: json.dumps(EVENTS),
    "with a byte order mark": lambda: "\ufeff" + json.dumps(EVENTS),
    "with fields of a newer server": lambda: json.dumps({"events": [{**event, "mood": "good"} for event in EVENTS]}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_read(shape: str, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(SHAPES[shape](), encoding="utf-8")

    history = read_history(tmp_path / "one.json")

    assert history.workflow_id == "greet-ada"
    assert [event.event_id for event in history.events] == [1, 2]
    started = history.events[0].workflow_execution_started_event_attributes
    assert (started.workflow_type.name, started.task_queue.kind) == ("greeting", 1)
    assert started.input.payloads[0].data == b'"Ada"'


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "one.json.gz").write_bytes(gzip.compress(json.dumps(EVENTS).encode()))

    assert len(read_history(tmp_path / "one.json.gz").events) == 2


def test_a_history_without_a_workflow_id_has_the_files_name(tmp_path: Path) -> None:
    events = json.loads(json.dumps(EVENTS))
    del events[0]["workflowExecutionStartedEventAttributes"]["workflowId"]
    (tmp_path / "greet-bob.json").write_text(json.dumps(events))

    assert read_history(tmp_path / "greet-bob.json").workflow_id == "greet-bob"


def _decoded() -> str:
    events = json.loads(json.dumps(EVENTS))
    events[0]["workflowExecutionStartedEventAttributes"]["input"]["payloads"] = ["Ada"]
    return json.dumps({"events": events})


DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "only blanks": (b" \n", "the file is empty"),
    "not JSON": (b"greetings", "it is not JSON, or not all of it"),
    "cut": (json.dumps(EVENTS).encode()[:-20], "it is not JSON, or not all of it"),
    "not text": (b"\xff\xfe\x00", "it is not text in UTF-8"),
    "compressed and cut": (gzip.compress(json.dumps(EVENTS).encode())[:-12], "it is not whole"),
    "other JSON": (b'{"name": "x"}', "it has no list of `events`"),
    "a number": (b"3", "it has no list of `events`"),
    "no events": (b'{"events": []}', "the history has no events"),
    "events that are none": (b'{"events": [1, 2]}', "this is not Temporal's JSON of a history"),
    "an event of an unknown type": (
        json.dumps([{**EVENTS[0], "eventType": "EVENT_TYPE_MOON"}]).encode(),
        "event 1 is of no type",
    ),
    "without its beginning": (json.dumps(EVENTS[1:]).encode(), "event 1 is missing: in its place is event 2"),
    "with a gap": (
        json.dumps([EVENTS[0], {**EVENTS[1], "eventId": "3"}]).encode(),
        "event 2 is missing: in its place is event 3",
    ),
    "with decoded payloads": (_decoded().encode(), "its payloads are decoded. Download the history again"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_is_damaged_is_told_by_file(damage: str, tmp_path: Path) -> None:
    data, told = DAMAGED[damage]
    (tmp_path / "one.json").write_bytes(data)

    with pytest.raises(DamagedHistory) as raised:
        read_history(tmp_path / "one.json")

    assert str(raised.value).startswith(f"{tmp_path / 'one.json'}: ")
    assert told in str(raised.value)


def test_a_directory_stands_for_all_histories_below_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.json", "deep/a.json.gz", "notes.txt"):
        (tmp_path / name).touch()

    files = history_files([tmp_path, tmp_path / "b.json"])

    assert [str(one.relative_to(tmp_path)) for one in files] == ["b.json", "deep/a.json.gz"]


def test_a_file_that_is_named_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    assert history_files([tmp_path / "notes.txt"]) == [tmp_path / "notes.txt"]


def test_a_path_without_histories_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoHistories, match="there is no history file"):
        history_files([tmp_path])
    with pytest.raises(NoHistories, match=r"nowhere: there is no such file or directory"):
        history_files([tmp_path / "nowhere"])
