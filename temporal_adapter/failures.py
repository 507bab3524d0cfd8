"""What an exception of user code looks like in history."""

from __future__ import annotations

from agent_framework import WorkflowErrorDetails
from agent_framework.observability import OBSERVABILITY_SETTINGS

from temporal_adapter import wire

_TRACEBACK_CHARS = 1500  # Temporal cuts a failure at 4 KiB


def failure_of(error: BaseException, executor_id: str | None = None) -> wire.Failure:
    """Return an exception as a failure; MAF's details follow MAF's setting for sensitive data."""
    details = WorkflowErrorDetails.from_exception(
        error,
        include_sensitive_data=OBSERVABILITY_SETTINGS.SENSITIVE_DATA_ENABLED,  # as Executor.execute does
        executor_id=executor_id,
    )
    traceback = details.traceback
    return wire.Failure(
        error_type=type(error).__name__,
        message=str(error),
        details=wire.ErrorDetails(
            error_type=details.error_type,
            message=details.message,
            traceback=None if traceback is None else traceback[-_TRACEBACK_CHARS:],
            executor_id=details.executor_id,
        ),
    )
