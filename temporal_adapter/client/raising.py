"""Raising in the client what an executor raised on a worker."""

from __future__ import annotations

import importlib
from operator import attrgetter

from temporalio.client import WorkflowFailureError

from temporal_adapter import wire
from temporal_adapter.activity_errors import raised_of


def raised_again(error: WorkflowFailureError) -> Exception | None:
    """Return the exception that failed a run, of its own class.

    None if user code raised none, or if its class cannot be imported here or not be made without calling it.
    """
    raised = raised_of(error.cause)
    if raised is None:
        return None
    try:
        return _rebuilt(raised, str(error.cause.message))  # type: ignore[union-attr]
    except Exception:  # whatever an import or a class's __new__ may raise: Temporal's own error serves
        return None


def _rebuilt(raised: wire.Raised, message: str) -> Exception | None:
    module, _, name = raised.cls.partition(":")
    cls = attrgetter(name)(importlib.import_module(module))
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        return None
    args = [message] if raised.args is None else raised.args
    # As unpickling does: a class's __init__ may take something else than its args.
    error = cls.__new__(cls, *args)
    error.args = tuple(args)
    vars(error).update(raised.state)
    return error
