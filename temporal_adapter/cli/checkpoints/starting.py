"""What `resume`, `replay` and `fork` share: starting a run by the client, saying what it is, waiting for it.

Loads the client, and so MAF, as the commands that only look need not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import QueryRejectCondition
from temporalio.exceptions import ApplicationError, FailureError, WorkflowAlreadyStartedError

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.options import StoreOptions
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.client import (
    DurableRun,
    DurableWorkflow,
    NoWorker,
    ResumeRefused,
    RunNotFound,
    RunStatus,
    UnknownWorkflow,
)
from temporal_adapter.client.restoring import options_of
from temporal_adapter.values import EncodeError
from temporal_adapter.wire.names import CHECKPOINT_NOT_FOUND, RESTORE_REFUSED

from .connected import temporal_command

_LOOK_SECONDS = (0.1, 1.0)  # between looks at a run: at first, and at most

Start = Callable[[DurableWorkflow], Coroutine[Any, Any, DurableRun]]


async def start(
    client: Client, options: StoreOptions, verb: str, workflow_name: str, task_queue: str, wait: bool, by: Start
) -> ExitCode:
    """Start a run, and say what it is; if wanted, wait until it has ended or waits for somebody, and say how it is.

    Args:
        client: Of the server that is to run it.
        options: Of the command.
        verb: What the run is of the checkpoint: resume, replay or fork.
        workflow_name: The Temporal workflow type.
        task_queue: Of the workers that have it.
        wait: Whether to wait.
        by: Starts it.

    Raises:
        CliError: It cannot be started; or its workers cannot say how it is.
    """
    durable = DurableWorkflow(client, workflow_name, task_queue=task_queue)
    async with _explained():
        run = await by(durable)
        run_id: str = run.handle.first_execution_run_id or ""
        began = await options_of(client, run.id, run_id)
    checkpoint_id = "" if began.restore is None else began.restore.checkpoint_id
    if not options.as_json:
        _print_started(client, options, run, {"run id": run_id, verb: f"of checkpoint {checkpoint_id}"})
    async with _explained():
        rest = await _at_rest(run, is_session=began.session) if wait else _Rest()
    if options.as_json:
        about = {"verb": verb, "checkpoint_id": checkpoint_id, "workflow_name": workflow_name, "workflow_id": run.id}
        output.print_json({**about, "run_id": run_id, "task_queue": task_queue, **rest.json()})
    elif wait:
        _print_rest(client, options, run, rest)
    if rest.problem is not None:
        raise CliError(ExitCode.FINDING, rest.problem)
    return ExitCode.OK


@contextlib.asynccontextmanager
async def _explained() -> AsyncGenerator[None, None]:
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


# --- waiting ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rest:
    """How a run is that has ended or waits for somebody; all of it empty for one that nobody waited for.

    Attributes:
        state: MAF's, or Temporal's of a run that ended otherwise (`CANCELED`, `TERMINATED`, ...).
        problem: Why it did not end well, in a line.
        error: The type and message of what it failed with.
    """

    state: str | None = None
    outputs: list[Any] = field(default_factory=list[Any])
    requests: list[wire.PendingRequest] = field(default_factory=list[wire.PendingRequest])
    problem: str | None = None
    error: dict[str, str] | None = None

    def json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "outputs": self.outputs,
            "pending_requests": [request.request_id for request in self.requests],
            "error": self.error,
        }


async def _at_rest(run: DurableRun, *, is_session: bool) -> _Rest:
    """Wait until a run has ended or waits for somebody."""
    pause, told = _LOOK_SECONDS[0], False
    while True:
        if (await run.handle.describe()).status is not WorkflowExecutionStatus.RUNNING:
            return await _ended(run)
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


async def _waiting(run: DurableRun, status: RunStatus) -> _Rest:
    requests: list[wire.PendingRequest] = []
    while page := await _page_of_requests(run, len(requests)):
        requests += [wire.load(wire.PendingRequest, request) for request in page]
    if not status.failed_executors:
        return _Rest(state=status.state.value, requests=requests)
    failed = status.failed_executors[0]
    names = ", ".join(repr(one.executor) for one in status.failed_executors)
    return _Rest(
        state=status.state.value,
        requests=requests,
        problem=f"the run {run.id!r} waits for an operator: {names} failed ({failed.error_type}: {failed.message}). "
        "`temporal workflow update execute --name retry` runs it again.",
        error={"type": failed.error_type, "message": failed.message},
    )


async def _page_of_requests(run: DurableRun, offset: int) -> list[Any]:
    with run.explained():
        return await run.handle.query("pending_requests", args=[offset], reject_condition=QueryRejectCondition.NONE)


async def _ended(run: DurableRun) -> _Rest:
    try:
        result = wire.load(wire.RunResult, await run.handle.result())
    except WorkflowFailureError as error:
        cause = error.cause
        if isinstance(cause, ApplicationError):
            kind = cause.type or "ApplicationError"
            how = "" if kind in (RESTORE_REFUSED, CHECKPOINT_NOT_FOUND) else f"{kind}: "
            problem = f"the run {run.id!r} failed: {how}{cause.message}"
            return _Rest(state="FAILED", problem=problem, error={"type": kind, "message": cause.message})
        kind = type(cause).__name__
        message = cause.message if isinstance(cause, FailureError) else str(cause)
        return _Rest(
            state=((await run.handle.describe()).status or WorkflowExecutionStatus.FAILED).name,
            problem=f"the run {run.id!r} did not end by itself: {message}",
            error={"type": kind, "message": message},
        )
    return _Rest(state=result.state, outputs=result.outputs)


# --- saying ---------------------------------------------------------------------------------------------------


def _print_started(client: Client, options: StoreOptions, run: DurableRun, rows: dict[str, str]) -> None:
    show = temporal_command(client, options, "workflow", "show", "--workflow-id", run.id, "--follow")
    for heading, text in {"workflow id": run.id, **rows, "to follow it": show}.items():
        output.console().print(Text.assemble(f"{heading}: ", output.name(text)), soft_wrap=True)


def _print_rest(client: Client, options: StoreOptions, run: DurableRun, rest: _Rest) -> None:
    for one in rest.outputs:
        output.console().print(Text.assemble(("output", "bold"), f" {output.value(one, full=True)}"), soft_wrap=True)
    for request in rest.requests:
        asked = Text.assemble("Waits for a response to ", output.name(request.request_id, "bold"))
        asked.append_text(output.name(f" of {request.executor_id}, of type {request.response_type}: "))
        asked.append(output.value(request.data, full=True))
        output.console().print(asked, soft_wrap=True)
        answer = json.dumps({"request_id": request.request_id, "response": "..."})
        words = ["update", "execute", "--workflow-id", run.id, "--name", "respond", "--input", answer]
        answering = temporal_command(client, options, "workflow", *words)
        output.console().print(Text.assemble("to answer it: ", output.name(answering)), soft_wrap=True)
    if rest.problem is None:
        output.console().print(Text(f"state: {rest.state}"))
