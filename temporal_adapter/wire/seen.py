"""What queries and updates answer: the shapes that clients see, in any language. See `shapes` for the conventions."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .shapes import ArchivedPage, Event, Failure, GraphEdge, Restore, Value


class PendingRequest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An entry of the query `pending_requests`: plain JSON throughout."""

    request_id: str
    executor_id: str
    request_type: str
    response_type: str
    data: Any  # or {"ref": ..., "size": ...}, of what is in the blob store
    response_schema: Any = None  # JSON schema of the response type, or a reference likewise; None: it has none
    asked_at: str | None = None
    expires_at: str | None = None
    on_expiry: Literal["fail", "cancel", "default"] | None = None
    reminders: int = 0  # sent so far


class ReadableResponded(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An entry of the query `responses`, the audit trail: what became of a response, a cancellation or an expiry."""

    request_id: str
    outcome: Literal["accepted", "refused", "cancelled", "expired"]
    executor_id: str | None = None  # None: no such request is known
    source: Literal["person", "deadline", "replay"] = "person"
    response: Any = None  # what was accepted, coerced; or {"ref": ..., "size": ...}, of what is in the blob store
    responder: str | None = None
    comment: str | None = None
    at: str | None = None
    checkpoint_id: str | None = None  # where the response is in flight
    reason: str | None = None  # of a refusal


class Responded(ReadableResponded, frozen=True, omit_defaults=True, kw_only=True):
    """The same with types kept: an entry of the query `recorded_responses`."""

    response: Value | None = None
    fingerprint: str | None = None  # of what was accepted, as it came


class CancelRequests(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Argument of the update and signal `cancel_requests`."""

    request_ids: list[str]
    responder: str | None = None
    comment: str | None = None


class ExecutorProgress(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An executor in the answer of the query `graph`."""

    executor_id: str
    state: Literal["idle", "running", "waiting", "failed", "completed"]  # waiting: for a response
    deliveries: int = 0  # completed so far
    pending_requests: int = 0
    workflow: GraphProgress | None = None  # the sub-workflow that it wraps


class GraphProgress(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Answer of the query `graph`: the graph, with where the run stands in it."""

    name: str
    start_executor_id: str
    iteration: int
    executors: list[ExecutorProgress]
    edges: list[GraphEdge]


class Turn(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Answer of a session's update `run`: where in the events the turn is."""

    first: int  # offset of its first event
    next: int  # offset after its last event, or its last so far
    state: str  # MAF's WorkflowRunState
    continues: bool = False  # the turn is not over: the session goes on as a new Temporal run. Ask on by `follow`


class TurnProgress(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Answer of a session's query `turn`, about the turn that an update `run` of a given id began."""

    first: int  # offset of its first event
    live: int  # offset in the live batches where it began
    next: int | None = None  # offset after its last event; None: it is not over
    state: str | None = None  # MAF's WorkflowRunState then
    failure: Failure | None = None  # what it failed with


class FailedExecutor(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An executor whose last attempt failed, and that waits for an operator."""

    executor: str  # its path, such as "review" or "review/legal"
    error_type: str
    message: str


class RunStatus(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Answer of the query `status`."""

    state: str  # MAF's WorkflowRunState
    iteration: int
    pending_requests: int
    checkpoint_id: str | None = None  # head of the lineage
    events: int  # so far
    unmirrored_checkpoints: int = 0  # recorded in history, not yet in the blob store
    mirror_error: str | None = None  # why, when writing them fails
    failed_executors: list[FailedExecutor] = []  # that wait for an operator's `retry`
    restored: Restore | None = None  # how the run came from a checkpoint


class EventLog(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A page of events. The next starts after them; an event whose value is `many` counts as many."""

    offset: int
    events: list[Event]
    ended: bool  # no event follows the last of this page
    skip: int = 0  # the first event stands for many, and so many of these come before the offset
    archived: ArchivedPage | None = None  # or: the offset is in this page of the blob store


class RunResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The result of the Temporal workflow. `outputs` is for people and other languages, `events` for MAF clients."""

    outputs: list[Any]
    state: str
    iteration: int
    checkpoint_id: str
    events: list[Event] | None = None  # absent when too many: read them by the query `events`
