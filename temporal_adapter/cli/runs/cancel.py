"""`cancel`: ends a run, or only takes back requests of it that need no response any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import ServerOptions, command
from temporal_adapter.cli.running import CliError, ExitCode
from temporal_adapter.cli.top import top

from .respond import user_name

if TYPE_CHECKING:
    from .found import Found


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

    A cancelled run's executors are stopped within seconds, and may clean up; `checkpoint resume` continues it. With
    --request, the run goes on: a cancelled request gets no response any more, and its executor is told, as by MAF's
    cancel_pending_requests. Several are cancelled together, or none.
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
        return await _cancel_run(options, one, wait)
    await check_served(one)
    return await _cancel_requests(options, one, requests, responder or user_name(), comment)


async def _cancel_run(options: ServerOptions, one: Found, wait: bool) -> ExitCode:
    from temporal_adapter.cli.resting import how_it_ended

    from .found import asked

    async with asked(one):
        with one.run.explained():
            await one.run.handle.cancel()
        state = (await how_it_ended(one.run)).state if wait else None
    if options.as_json:
        output.print_json(_document(one, state, None))
    else:
        output.console().print(Text.assemble("cancelled: ", output.name(one.run.id, "bold")), soft_wrap=True)
        if state is not None:
            output.console().print(Text(f"state: {state}"))
    return ExitCode.OK


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
