"""`pending`: requests that wait for a response, of all runs or of one: the approvals inbox in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.text import Text
from temporalio.client import Client

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected, our_command
from temporal_adapter.cli.given import given_age
from temporal_adapter.cli.options import ServerOptions, command
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.cli.top import top

from .unanswered import tell_unanswered

if TYPE_CHECKING:
    from temporal_adapter.client.listing import Listing, OpenRequest

_EXCERPT = 60  # characters of a request's data in a table


@command(top, "pending")
async def list_pending(
    options: ServerOptions,
    workflow_id: Annotated[
        str | None, typer.Argument(metavar="WORKFLOW_ID", help="Show the requests of this run, in full.")
    ] = None,
    workflow: Annotated[str | None, typer.Option(metavar="NAME", help="Only of the workflow of this name.")] = None,
    task_queue: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this task queue.")] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Only what has waited so long: 30m, 12h, 1d12h, 2w.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the N newest.")] = None,
) -> ExitCode:
    """List the requests that wait for a response.

    Those of all open runs, the newest first; or those of one run, in full, with the schema of the response. `respond`
    answers one. If nobody answers for a run, that is told, and the exit code is 1: it may have requests too.
    """
    age = None if older_than is None else given_age(older_than, "--older-than")
    if workflow_id is not None and (workflow, task_queue, age) != (None, None, None):
        raise CliError(
            ExitCode.USAGE, "--workflow, --task-queue and --older-than choose runs: give no WORKFLOW_ID then."
        )
    client = await connected(options)
    if workflow_id is not None:
        return await _of_run(client, options, workflow_id, limit)
    from temporal_adapter.client.listing import open_requests

    found = await open_requests(client, workflow_name=workflow, task_queue=task_queue, older_than=age, limit=limit)
    if options.as_json:
        output.print_json(_listing_json(client, found))
    elif found.requests:
        _print(found.requests)
        if found.more:
            tell(f"There are {found.more} more: --limit shows them.")
    else:
        tell(f"No request waits for a response in namespace {client.namespace!r}.")
    return tell_unanswered(found.unanswered)


def _print(requests: Sequence[OpenRequest]) -> None:
    now = datetime.now(timezone.utc)
    expire = any(one.request.expires_at is not None for one in requests)
    columns = ["WORKFLOW ID", "EXECUTOR", "REQUEST", "DATA", "RESPONSE TYPE"]
    table = output.table("AGE", *(["EXPIRES IN"] if expire else []), *columns, whole=2)
    for one in requests:
        request = one.request
        expiry = [_until(request.expires_at, now)] if expire else []
        table.add_row(
            output.age(now - one.asked_at),
            *expiry,
            output.name(one.workflow_id, "bold"),
            output.name(request.executor_id),
            output.name(request.request_id),
            _excerpt(request.data),
            output.name(request.response_type),
        )
    output.console().print(table)


def _until(moment: str | None, now: datetime) -> str:
    return "" if moment is None else output.age(datetime.fromisoformat(moment) - now)


def _excerpt(data: Any) -> str:
    text = output.value(data, full=True).replace("\n", " ")
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 3]}..."


# --- one run ------------------------------------------------------------------------------------------------


async def _of_run(client: Client, options: ServerOptions, workflow_id: str, limit: int | None) -> ExitCode:
    from temporal_adapter.client.listing import OpenRequest

    from .found import asked, check_served, found

    one = await found(client, workflow_id)
    if one.is_open:
        await check_served(one)
        async with asked(one):
            requests = await one.run.open_requests()
    else:
        tell(f"The run {workflow_id!r} is over: {one.status}.")
        requests = []
    about = one.description
    rows = [
        OpenRequest(about.id, about.run_id, about.workflow_type, about.task_queue, one.started_at, request)
        for request in requests[:limit]
    ]
    if options.as_json:
        from temporal_adapter.client.listing import Listing

        output.print_json(_listing_json(client, Listing(rows, [], len(requests) - len(rows))))
    elif not rows and one.is_open:
        tell(f"No request of run {workflow_id!r} waits for a response.")
    for row in [] if options.as_json else rows:
        output.console().print(_described(client, options, row))
    return ExitCode.OK


def _described(client: Client, options: ServerOptions, one: OpenRequest) -> Text:
    """Return all that is known of a request, and how to answer it."""
    request = one.request
    schema = request.response_schema
    rows = {
        "asked by": request.executor_id,
        "asked at": None if request.asked_at is None else output.moment(request.asked_at),
        "expires at": _expiry(request),
        "reminders": str(request.reminders) if request.reminders else None,
        "asks": f"{output.value(request.data, full=True)} ({request.request_type})",
        "wants": request.response_type,
        "schema": None if schema is None else output.value(schema, full=True),
        "to answer it": our_command(client, options, "respond", one.workflow_id, request.request_id, "RESPONSE"),
    }
    lines = Text.assemble("request ", output.name(request.request_id, "bold"))
    for heading, text in rows.items():
        if text is not None:
            lines.append(f"\n  {heading}: {output.printable(text)}".replace("\n", "\n  ").replace("\n    ", "\n  ", 1))
    return lines


def _expiry(request: wire.PendingRequest) -> str | None:
    if request.expires_at is None:
        return None
    what = {"fail": "the run fails then", "cancel": "it is cancelled then", "default": "it gets its default then"}
    then = what.get(request.on_expiry or "", "")
    return f"{output.moment(request.expires_at)}; {then}" if then else output.moment(request.expires_at)


# --- JSON ---------------------------------------------------------------------------------------------------


def _listing_json(client: Client, found: Listing) -> dict[str, Any]:
    return {
        "namespace": client.namespace,
        "requests": [_json(one) for one in found.requests],
        "more": found.more,
        "unanswered": [{"workflow_id": one.workflow_id, "reason": one.reason} for one in found.unanswered],
    }


def _json(one: OpenRequest) -> dict[str, Any]:
    about = {
        "workflow_id": one.workflow_id,
        "run_id": one.run_id,
        "workflow_name": one.workflow_name,
        "task_queue": one.task_queue,
        "started_at": one.started_at.isoformat(),
    }
    return {**about, **msgspec.structs.asdict(one.request)}
