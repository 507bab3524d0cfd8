"""Waiting until a run has ended, or waits for somebody, and saying how it is then.

For the commands that start runs, wherever they begin. Loads the client, and so MAF: they import it when they need it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError, FailureError, WorkflowAlreadyStartedError

from temporal_adapter import wire
from temporal_adapter.client import (
    DurableRun,
    NoWorker,
    ResumeRefused,
    RunNotFound,
    RunStatus,
    UnknownWorkflow,
)
from temporal_adapter.values import EncodeError
from temporal_adapter.wire.names import CHECKPOINT_NOT_FOUND, RESTORE_REFUSED

from . import output
from .connected import our_command
from .options import ServerOptions
from .running import CliError, ExitCode, tell

_LOOK_SECONDS = (0.1, 1.0)  # between looks at a run: at first, and at most


@contextlib.asynccontextmanager
async def explained() -> AsyncGenerator[None, None]:
    """Turn what the client raises into errors that end the command."""
    try:
        yield
    except ResumeRefused as error:
        raise CliError(ExitCode.FINDING, str(error)) from error
    except WorkflowAlreadyStartedError as error:
        raise CliError(
            ExitCode.FINDING, f"a run with workflow id {error.workflow_id!r} is open, and is left alone."
        ) from error
    except RunNotFound as error:
        raise CliError(ExitCode.NOT_FOUND, str(error)) from error
    except (NoWorker, UnknownWorkflow) as error:
        raise CliError(ExitCode.UNREACHABLE, str(error)) from error
    except EncodeError as error:
        raise CliError(ExitCode.USAGE, str(error)) from error


@dataclass(frozen=True)
class Rest:
    """How a run is that has ended or waits for somebody; all of it empty for one that nobody waited for.

    Attributes:
        state: MAF's, or Temporal's of a run that ended otherwise (`CANCELED`, `TERMINATED`, ...).
        outputs: In plain JSON.
        requests: That wait for a response.
        problem: Why it did not end well, in a line.
        error: The type and message of what it failed with.
    """

    state: str | None = None
    outputs: list[Any] = field(default_factory=list[Any])
    requests: list[wire.PendingRequest] = field(default_factory=list[wire.PendingRequest])
    problem: str | None = None
    error: dict[str, str] | None = None

    def json(self) -> dict[str, Any]:
        """Return what a command says of it with `--json`."""
        return {
            "state": self.state,
            "outputs": self.outputs,
            "pending_requests": [request.request_id for request in self.requests],
            "error": self.error,
        }


async def at_rest(run: DurableRun, *, is_session: bool) -> Rest:
    """Wait until a run has ended or waits for somebody.

    Raises:
        RunNotFound: There is no such run.
        UnknownWorkflow: It waits for a worker that has its workflow.
    """
    pause, told = _LOOK_SECONDS[0], False
    while True:
        if (await run.handle.describe()).status is not WorkflowExecutionStatus.RUNNING:
            return await how_it_ended(run)
        try:
            status = await run.status()
            if _waits(status, is_session):
                return await _waiting(run, status)
        except NoWorker as error:
            if not told:
                tell(f"Waiting: {error}")
            told = True
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LOOK_SECONDS[1])


def _waits(status: RunStatus, is_session: bool) -> bool:
    return (
        bool(status.failed_executors)
        or (status.state.value == "IDLE_WITH_PENDING_REQUESTS" and status.pending_requests > 0)
        or (status.state.value == "IDLE" and is_session)
    )


async def _waiting(run: DurableRun, status: RunStatus) -> Rest:
    requests = await run.open_requests()
    if not status.failed_executors:
        return Rest(state=status.state.value, requests=requests)
    failed = status.failed_executors[0]
    names = ", ".join(repr(one.executor) for one in status.failed_executors)
    return Rest(
        state=status.state.value,
        requests=requests,
        problem=f"the run {run.id!r} waits for an operator: {names} failed ({failed.error_type}: {failed.message}). "
        "`temporal workflow update execute --name retry` runs it again.",
        error={"type": failed.error_type, "message": failed.message},
    )


async def how_it_ended(run: DurableRun) -> Rest:
    """Return how a run is that is over; of an open one, wait for that. Needs no worker."""
    try:
        result = wire.load(wire.RunResult, await run.handle.result())
    except WorkflowFailureError as error:
        cause = error.cause
        if isinstance(cause, ApplicationError):
            kind = cause.type or "ApplicationError"
            how = "" if kind in (RESTORE_REFUSED, CHECKPOINT_NOT_FOUND) else f"{kind}: "
            problem = f"the run {run.id!r} failed: {how}{cause.message}"
            return Rest(state="FAILED", problem=problem, error={"type": kind, "message": cause.message})
        kind = type(cause).__name__
        message = cause.message if isinstance(cause, FailureError) else str(cause)
        return Rest(
            state=((await run.handle.describe()).status or WorkflowExecutionStatus.FAILED).name,
            problem=f"the run {run.id!r} did not end by itself: {message}",
            error={"type": kind, "message": message},
        )
    return Rest(state=result.state, outputs=result.outputs)


# --- saying -------------------------------------------------------------------------------------------------


def print_started(client: Client, options: ServerOptions, run: DurableRun, rows: dict[str, str]) -> None:
    """Say what was started, and how to follow it."""
    watch = our_command(client, options, "watch", run.id)
    for heading, text in {"workflow id": run.id, **rows, "to follow it": watch}.items():
        output.console().print(Text.assemble(f"{heading}: ", output.name(text)), soft_wrap=True)


def print_rest(client: Client, options: ServerOptions, run: DurableRun, rest: Rest) -> None:
    """Say how a run is, and how to answer what it asks."""
    for one in rest.outputs:
        output.console().print(Text.assemble(("output", "bold"), f" {output.value(one, full=True)}"), soft_wrap=True)
    for request in rest.requests:
        asked = Text.assemble("Waits for a response to ", output.name(request.request_id, "bold"))
        asked.append_text(output.name(f" of {request.executor_id}, of type {request.response_type}: "))
        asked.append(output.value(request.data, full=True))
        output.console().print(asked, soft_wrap=True)
        answering = our_command(client, options, "respond", run.id, request.request_id)
        output.console().print(Text.assemble("to answer it: ", output.name(answering), " RESPONSE"), soft_wrap=True)
    if rest.problem is None:
        output.console().print(Text(f"state: {rest.state}"))
