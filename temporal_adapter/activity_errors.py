"""What a failed activity means to a run: the executor's own error, or trouble around it that will pass.

Used by workflow code: deterministic, and without MAF.
"""

from __future__ import annotations

from temporalio.exceptions import ActivityError, ApplicationError, FailureError

from temporal_adapter import wire
from temporal_adapter.wire.names import GRAPH_CHANGED, NOT_REGISTERED, STORE_UNAVAILABLE


def will_pass(error: BaseException) -> bool:
    """Whether an activity failed of its surroundings: a worker with another graph, or a blob store that is away.

    That is no error of an executor, and neither a deployment nor an outage may fail a run.
    """
    cause = cause_of(error)
    if not isinstance(cause, ApplicationError):
        return False
    return cause.type in (GRAPH_CHANGED, STORE_UNAVAILABLE) or (
        cause.type == "NotFoundError" and NOT_REGISTERED in cause.message
    )


def cause_of(error: BaseException) -> BaseException:
    """Return what an activity failed of. A local activity's error comes as it is, another's in an ActivityError."""
    return error.cause if isinstance(error, ActivityError) and error.cause is not None else error


def failure_of(error: BaseException) -> wire.Failure:
    """Return the error that an activity's code raised, or Temporal's own (a timeout, say)."""
    cause = cause_of(error)
    given_type = cause.type if isinstance(cause, ApplicationError) else None
    error_type = given_type or type(cause).__name__
    message = cause.message if isinstance(cause, FailureError) else str(cause)
    details = _details_of(cause) or wire.ErrorDetails(error_type=error_type, message=message)
    return wire.Failure(error_type=error_type, message=message, details=details)


def as_application_error(failure: wire.Failure) -> ApplicationError:
    """Return the error that a run fails with: of the type and with the message that its code raised."""
    return ApplicationError(failure.message, wire.dump(failure.details), type=failure.error_type)


def _details_of(cause: BaseException) -> wire.ErrorDetails | None:
    """Return MAF's details where the host attached them; an executor may raise an ApplicationError with its own."""
    if not isinstance(cause, ApplicationError) or not cause.details:
        return None
    try:
        return wire.load(wire.ErrorDetails, cause.details[0])
    except wire.WireError:
        return None
