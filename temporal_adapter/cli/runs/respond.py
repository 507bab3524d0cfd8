"""`respond`: answers a request of a run, and says whether the answer is accepted."""

from __future__ import annotations

import asyncio
import getpass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from temporalio.client import Client

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected, our_command
from temporal_adapter.cli.given import given_value
from temporal_adapter.cli.options import ServerOptions, command
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.cli.top import top
from temporal_adapter.converter import ordered_json

if TYPE_CHECKING:
    from .found import Found

_PATIENCE = 5.0  # seconds, until it is told that the workers take long
_LOOK_SECONDS = 2.0  # between looks why they do, until somebody tells
_LAST_LOOK_SECONDS = 5.0  # for finding out what to say when it is stopped


@command(top, "respond")
async def respond(
    options: ServerOptions,
    workflow_id: Annotated[str, typer.Argument(metavar="WORKFLOW_ID", help="The run that asks.")],
    answer: Annotated[
        list[str],
        typer.Argument(
            metavar="RESPONSE | REQUEST_ID RESPONSE",
            help="The response: JSON, @FILE, or @- to read it. Its request need be named only if several are pending.",
        ),
    ],
    text: Annotated[bool, typer.Option("--text", help="The response is a text, as it stands.")] = False,
    responder: Annotated[
        str | None, typer.Option(metavar="NAME", show_default="your user name", help="Who answers, for the record.")
    ] = None,
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for the record.")] = None,
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait", help="Leave it with Temporal, which can be done while no worker is up, and do not wait."
        ),
    ] = False,
) -> ExitCode:
    """Answer a request of a run.

    It says in which checkpoint the response was accepted; or why it was refused, with exit code 1, and then the
    request waits as before. The same response twice counts once, also when the run is over. A response that begins with
    a minus comes after --. Ctrl-C ends the waiting; it says whether the response is left with Temporal.

    \b
    temporal-adapter respond greet-ada true --comment 'she is nice'
    temporal-adapter respond report-7 6e2ba8d3-4c51-4e0c-93a8-70f1b25dcb06 '{"approved": false}'
    temporal-adapter respond draft-3 --text 'Shorter, please.'
    """
    request_id, given = _request_and_response(answer)
    response = given_value(given, "RESPONSE", as_text=text)
    client = await connected(options)
    from .found import found

    one = await found(client, workflow_id)
    if not one.is_open:
        await _check_tells(options, one, None if no_wait else request_id)
    elif not (no_wait and request_id is not None):
        await _check_served(one, request_id)
    request_id = request_id or await _only_request(client, options, one)
    data = wire.Response(
        request_id=request_id, response=response, responder=responder or user_name(), comment=comment or None
    )
    if no_wait:
        return await _leave(options, one, data)
    return await _answer(options, one, data)


def _request_and_response(answer: list[str]) -> tuple[str | None, str]:
    if len(answer) > 2:
        raise CliError(
            ExitCode.USAGE,
            f"{len(answer)} words came after the workflow id, and there are at most [REQUEST_ID] RESPONSE: put the "
            "response in quotes.",
        )
    return (None, answer[0]) if len(answer) == 1 else (answer[0], answer[1])


async def _check_tells(options: ServerOptions, one: Found, request_id: str | None) -> None:
    """See that a run which is over can tell what a request was answered.

    Raises:
        CliError: No request is named, or no worker answers for the run.
    """
    from .found import asked
    from .taken import untaken

    async with asked(one):
        untold = request_id is None or await untaken(one) is not None
    if untold:
        only = "" if request_id is None else " Only a worker could tell what was answered, and none does."
        raise _refused(options, one.run.id, request_id, f"{_over(one)}{only}")


async def _check_served(one: Found, request_id: str | None) -> None:
    from .found import check_served

    alone = "" if request_id is not None else " and the request named"
    await check_served(one, f"With --no-wait{alone}, the response is left with Temporal until there is one.")


async def _only_request(client: Client, options: ServerOptions, one: Found) -> str:
    """Return the id of the one request that is pending."""
    from .found import asked

    async with asked(one):
        requests = await one.run.open_requests()
    if len(requests) == 1:
        return requests[0].request_id
    if not requests:
        raise _refused(options, one.run.id, None, "no request of it waits for a response.")
    pending = our_command(client, options, "pending", one.run.id)
    ids = ", ".join(f"{request.request_id} of {request.executor_id}" for request in requests[:5])
    more = f", and {len(requests) - 5} more" if len(requests) > 5 else ""
    raise CliError(
        ExitCode.USAGE,
        f"{len(requests)} requests wait for a response: say which by its id. They are {ids}{more}; `{pending}` shows "
        "them.",
    )


