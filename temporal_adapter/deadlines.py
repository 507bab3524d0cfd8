"""What is done while a request waits for a person, and when it has waited too long: as a user configures it.

Nothing here keeps time or sends anything. The terms travel with each request, so that an edit of them holds for
requests that are made from then on.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from agent_framework import WorkflowEvent

from temporal_adapter import wire
from temporal_adapter.definitions import ConfigurationError
from temporal_adapter.maf import is_instance_of
from temporal_adapter.values import EncodeError, to_plain_json
from temporal_adapter.wire.names import executor_activity_type

_LONGEST = timedelta(days=36_500)
_LARGEST_DEFAULT = 16 * 1024  # bytes of JSON

OnExpiry = Literal["fail", "cancel", "default"]


@dataclass(frozen=True, slots=True)
class Reminder:
    """What `Deadline.notify` is given.

    Attributes:
        workflow_id: Temporal's, of the run that waits.
        workflow_name: The MAF workflow's.
        request: MAF's `request_info` event; `request.data` is what the executor asked.
        number: Of the reminder, from 1.
        asked_at: When the request was made.
        expires_at: When it will expire, if ever.
        link: Where the request is answered: the plugin's `request_link`, filled in; None without one.
    """

    workflow_id: str
    workflow_name: str
    request: WorkflowEvent[Any]
    number: int
    asked_at: datetime
    expires_at: datetime | None = None
    link: str | None = None


Notify = Callable[[Reminder], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """What to do about requests that wait. The first of the plugin's deadlines that fits a request holds for it.

    Attributes:
        executor: The executor that asks, as its activity type: `"expense-approval/manager"`. All of them if None.
        request_type: The type of what it asks with. All of them if None.
        remind_every: How long after the request, and after each reminder, `notify` is called.
        remind_at_once: Whether it is called first when the request is made.
        notify: An async callable, run as an activity: it is tried again when it raises, and may be called twice for one
            reminder when a worker is lost. A run never fails for it.
        expire_after: How long after the request it expires.
        on_expiry: What happens then: `fail` the run, `cancel` the request (as `cancel_pending_requests`), or answer it
            with the `default`, which the audit trail marks as given by the deadline.
        default: The response for `on_expiry="default"`: an object of the response type, or JSON for it.
    """

    executor: str | None = None
    request_type: type | None = None
    remind_every: timedelta | None = None
    remind_at_once: bool = False
    notify: Notify | None = None
    expire_after: timedelta | None = None
    on_expiry: OnExpiry = "fail"
    default: Any = None

    def terms(self) -> wire.Deadline:
        """Return what a request records of it."""
        return wire.Deadline(
            remind_every=None if self.remind_every is None else self.remind_every.total_seconds(),
            remind_at_once=self.remind_at_once,
            expire_after=None if self.expire_after is None else self.expire_after.total_seconds(),
            on_expiry=self.on_expiry,
            default=None if self.on_expiry != "default" else to_plain_json(self.default),
        )


def deadline_for(deadlines: Sequence[Deadline], workflow_name: str, request: WorkflowEvent[Any]) -> Deadline | None:
    """Return the deadline that holds for a request, if any."""
    asked_by = executor_activity_type(workflow_name, [request.source_executor_id])
    for one in deadlines:
        if one.executor in (None, asked_by) and (one.request_type is None or _is_of(request.data, one.request_type)):
            return one
    return None


def _is_of(data: Any, request_type: type) -> bool:
    try:
        return is_instance_of(data, request_type)
    except TypeError:  # an expression that MAF cannot check
        return False


def check_deadlines(deadlines: Sequence[Any], executors: Collection[str]) -> None:
    """See that each deadline can be kept.

    Args:
        deadlines: The plugin's.
        executors: Activity types of the executors whose requests people answer.

    Raises:
        ConfigurationError: One cannot; the message says what to change.
    """
    for place, one in enumerate(deadlines):
        if not isinstance(one, Deadline):
            raise ConfigurationError(f"deadlines[{place}] must be a Deadline, not {type(one).__name__} {one!r}.")
        problem = _problem(one, executors)
        if problem is not None:
            raise ConfigurationError(f"deadlines[{place}]: {problem}")


def _problem(one: Deadline, executors: Collection[str]) -> str | None:
    if one.executor is not None and one.executor not in executors:
        return f"no executor is called {one.executor!r}. There are: {', '.join(executors)}."
    if one.request_type is not None and not isinstance(one.request_type, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        return f"request_type must be a class, not {one.request_type!r}."
    for name in ("remind_every", "expire_after"):
        given = getattr(one, name)
        if given is not None and (not isinstance(given, timedelta) or not timedelta() < given <= _LONGEST):
            return f"{name} must be a timedelta above zero, and of 100 years at most, not {given!r}."
    reminds = one.remind_every is not None or one.remind_at_once
    if one.notify is not None and not inspect.iscoroutinefunction(_function_of(one.notify)):
        return f"notify must be an async function that takes a Reminder, not {one.notify!r}."
    if reminds != (one.notify is not None):
        return "reminders take both: notify, and remind_every or remind_at_once."
    if not reminds and one.expire_after is None:
        return "it does nothing: give it remind_every with notify, or expire_after."
    return _problem_of_expiry(one)


def _problem_of_expiry(one: Deadline) -> str | None:
    if one.on_expiry not in get_args(OnExpiry):
        return f"on_expiry must be one of {get_args(OnExpiry)}, not {one.on_expiry!r}."
    if one.on_expiry != "fail" and one.expire_after is None:
        return f"on_expiry={one.on_expiry!r} takes expire_after."
    if one.on_expiry != "default" and one.default is not None:
        return "a default is given with on_expiry='default' only."
    try:
        size = len(wire.to_bytes(one.terms().default))
    except EncodeError as error:
        return f"the default cannot be sent: {error}"
    if size > _LARGEST_DEFAULT:
        return (
            f"the default has {size} bytes in JSON, and each request would carry it: {_LARGEST_DEFAULT} are possible."
        )
    return None


def _function_of(notify: Any) -> Any:
    """Return what is called: of a callable object, its method."""
    return notify if inspect.isroutine(notify) else getattr(notify, "__call__", notify)  # noqa: B004
