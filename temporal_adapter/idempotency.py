"""The idempotency key of the delivery that runs now, for executors that change something outside."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_KEY: ContextVar[str | None] = ContextVar("idempotency_key", default=None)


def idempotency_key() -> str | None:
    """Return a text that names what the executor is handling now; call it from a handler.

    An executor may run more than once for one message: its worker dies, its attempt times out, the run is resumed.
    The key is the same each time, and another for every other message, executor and run, so that a payment service
    or a database can tell a repetition. It has at most a few hundred characters of ASCII.

    It names the delivery: a handler that does several things, or an agent whose tools do, must add something of each,
    such as `f"{idempotency_key()}/{invoice_id}"`.

    The executors of a workflow that a handler runs itself (`await other.run(...)`) have the handler's key, all the same
    one: they are part of what it does. Each of a `WorkflowExecutor`'s sub-workflow has its own.

    Returns:
        The key; None when the workflow runs in-process, without Temporal.
    """
    return _KEY.get()


@contextmanager
def idempotent_under(key: str) -> Generator[None, None, None]:
    """Set the key while an executor runs."""
    token = _KEY.set(key)
    try:
        yield
    finally:
        _KEY.reset(token)
