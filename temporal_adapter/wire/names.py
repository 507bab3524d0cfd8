"""Names of Temporal activity types: a stable grammar that a person recognises in the Temporal UI.

    activity-type  = workflow "/" executor-path      an executor's deliveries
                   | workflow ":" service            seed, respond, commit, ... (`Service`)
    executor-path  = executor *( "/" executor )      from the outermost workflow inwards
    workflow, executor = the MAF name or id, with "%", "/" and ":" percent-encoded

`expense-approval/fraud-score` is the executor `fraud-score` of the workflow `expense-approval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import unquote

GRAPH_CHANGED = "GraphChanged"
"""Error type of an activity whose worker has another graph than the run's. It is tried again until one has the same."""

GRAPH_REFUSED = "GraphRefused"
"""The same on a worker that is told `on_graph_change="fail"`: the run fails."""

GRAPH_MIGRATES = "GraphMigrates"
"""The same on a worker that can migrate the run's checkpoint to its own graph."""

GRAPH_ERRORS = (GRAPH_CHANGED, GRAPH_REFUSED, GRAPH_MIGRATES)

RUN_CONTINUES = "RunContinues"
"""Error type of an update that could not be answered before the run went on as a new Temporal run: send it again."""

NEWER_SCHEMA = "NewerSchema"
"""Error type of an activity that was given what only a newer release reads. It is tried again until one takes it."""

STORE_UNAVAILABLE = "CheckpointStoreUnavailable"
"""Error type of an activity that needs the blob store and cannot read or write it."""

TIMED_OUT = "AdapterActivityTimedOut"
"""Error type of one of the adapter's own activities that did not end in time, however often it was tried."""

RESPONSE_REFUSED = "ResponseRefused"
"""Error type of a `respond` update that was refused."""

RETRY_REFUSED = "RetryRefused"
"""Error type of a `retry` update that names no executor that waits for one."""

SESSION_REFUSED = "SessionRefused"
"""Error type of a session's update `run`, `reset` or `close` that cannot be taken now, or not so."""

INPUT_NOT_HANDLED = "InputNotHandled"
"""Error type of a run whose input no handler of the start executor accepts."""

RUN_REFUSED = "RunRefused"
"""Error type of a run whose arguments MAF's `Workflow.run` refuses."""

CHECKPOINT_NOT_FOUND = "CheckpointNotFound"
"""Error type of a run that was to begin at a checkpoint which the store does not have, or not whole."""

RESTORE_REFUSED = "RestoreRefused"
"""Error type of a run that cannot begin at its checkpoint: another graph, or what a fork is given does not fit."""

MIGRATED_FROM = "migrated_from"
"""Key in a checkpoint's metadata that says which checkpoint of another graph it was made of, and how."""

CANCEL_REFUSED = "CancelRefused"
"""Error type of a `cancel_requests` update that names a request which does not wait for a response."""

REQUEST_EXPIRED = "RequestExpired"
"""Error type of a run that failed because a request waited too long."""

NOT_TAKEN_UP = "RunNotTakenUp"
"""Begins the error of a query to a run that goes on as a new Temporal run, and has not read all that it carries yet."""

PENDING_REQUESTS_ATTRIBUTE = "AgentFrameworkPendingRequests"
"""Search attribute (Int) of how many requests of a run wait for a response, where the workers are told to keep it."""

NOT_REGISTERED = "is not registered on this worker"
"""What Temporal's SDK says of a workflow or activity type that a worker does not have."""

WAITS = "waits, and is tried again"
"""In the text of a `warning` event of a run: something of it fails of what will pass."""

CONTINUE_AS_NEW = "continue_as_new"
"""Name of the signal by which an operator has a run go on as a new Temporal run."""

STREAM_TOPIC = "events"
"""Topic of the live batches in a run's stream (`temporalio.contrib.workflow_streams`)."""

STREAM_ENCODING = b"json/zlib"
"""Encoding of a live batch's payload: JSON text, compressed by zlib."""

STREAM_PUBLISH = "__temporal_workflow_stream_publish"
STREAM_POLL = "__temporal_workflow_stream_poll"
STREAM_OFFSET = "__temporal_workflow_stream_offset"
"""Names of the signal and queries of `temporalio.contrib.workflow_streams`: its protocol, without public constants."""

Service = Literal["seed", "respond", "commit", "turn", "kwargs", "notify", "keep", "fetch", "carry_on"]

_ESCAPES = str.maketrans({"%": "%25", "/": "%2F", ":": "%3A"})


def _segment(name: str) -> str:
    return name.translate(_ESCAPES)


def path_text(executor_path: Sequence[str]) -> str:
    """Return an executor path as one text, such as `review/legal`; empty for the outermost workflow."""
    return "/".join(_segment(part) for part in executor_path)


def path_of(text: str) -> list[str]:
    """Return the executor path that `path_text` turned into this text."""
    return [unquote(part) for part in text.split("/")] if text else []


def executor_activity_type(workflow_name: str, executor_path: Sequence[str]) -> str:
    """Return the activity type that runs an executor; `executor_path` has one id per level of nesting."""
    return path_text((workflow_name, *executor_path))


def service_activity_type(workflow_name: str, service: Service) -> str:
    """Return the activity type of one of the adapter's own activities for a workflow."""
    return f"{_segment(workflow_name)}:{service}"


def parse_executor_activity_type(activity_type: str) -> tuple[str, tuple[str, ...]]:
    """Return the workflow name and executor path that an executor's activity type stands for.

    Raises:
        ValueError: The name does not follow the grammar.
    """
    workflow_name, *path = activity_type.split("/")
    if not workflow_name or not path or not all(path) or ":" in activity_type:
        raise ValueError(
            f"{activity_type!r} is not an executor's activity type; "
            "expected '<workflow name>/<executor id>', such as 'expense-approval/fraud-score'."
        )
    return unquote(workflow_name), tuple(unquote(part) for part in path)
