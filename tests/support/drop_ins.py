"""Drop-ins and the workflows they are made of, driven by the same code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agent_framework import Workflow

from temporal_adapter import SessionWorkflow, durable
from temporal_adapter.testing.comparing import first_difference
from temporal_adapter.testing.on_temporal import Serving

Use = Callable[[Workflow], Awaitable[Any]]
"""What code does with a workflow, and what it sees of it."""


def drop_in(serving: Serving, build: Callable[[], Workflow], **options: Any) -> SessionWorkflow:
    """Return a drop-in over the worker's graph, in a session of its own unless `session_id` is given."""
    options = {"checkpoint_store": serving.store, **options}
    return durable(build(), serving.client, task_queue=serving.task_queue, **options)


async def same(serving: Serving, build: Callable[[], Workflow], use: Use) -> Any:
    """Assert that code sees the same of a drop-in as of the workflow in this process; return it.

    Raises:
        AssertionError: It does not; the message names the first difference.
    """
    expected, actual = await use(build()), await use(drop_in(serving, build))
    difference = first_difference(expected, actual, "seen")
    assert difference is None, difference
    return actual


async def error_of(call: Callable[[], Any]) -> tuple[type, str, bool]:
    """Return what a call raises: the first MAF or builtin class of it, its message, and whether it raised at once."""
    try:
        awaitable = call()
    except Exception as error:
        return _class_of(error), str(error), True
    try:
        await awaitable
    except Exception as error:
        return _class_of(error), str(error), False
    raise AssertionError("it did not raise")


def _class_of(error: Exception) -> type:
    return next(one for one in type(error).__mro__ if not one.__module__.startswith("temporal_adapter"))
