"""`inbox`: serves the approvals inbox, a web page and JSON API, until it is stopped."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .connected import connected
from .options import ServerOptions, StoreOptions, command
from .output import console, print_json
from .running import CliError, ExitCode
from .top import top

if TYPE_CHECKING:
    from temporal_adapter.inbox import Guard
    from temporal_adapter.store import BlobStore

_OF_THE_EXTRA = ("fastapi", "jinja2", "markupsafe", "starlette", "uvicorn")
_DEFAULT_PORT = 8240


@dataclasses.dataclass(frozen=True, kw_only=True)
class DoorOptions:
    """Where the inbox listens, and whom it lets in."""

    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Where to listen. Beyond loopback, --token or --user-header is needed."),
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = _DEFAULT_PORT
    token: Annotated[
        str | None,
        typer.Option(
            envvar="TEMPORAL_ADAPTER_INBOX_TOKEN",
            metavar="SECRET",
            help="What a request must bring, as bearer token, or as password of any user name in the browser's "
            "dialogue. An option shows in the list of processes; the variable does not.",
        ),
    ] = None
    user_header: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The header by which a proxy that has authenticated a person names them, such as X-Forwarded-User. "
            "Only the proxy may be able to reach the inbox then, or it has the token, too.",
        ),
    ] = None
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A host name by which people reach the inbox. May be given several times."),
    ] = None
    checkpoint_store: Annotated[
        str | None,
        typer.Option(
            envvar="TEMPORAL_ADAPTER_CHECKPOINT_STORE",
            metavar="URL",
            help="The workers' checkpoint store, to show what is too large for history.",
        ),
    ] = None


@command(top, "inbox")
async def inbox(door: DoorOptions, options: ServerOptions) -> ExitCode:
    """Serve the approvals inbox: a web page with the open requests of all runs, where they can be answered.

    It listens to this machine alone unless told otherwise. The same is there as a JSON API, described at
    /api/openapi.json. It prints its address, and serves until Ctrl-C.
    """
    guard = _guard(door)
    client = await connected(options)
    from temporal_adapter.inbox import Runs, application

    from .serving import serve

    store = None if door.checkpoint_store is None else _store(options, door.checkpoint_store)
    await serve(application(Runs(client, store), guard), door.host, door.port, lambda address: _tell(options, address))
    return ExitCode.OK


def _guard(door: DoorOptions) -> Guard:
    try:
        from temporal_adapter.inbox.guard import Guard, Unguarded, names_of
    except ModuleNotFoundError as error:
        if error.name not in _OF_THE_EXTRA:
            raise
        raise CliError(
            ExitCode.USAGE,
            f'the inbox needs {error.name}, which is not installed: pip install "agent-framework-temporal[inbox]"',
        ) from None
    try:
        names = names_of(door.allowed_host or [])
        return Guard(host=door.host, token=door.token, user_header=door.user_header, names=names)
    except Unguarded as error:
        raise CliError(ExitCode.USAGE, str(error)) from error


def _store(options: ServerOptions, url: str) -> BlobStore:
    from .checkpoints.opened import opened

    return opened(StoreOptions(**dataclasses.asdict(options), checkpoint_store=url)).blobs


def _tell(options: ServerOptions, address: str) -> None:
    if options.as_json:
        document: dict[str, Any] = {"address": address, "openapi": f"{address}/api/openapi.json"}
        print_json(document)
    else:
        console().print(f"The approvals inbox is at {address} until Ctrl-C.", soft_wrap=True)
    sys.stdout.flush()
