"""What an exception of user code looks like in history, and making it again of that."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from operator import attrgetter
from types import WrapperDescriptorType
from typing import Any, cast

from agent_framework import WorkflowErrorDetails
from agent_framework.observability import OBSERVABILITY_SETTINGS

from temporal_adapter import wire

# A failure is to fit a payload with room to spare, and Temporal means to cut one at 4 KiB.
_MESSAGE_CHARS, _TRACEBACK_CHARS = 2000, 1500
_RAISED_BYTES = 500

_EMPTY = "Application error"  # Temporal's message of an error that has none


def failure_of(error: BaseException, executor_id: str | None = None) -> wire.Failure:
    """Return an exception as a failure; MAF's details follow MAF's setting for sensitive data."""
    message = _text_of(error)
    shown = OBSERVABILITY_SETTINGS.SENSITIVE_DATA_ENABLED and message is not None  # as Executor.execute does
    details = WorkflowErrorDetails.from_exception(error, include_sensitive_data=shown, executor_id=executor_id)
    traceback = None if details.traceback is None else wire.encodable(details.traceback)[-_TRACEBACK_CHARS:]
    return wire.Failure(
        error_type=type(error).__name__,
        message=f"(no message: __str__ of {type(error).__name__} fails)" if message is None else _cut(message),
        details=wire.ErrorDetails(
            error_type=details.error_type,
            message=_cut(details.message),
            traceback=traceback,
            executor_id=details.executor_id,
        ),
        raised=_raised(error, type(error)),
    )


def rebuilt(raised: wire.Raised, message: str) -> Exception | None:
    """Return an exception made again, of its own class.

    Args:
        raised: What history has of it.
        message: What history says that it said.

    Returns:
        The exception; None if its class cannot be imported here or be made without calling it, or if what was made
        does not say the message: of an exception that kept in slots what it was about, say.
    """
    try:
        error = _made(raised, message)
        return error if error is not None and _says(error, message) else None
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever a module's import, a __new__ or a __str__ may raise, such as SystemExit
        return None


def _made(raised: wire.Raised, message: str) -> Exception | None:
    module, _, name = raised.cls.partition(":")
    cls = attrgetter(name)(importlib.import_module(module))
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        return None
    args = [message] if raised.args is None else raised.args
    # Much as unpickling does, but without the class's __init__, which may take something else than its args. That of
    # the class that Python itself comes with, such as OSError, does take them.
    error: object = cls.__new__(cls, *args)
    if not isinstance(error, cls):
        return None
    init = next(one.__init__ for one in cls.__mro__ if isinstance(one.__init__, WrapperDescriptorType))
    init(error, *args)
    vars(error).update(raised.state)
    return error


def _says(error: Exception, message: str) -> bool:
    text = str(error)
    return message in (text, _cut(text)) or (not text and message == _EMPTY)


def _raised(error: BaseException, cls: type[BaseException]) -> wire.Raised:
    """Return what is needed to raise the exception again: its class, and what of it is plain."""
    bare = wire.Raised(cls=f"{cls.__module__}:{cls.__qualname__}")
    try:
        args: Sequence[object] = error.args
        if isinstance(error, OSError):  # its args lack the names of files
            args = cast("tuple[Any, Sequence[object]]", OSError.__reduce__(error))[1]
        raised = wire.replace(
            bare,
            args=list(args) if all(map(_is_plain, args)) else None,
            state={key: value for key, value in vars(error).items() if type(key) is str and _is_plain(value)},
        )
        return raised if len(wire.to_bytes(wire.dump(raised))) <= _RAISED_BYTES else bare
    except Exception:  # such as of an attribute that is an int of more digits than Python writes
        return bare


def _is_plain(value: object) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _text_of(error: BaseException) -> str | None:
    """Return an exception's message; None if its own `__str__` is broken, which must not hide the exception."""
    try:
        return str(error)
    except Exception:
        return None


def _cut(text: str) -> str:
    cut = text if len(text) <= _MESSAGE_CHARS else f"{text[:_MESSAGE_CHARS]}... ({len(text)} characters)"
    return wire.encodable(cut)
