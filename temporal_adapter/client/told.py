"""What a client is told of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agent_framework import WorkflowRunState


@dataclass(frozen=True, slots=True)
class FailedExecutor:
    """An executor that waits for an operator. `executor` is its path, such as `review` or `review/legal`."""

    executor: str
    error_type: str
    message: str


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Where a run stands.

    Attributes:
        state: MAF's state of the run.
        iteration: The last superstep that completed, counted from 1.
        pending_requests: How many requests wait for a response.
        checkpoint_id: The head of the checkpoint lineage.
        events: How many events there are.
        unmirrored_checkpoints: How many checkpoints are recorded in history and not yet in the blob store.
        mirror_error: Why, when writing them fails.
        failed_executors: Those whose last attempt failed and that wait for `DurableRun.retry`.
    """

    state: WorkflowRunState
    iteration: int
    pending_requests: int
    checkpoint_id: str | None
    events: int
    unmirrored_checkpoints: int
    mirror_error: str | None
    failed_executors: tuple[FailedExecutor, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """A checkpoint's place in the lineage. `kind` is entry, superstep or response; `timestamp` ISO 8601 in UTC."""

    checkpoint_id: str
    previous_checkpoint_id: str | None
    kind: str
    iteration: int
    timestamp: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """A response was accepted: it is in history, and in flight in this checkpoint."""

    request_id: str
    checkpoint_id: str | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of a response, a cancellation or an expiry: an entry of the audit trail.

    Attributes:
        request_id: The request's.
        outcome: `accepted`, `refused`, `cancelled` or `expired`.
        executor_id: Who asked; None where no such request is known.
        source: Whether a person or service answered, a deadline did, or the run that this one replays.
        response: What was accepted: an object of the response type.
        responder: Who answered, as they said.
        comment: Why, as they said.
        at: When, ISO 8601 in UTC.
        checkpoint_id: The checkpoint where the response is in flight.
        reason: Why it was refused.
    """

    request_id: str
    outcome: Literal["accepted", "refused", "cancelled", "expired"]
    executor_id: str | None
    source: Literal["person", "deadline", "replay"]
    response: Any
    responder: str | None
    comment: str | None
    at: str | None
    checkpoint_id: str | None
    reason: str | None
