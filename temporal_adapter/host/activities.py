"""The Temporal activity definitions of one MAF workflow, and how errors leave them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from agent_framework import WorkflowCheckpointException, WorkflowValidationError
from temporalio import activity
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DefaultFailureConverter
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.activity_errors import as_application_error
from temporal_adapter.converter import ordered_json
from temporal_adapter.failures import failure_of
from temporal_adapter.pool import UnknownExecutor
from temporal_adapter.store import StoreError
from temporal_adapter.values import DecodeError, EncodeError
from temporal_adapter.wire.names import (
    NEWER_SCHEMA,
    STORE_UNAVAILABLE,
    Service,
    executor_activity_type,
    service_activity_type,
)

from . import mirror
from .asking import notify
from .carry import carry_on, fetch, keep, whole
from .context import Host, now
from .deliver import deliver
from .heartbeat import Heart, attempt
from .kwargs import resolve_kwargs
from .respond import respond
from .seed import seed

_SHORT = 2000  # characters

InputT = TypeVar("InputT", bound=msgspec.Struct)

# A retry meets the same graph and the same values, so these would only fail again.
_PROGRAMMING_ERRORS = (
    WorkflowValidationError,
    WorkflowCheckpointException,
    EncodeError,
    DecodeError,
    wire.WireError,
    UnknownExecutor,
)


def activities(host: Host, executor_paths: list[tuple[str, ...]]) -> list[Callable[..., Any]]:
    """Return the activities of a workflow: one for each executor of every level, and the adapter's own."""
    heart = Heart()
    return [
        *(_executor_activity(host, path, heart) for path in executor_paths),
        _own(host, "seed", wire.SeedInput, seed),
        _own(host, "respond", wire.RespondInput, respond),
        _own(host, "commit", wire.CommitInput, _commit),
        _own(host, "turn", wire.TakeTurn, _take_turn),
        _own(host, "kwargs", wire.ResolveKwargs, resolve_kwargs),
        _own(host, "notify", wire.NotifyInput, notify),
        _own(host, "keep", wire.KeepInput, keep),
        _own(host, "fetch", wire.FetchInput, fetch),
        _own(host, "carry_on", wire.CarryOnInput, carry_on),
    ]


def _own(
    host: Host, service: Service, shape: type[InputT], body: Callable[[Host, InputT], Awaitable[msgspec.Struct]]
) -> Callable[..., Any]:
    async def run(data: Any) -> msgspec.Struct:
        return await body(host, wire.load(shape, await whole(host, data)))

    return _define(service_activity_type(host.name, service), run)


def _executor_activity(host: Host, path: tuple[str, ...], heart: Heart) -> Callable[..., Any]:
    async def run(data: Any) -> wire.DeliveryResult:
        try:
            async with attempt(heart):
                return await deliver(host, wire.load(wire.DeliveryInput, data))
        except EncodeError as error:
            raise EncodeError(f"Executor {'/'.join(path)!r}: {error}") from error

    return _define(executor_activity_type(host.name, path), run)


def _define(activity_type: str, body: Callable[[Any], Awaitable[msgspec.Struct]]) -> Callable[..., Any]:
    async def run(data: Any) -> Any:
        try:
            return ordered_json(wire.dump(await body(data)))
        except asyncio.CancelledError as error:
            if activity.is_cancelled():
                raise
            raise _failed(error) from _cause(error)  # of a task that the executor awaited, say
        except ApplicationError as error:
            if _is_writable(error):
                raise
            raise _writable(error) from None
        except Exception as error:
            raise _failed(error) from _cause(error)

    return activity.defn(name=activity_type)(run)


def _failed(error: BaseException) -> ApplicationError:
    """Return what an activity fails with. Temporal takes no other error of it, not even of Temporal's own kinds."""
    if isinstance(error, StoreError):  # the workflow tries again, in its own time
        return ApplicationError(wire.encodable(str(error)), type=STORE_UNAVAILABLE, non_retryable=True)
    if isinstance(error, wire.NewerSchema):  # likewise: a newer worker reads it
        return ApplicationError(str(error), type=NEWER_SCHEMA, non_retryable=True)
    return as_application_error(failure_of(error), non_retryable=isinstance(error, _PROGRAMMING_ERRORS))


def _cause(error: BaseException) -> BaseException | None:
    """Return an error as a cause, for its stack, unless it cannot be written down or its own message is too long to."""
    return error if _is_writable(error) and len(str(error)) <= _SHORT else None


def _is_writable(error: BaseException) -> bool:
    """Whether Temporal can write an error down, with its causes: if not, it would be lost for an error about that."""
    try:
        DefaultFailureConverter().to_failure(error, activity.payload_converter(), Failure())
    except Exception:
        return False
    return True


def _writable(error: ApplicationError) -> ApplicationError:
    """Return an executor's own error with what of it can be written down."""

    def having(*details: Any) -> ApplicationError:
        return ApplicationError(
            wire.encodable(str(error.message)),
            *details,
            type=None if error.type is None else wire.encodable(str(error.type)),
            non_retryable=error.non_retryable,
            next_retry_delay=error.next_retry_delay,
            category=error.category,
        )

    whole = having(*error.details)
    return whole if _is_writable(whole) else having()


async def _take_turn(_: Host, data: wire.TakeTurn) -> wire.TurnTaken:
    return wire.TurnTaken(at=now())


async def _commit(host: Host, data: wire.CommitInput) -> wire.CommitResult:
    graph, stores = await mirror.graph_of_run(host, data), host.stores()
    for checkpoint_id in data.discard:
        await stores.checkpoints.discard(checkpoint_id, activity.info().workflow_run_id or "")
    outcome = await mirror.write(stores, graph, data.records)
    stowed = [await mirror.stow(stores, one) for one in data.stow]
    if data.ended is not None and outcome.error is None:
        await mirror.end(stores, graph, data.ended)
    if outcome.error is not None:  # raised, so that Temporal shows it and tries again
        raise ApplicationError(outcome.error, type="StoreError")
    return wire.CommitResult(records=outcome, stowed=stowed, at=now())
