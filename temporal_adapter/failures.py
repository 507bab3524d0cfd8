"""What an exception of user code looks like in history."""

from __future__ import annotations

from agent_framework import WorkflowErrorDetails
from agent_framework.observability import OBSERVABILITY_SETTINGS

from temporal_adapter import wire

# A failure is to fit a payload with room to spare, and Temporal means to cut one at 4 KiB.
_MESSAGE_CHARS, _TRACEBACK_CHARS = 2000, 1500
_RAISED_BYTES = 500


def failure_of(error: BaseException, executor_id: str | None = None) -> wire.Failure:
    """Return an exception as a failure; MAF's details follow MAF's setting for sensitive data."""
    message = _text_of(error)
    shown = OBSERVABILITY_SETTINGS.SENSITIVE_DATA_ENABLED and message is not None  # as Executor.execute does
    details = WorkflowErrorDetails.from_exception(error, include_sensitive_data=shown, executor_id=executor_id)
    traceback = details.traceback
    return wire.Failure(
        error_type=type(error).__name__,
        message=f"(no message: __str__ of {type(error).__name__} fails)" if message is None else _cut(message),
        details=wire.ErrorDetails(
            error_type=details.error_type,
            message=_cut(details.message),
            traceback=None if traceback is None else traceback[-_TRACEBACK_CHARS:],
            executor_id=details.executor_id,
        ),
        raised=_raised(error),
    )


def _raised(error: BaseException) -> wire.Raised:
    """Return what a client needs to raise the exception again: its class, and what of it is plain."""
    cls = type(error)
    raised = wire.Raised(
        cls=f"{cls.__module__}:{cls.__qualname__}",
        args=list(error.args) if all(map(_is_plain, error.args)) else None,
        state={key: value for key, value in vars(error).items() if _is_plain(value)},
    )
    return raised if len(wire.to_bytes(wire.dump(raised))) <= _RAISED_BYTES else wire.Raised(cls=raised.cls)


def _is_plain(value: object) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _text_of(error: BaseException) -> str | None:
    """Return an exception's message; None if its own `__str__` is broken, which must not hide the exception."""
    try:
        return str(error)
    except Exception:
        return None


def _cut(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARS else f"{text[:_MESSAGE_CHARS]}... ({len(text)} characters)"
