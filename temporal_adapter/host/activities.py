"""The Temporal activity definitions of one MAF workflow, and how errors leave them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from agent_framework import WorkflowCheckpointException, WorkflowValidationError
from temporalio import activity
from temporalio.exceptions import ApplicationError, FailureError

from temporal_adapter import wire
from temporal_adapter.activity_errors import as_application_error
from temporal_adapter.converter import ordered_json
from temporal_adapter.failures import failure_of
from temporal_adapter.pool import UnknownExecutor
from temporal_adapter.store import StoreError
from temporal_adapter.values import DecodeError, EncodeError
from temporal_adapter.wire.names import STORE_UNAVAILABLE, executor_activity_type, service_activity_type

from . import mirror
from .context import Host, now
from .deliver import deliver
from .heartbeat import Heart, attempt
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
    """Return the activities of a workflow: one for each executor of every level, and the adapter's own three."""
    heart = Heart()
    return [
        *(_executor_activity(host, path, heart) for path in executor_paths),
        _define(service_activity_type(host.name, "seed"), wire.SeedInput, lambda data: seed(host, data)),
        _define(service_activity_type(host.name, "respond"), wire.RespondInput, lambda data: respond(host, data)),
        _define(service_activity_type(host.name, "commit"), wire.CommitInput, lambda data: _commit(host, data)),
    ]


def _executor_activity(host: Host, path: tuple[str, ...], heart: Heart) -> Callable[..., Any]:
    async def run(data: wire.DeliveryInput) -> wire.DeliveryResult:
        try:
            async with attempt(heart):
                return await deliver(host, data)
        except EncodeError as error:
            raise EncodeError(f"Executor {'/'.join(path)!r}: {error}") from error

    return _define(executor_activity_type(host.name, path), wire.DeliveryInput, run)


def _define(
    activity_type: str, shape: type[InputT], body: Callable[[InputT], Awaitable[msgspec.Struct]]
) -> Callable[..., Any]:
    async def run(data: Any) -> Any:
        try:
            return ordered_json(wire.dump(await body(wire.load(shape, data))))
        except FailureError:
            raise
        except StoreError as error:  # the workflow tries again, in its own time
            raise ApplicationError(str(error), type=STORE_UNAVAILABLE, non_retryable=True) from error
        except Exception as error:
            failure = failure_of(error)
            # The cause goes along for its stack, unless its own message is too long to.
            cause = error if len(failure.message) <= _SHORT else None
            raise as_application_error(failure, non_retryable=isinstance(error, _PROGRAMMING_ERRORS)) from cause

    return activity.defn(name=activity_type)(run)


async def _commit(host: Host, data: wire.CommitInput) -> wire.CommitResult:
    async with host.graph(data.graph) as graph:
        checkpoints = host.stores().checkpoints
        for checkpoint_id in data.discard:
            await checkpoints.discard(checkpoint_id)
        outcome = await mirror.write(checkpoints, graph.description(), data.records)
    if outcome.error is not None:  # raised, so that Temporal shows it and tries again
        raise ApplicationError(outcome.error, type="StoreError")
    return wire.CommitResult(records=outcome, at=now())