async def _answer(options: ServerOptions, one: Found, data: wire.Response) -> ExitCode:
    from temporal_adapter.client import ResponseRefused
    from temporal_adapter.client.errors import RunClosed

    from .found import asked, refreshed

    sending = asyncio.ensure_future(
        one.run.respond(data.request_id, data.response, responder=data.responder, comment=data.comment)
    )
    try:
        async with asked(one):
            await _tell_why_it_takes_long(one, sending)
            accepted = await asyncio.shield(sending)  # which says otherwise than by CancelledError that it is cancelled
    except asyncio.CancelledError:
        await _tell_where_it_is(one)
        raise
    except ResponseRefused as error:
        untold = isinstance(error.__cause__, RunClosed) and str(error) == str(error.__cause__)  # nothing but that
        reason = _over(await refreshed(one)) if untold else str(error)
        raise _refused(options, one.run.id, data.request_id, reason) from error
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    if options.as_json:
        output.print_json(_document(one.run.id, data.request_id, accepted=True, checkpoint_id=accepted.checkpoint_id))
    else:
        line = Text.assemble("accepted: ", output.name(data.request_id, "bold"))
        line.append_text(output.name(f" in checkpoint {accepted.checkpoint_id}"))
        output.console().print(line, soft_wrap=True)
    return ExitCode.OK


async def _tell_why_it_takes_long(one: Found, sending: asyncio.Future[Any]) -> None:
    """Wait until a response is answered, or it is told why that takes long."""
    from .held import is_kept, why_it_waits

    if (await asyncio.wait({sending}, timeout=_PATIENCE))[0]:
        return
    tell("Waiting for the run to take the response; it is not accepted yet.")
    while not (await asyncio.wait({sending}, timeout=_LOOK_SECONDS))[0]:
        why = await why_it_waits(one)
        if why is not None and await is_kept(one):
            tell(f"The run says: {why}")
            tell("The response is in Temporal, and is taken when that is mended. Ctrl-C is safe, and ends only this.")
            return


async def _tell_where_it_is(one: Found) -> None:
    """Say, when the waiting is stopped, whether the response is taken without it."""
    from .held import is_kept

    try:
        kept = await asyncio.wait_for(is_kept(one), _LAST_LOOK_SECONDS)
    except asyncio.TimeoutError:
        kept = False
    if kept:
        tell("Stopped waiting. The response is left with Temporal, and will be taken.")
    else:
        tell(
            "Stopped waiting. Whether the response was taken, `temporal-adapter pending` shows; if not, give it again."
        )


def _over(one: Found) -> str:
    return f"the run is over: {one.status}."


async def _leave(options: ServerOptions, one: Found, data: wire.Response) -> ExitCode:
    from .found import asked

    async with asked(one):
        with one.run.explained():
            await one.run.handle.signal("respond", ordered_json(wire.dump(data)))
    if options.as_json:
        output.print_json(_document(one.run.id, data.request_id, accepted=None))
    else:
        line = Text.assemble("sent: ", output.name(data.request_id, "bold"), "; whether it is accepted, `watch` shows")
        output.console().print(line, soft_wrap=True)
    return ExitCode.OK


def _refused(options: ServerOptions, workflow_id: str, request_id: str | None, reason: str) -> CliError:
    if options.as_json:
        output.print_json(_document(workflow_id, request_id, accepted=False, reason=reason))
    return CliError(ExitCode.FINDING, f"the response to run {workflow_id!r} was refused: {reason}")


def _document(
    workflow_id: str,
    request_id: str | None,
    *,
    accepted: bool | None,
    checkpoint_id: str | None = None,
    reason: str | None = None,
) -> dict[str, Any]:
    about = {"workflow_id": workflow_id, "request_id": request_id, "accepted": accepted}
    return {**about, "checkpoint_id": checkpoint_id, "reason": reason}


def user_name() -> str | None:
    """Return the name of whoever types this, for the record; None if there is none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return None
