"""What can go wrong for a client, each with the thing and the fix in its message."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from contextlib import contextmanager

from agent_framework import WorkflowException
from temporalio.client import WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter.wire.names import CANCEL_REFUSED, NOT_REGISTERED, RESPONSE_REFUSED, RETRY_REFUSED


class RunNotFound(LookupError):
    """No run has this workflow id."""


class RunClosed(RunNotFound):
    """The run has ended."""


class UnknownWorkflow(LookupError):
    """The workers of the task queue do not know the run's workflow type.

    Attributes:
        known: The workflows that they have, in words; empty where they did not say.
    """

    known: str = ""


class NoWorker(RuntimeError):
    """Nobody serves the run's task queue, so that nobody can say how the run stands."""


class ResponseRefused(ValueError):
    """A response was refused; the message is the reason. The request is as it was."""


class CancelRefused(ValueError):
    """A request is not to be cancelled; says which and why. None of those that were named with it is cancelled."""


class RetryRefused(ValueError):
    """No executor of that name waits for a retry; says which do."""


class SessionRefused(WorkflowException, RuntimeError):
    """A session cannot do now what it is asked for, since it is at work; it is as it was."""


class InputRefused(RuntimeError):
    """No handler takes the input of a session, or it cannot go on from the checkpoint; the session is as it was."""


class ResumeRefused(ValueError):
    """A run cannot be resumed; says why, and what to do instead."""


class ValueUnavailable(LookupError):
    """A value is in the blob store, and this client was not told where that is."""


# How a server says that a query found no worker, or that none took it in time.
_UNANSWERED = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED, RPCStatusCode.FAILED_PRECONDITION)


_LISTED = "available workflows: "  # what Temporal's SDK says before the names of those that a worker has


@contextmanager
def explained(workflow_id: str, workflow_name: str, task_queue: str | None) -> Generator[None, None, None]:
    """Turn what Temporal raises into errors that say what to do."""
    try:
        yield
    except WorkflowUpdateFailedError as error:
        if isinstance(error.cause, ApplicationError) and error.cause.type == RESPONSE_REFUSED:
            raise ResponseRefused(error.cause.message) from error
        if isinstance(error.cause, ApplicationError) and error.cause.type == CANCEL_REFUSED:
            raise CancelRefused(error.cause.message) from error
        if isinstance(error.cause, ApplicationError) and error.cause.type == RETRY_REFUSED:
            raise RetryRefused(error.cause.message) from error
        raise
    except (RPCError, WorkflowQueryFailedError) as error:
        if isinstance(error, RPCError) and error.status is RPCStatusCode.NOT_FOUND:
            if "already completed" in error.message or "closing workflow" in error.message:
                raise RunClosed(f"The run {workflow_id!r} is closed.") from error
            raise RunNotFound(
                f"There is no run with workflow id {workflow_id!r}, or it is past its retention. "
                "`temporal workflow list` shows the runs of the namespace."
            ) from error
        if isinstance(error, RPCError) and error.status in _UNANSWERED:
            raise NoWorker(
                f"No worker answered for run {workflow_id!r} on task queue {task_queue!r} ({error.message}). Start one "
                f"that has the workflow {workflow_name!r}, such as `python -m workers --task-queue {task_queue} ...`; "
                "the run goes on then. Meanwhile it is safe with Temporal."
            ) from error
        if NOT_REGISTERED in str(error):
            raise not_registered(workflow_id, workflow_name, task_queue, str(error)) from error
        raise


def not_registered(workflow_id: str, workflow_name: str, task_queue: str | None, message: str = "") -> UnknownWorkflow:
    """Return the error for a workflow type that the workers do not have; `message` is what Temporal's SDK said."""
    known = known_workflows(message)
    error = UnknownWorkflow(
        f"The workers of task queue {task_queue!r} have no workflow called {workflow_name!r}{known}, so run "
        f"{workflow_id!r} waits. Check the name, or start a worker whose AgentFrameworkPlugin has it; the run goes on "
        f"then. To give it up: temporal workflow terminate --workflow-id {shlex.quote(workflow_id)}"
    )
    error.known = known
    return error


def known_workflows(message: str) -> str:
    """Return what workers have who said that they do not have a workflow: ` (they have 'a', 'b')`, or nothing."""
    _, listed, names = message.partition(_LISTED)
    return f" (they have {', '.join(map(repr, names.splitlines()[0].split(', ')))})" if listed and names else ""


def says_not_registered(message: str) -> bool:
    """Whether a failed workflow task was one of an unknown workflow type."""
    return NOT_REGISTERED in message
