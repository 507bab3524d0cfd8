"""What an exception of user code looks like in history."""

from __future__ import annotations

from agent_framework import WorkflowErrorDetails
from agent_framework.observability import OBSERVABILITY_SETTINGS

from temporal_adapter import wire

_TRACEBACK_CHARS = 1500  # Temporal cuts a failure at 4 KiB


def failure_of(error: BaseException, executor_id: str | None = None) -> wire.Failure:
    """Return an exception as a failure; MAF's details follow MAF's setting for sensitive data."""
    message = _text_of(error)
    shown = OBSERVABILITY_SETTINGS.SENSITIVE_DATA_ENABLED and message is not None  # as Executor.execute does
    details = WorkflowErrorDetails.from_exception(error, include_sensitive_data=shown, executor_id=executor_id)
    traceback = details.traceback
    return wire.Failure(
        error_type=type(error).__name__,
        message=f"(no message: __str__ of {type(error).__name__} fails)" if message is None else message,
        details=wire.ErrorDetails(
            error_type=details.error_type,
            message=details.message,
            traceback=None if traceback is None else traceback[-_TRACEBACK_CHARS:],
            executor_id=details.executor_id,
        ),
    )


def _text_of(error: BaseException) -> str | None:
    """Return an exception's message; None if its own `__str__` is broken, which must not hide the exception."""
    try:
        return str(error)
    except Exception:
        return None
