"""What a failed activity means to a run: the executor's own error, or trouble around it that will pass.

Used by workflow code: deterministic, and without MAF.
"""

from __future__ import annotations

import re
from typing import TypeVar

from temporalio.exceptions import ActivityError, ApplicationError, FailureError

from temporal_adapter import wire
from temporal_adapter.wire.names import (
    GRAPH_CHANGED,
    GRAPH_MIGRATES,
    GRAPH_REFUSED,
    NEWER_SCHEMA,
    NOT_REGISTERED,
    STORE_UNAVAILABLE,
    TIMED_OUT,
)

ShapeT = TypeVar("ShapeT")


def will_pass(error: BaseException) -> bool:
    """Whether an activity failed of its surroundings: a worker with another graph or of an older release, a blob store
    that is away; one of the adapter's own also where its workers are lost or very slow.

    That is no error of an executor, and neither a deployment nor an outage may fail a run.
    """
    cause = cause_of(error)
    if not isinstance(cause, ApplicationError):
        return False
    return cause.type in (GRAPH_CHANGED, NEWER_SCHEMA, STORE_UNAVAILABLE, TIMED_OUT) or (
        cause.type == "NotFoundError" and NOT_REGISTERED in cause.message
    )


def migrates(error: BaseException) -> bool:
    """Whether an activity met a worker that can migrate the run to the graph that it has."""
    return _is_of_type(error, GRAPH_MIGRATES)


def refuses_graph(error: BaseException) -> bool:
    """Whether an activity met a worker that is told to fail runs of other graphs than its own."""
    return _is_of_type(error, GRAPH_REFUSED)


def _is_of_type(error: BaseException, error_type: str) -> bool:
    cause = cause_of(error)
    return isinstance(cause, ApplicationError) and cause.type == error_type


def cause_of(error: BaseException) -> BaseException:
    """Return what an activity failed of. A local activity's error comes as it is, another's in an ActivityError."""
    return error.cause if isinstance(error, ActivityError) and error.cause is not None else error


def failure_of(error: BaseException) -> wire.Failure:
    """Return the error that an activity's code raised, or Temporal's own (a timeout, say)."""
    cause = cause_of(error)
    given_type = cause.type if isinstance(cause, ApplicationError) else None
    error_type = given_type or type(cause).__name__
    message = cause.message if isinstance(cause, FailureError) else str(cause)
    details = _attached(cause, 0, wire.ErrorDetails) or wire.ErrorDetails(error_type=error_type, message=message)
    return wire.Failure(error_type=error_type, message=message, details=details, raised=raised_of(cause))


def as_application_error(failure: wire.Failure, *, non_retryable: bool = False) -> ApplicationError:
    """Return the error that an activity or run fails with: of the type and with the message that its code raised.

    Its details are MAF's error details and, where it can be raised again, the exception: what `failure_of` reads.
    """
    attached = [failure.details] if failure.raised is None else [failure.details, failure.raised]
    details = [wire.dump(one) for one in attached]
    return ApplicationError(failure.message, *details, type=failure.error_type, non_retryable=non_retryable)


def raised_of(error: BaseException | None) -> wire.Raised | None:
    """Return the exception that user code raised, of the error that an activity or run failed with.

    None for what an executor raised as an ApplicationError of its own, whatever its details look like.
    """
    raised = None if error is None else _attached(error, 1, wire.Raised)
    if raised is None or not isinstance(error, ApplicationError):
        return None
    return raised if re.split("[:.]", raised.cls)[-1] == error.type else None


def _attached(cause: BaseException, place: int, shape: type[ShapeT]) -> ShapeT | None:
    """Return what the host attached to an error; an executor may raise an ApplicationError with details of its own."""
    if not isinstance(cause, ApplicationError) or len(cause.details) <= place:
        return None
    try:
        return wire.load(shape, cause.details[place])
    except wire.WireError:
        return None
