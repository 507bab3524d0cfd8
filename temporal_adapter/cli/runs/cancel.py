"""`cancel`: ends a run, or only takes back requests of it that need no response any more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from temporalio.client import Client

from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected, temporal_command
from temporal_adapter.cli.options import ServerOptions, command
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.cli.top import top

from .respond import user_name

if TYPE_CHECKING:
    from .found import Found

_LOOK_SECONDS = 1.0  # between looks whether a worker takes the run whose end is waited for


@command(top, "cancel")
async def cancel(
    options: ServerOptions,
    workflow_id: Annotated[str, typer.Argument(metavar="WORKFLOW_ID", help="The run.")],
    request: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Cancel only this request of it. Repeat the option for more."),
    ] = None,
    responder: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default="your user name", help="Who cancels requests, for the record."),
    ] = None,
    comment: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why requests are cancelled, for the record.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
) -> ExitCode:
    """Cancel a run, or single requests of it.

    A cancelled run's executors are stopped within seconds, and may clean up; `checkpoint resume` continues it. A worker
    ends it: Temporal keeps the request until there is one. With --request, the run goes on: a cancelled request gets no
    response any more, and its executor is told, as by MAF's cancel_pending_requests. Several are cancelled together, or
    none.
    """
    requests = list(dict.fromkeys(request or []))
    if not requests and (responder, comment) != (None, None):
        raise CliError(ExitCode.USAGE, "--responder and --comment are of cancelled requests: name them by --request.")
    if requests and wait:
        raise CliError(ExitCode.USAGE, "--wait waits for the end of a run, which does not end with its requests.")
    client = await connected(options)
    from .found import check_served, found

    one = await found(client, workflow_id)
    if not one.is_open:
        raise CliError(ExitCode.FINDING, f"the run {workflow_id!r} is over already: {one.status}.")
    if not requests:
        return await _cancel_run(client, options, one, wait)
    await check_served(one)
    return await _cancel_requests(options, one, requests, responder or user_name(), comment)


async def _cancel_run(client: Client, options: ServerOptions, one: Found, wait: bool) -> ExitCode:
    from .found import asked

    async with asked(one):
        with one.run.explained():
            await one.run.handle.cancel()
        if not options.as_json:
            requested = Text.assemble("cancellation requested: ", output.name(one.run.id, "bold"))
            output.console().print(requested, soft_wrap=True)
        terminate = temporal_command(client, options, "workflow", "terminate", "--workflow-id", one.run.id)
        without = f"the run ends when one does. To end it without: {terminate}"
        state = await _ended(one, without) if wait else None
    if not wait:
        await _tell_if_untaken(one, without)
    if options.as_json:
        output.print_json(_document(one, state, None))
    elif state is not None:
        output.console().print(Text(f"state: {state}"))
    return ExitCode.OK


async def _ended(one: Found, without: str) -> str | None:
    """Wait until a run has ended, and say why that takes long where no worker takes it; return its state.

    Raises:
        UnknownWorkflow: The workers do not have its workflow, so that it may never end.
    """
    from temporal_adapter.cli.resting import how_it_ended

    from .taken import untaken

    ending, told = asyncio.ensure_future(how_it_ended(one.run)), False
    try:
        while not (await asyncio.wait({ending}, timeout=_LOOK_SECONDS))[0]:
            why = await untaken(one)
            if why is not None and not told:
                tell(f"Waiting: {why.rstrip('.')}: {without}")
                told = True
        return ending.result().state
    finally:
        ending.cancel()


async def _tell_if_untaken(one: Found, without: str) -> None:
    from temporal_adapter.client import UnknownWorkflow
    from temporal_adapter.client.stuck import check_known

    from .found import is_served

    about = one.description
    if not await is_served(one):
        tell(f"No worker serves task queue {about.task_queue!r}: {without}")
        return
    try:
        await check_known(one.run.handle, about.workflow_type, about.task_queue)
    except UnknownWorkflow as error:
        tell(f"Warning: {error}")


async def _cancel_requests(
    options: ServerOptions, one: Found, requests: list[str], responder: str | None, comment: str | None
) -> ExitCode:
    from temporal_adapter.client import CancelRefused

    from .found import asked

    try:
        async with asked(one):
            cancelled: Any = await one.run.cancel_pending_requests(requests, responder=responder, comment=comment)
    except CancelRefused as error:
        raise CliError(ExitCode.FINDING, f"nothing was cancelled: {error}") from error
    if options.as_json:
        output.print_json(_document(one, None, list(cancelled)))
    else:
        for request_id in cancelled:
            output.console().print(Text.assemble("cancelled: ", output.name(request_id, "bold")), soft_wrap=True)
    return ExitCode.OK


def _document(one: Found, state: str | None, cancelled: list[str] | None) -> dict[str, Any]:
    about = {"workflow_id": one.run.id, "run_id": one.description.run_id}
    return {**about, "state": state, "cancelled_requests": cancelled}
