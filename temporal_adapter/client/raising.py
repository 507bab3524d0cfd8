"""Raising in the client what an executor raised on a worker."""

from __future__ import annotations

from temporalio.exceptions import ApplicationError, FailureError

from temporal_adapter.activity_errors import raised_of
from temporal_adapter.failures import rebuilt


def raised_again(cause: BaseException | None) -> Exception | None:
    """Return the exception that failed a run, of its own class; `cause` is what Temporal has for it.

    None if user code raised none, or one that cannot be made again here: Temporal's own error serves then.
    """
    raised = raised_of(cause)
    if raised is None or not isinstance(cause, ApplicationError):
        return None
    again = rebuilt(raised, cause.message)
    # One of Temporal's own, which the executor had of another workflow, would be taken for this run's.
    return None if isinstance(again, FailureError) else again
