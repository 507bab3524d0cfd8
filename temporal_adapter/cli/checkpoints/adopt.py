"""`checkpoint adopt`: the open runs of a store, started again on a server that has lost them."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from temporalio.client import Client

from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import CliError, ExitCode, tell

from .group import group
from .opened import Opened, opened

if TYPE_CHECKING:
    from temporal_adapter.recovery import Adoption


@command(group, "adopt")
async def adopt_runs(
    options: StoreOptions,
    task_queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where to start them; by default each where it was.")
    ] = None,
    workflow_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only runs of the workflow of this name.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Start nothing, and say what would be.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> ExitCode:
    """Start the open runs of the store again, on a server that lost them or never had them.

    Each goes on from its last checkpoint, under its workflow id, with its pending requests. Runs that are open on the
    server are left alone. At a terminal you are shown what would be done, and asked. The exit code is 1 where one
    could not be started.
    """
    asks = not (yes or dry_run)
    if asks:
        _check_somebody_can_be_asked(options)
    store = opened(options)
    client = await connected(options)
    from temporal_adapter.recovery import adopt

    reports = await adopt(client, store.blobs, task_queue, workflow_name, dry_run=dry_run or asks)
    if asks and await _agreed(client, store, reports):
        reports = await adopt(client, store.blobs, task_queue, workflow_name)
    elif asks:
        tell("Nothing was started.")
        return _code(reports)
    if options.as_json:
        where = {"checkpoint_store": store.blobs.url, "namespace": store.namespace, "dry_run": dry_run}
        output.print_json({**where, "workflows": [dataclasses.asdict(report) for report in reports]})
    else:
        _print(store, reports)
    return _code(reports)


def _check_somebody_can_be_asked(options: StoreOptions) -> None:
    if options.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CliError(
            ExitCode.USAGE, "nobody is asked here whether to start runs: give --dry-run to see which, --yes to do it."
        )


def _code(reports: Sequence[Adoption]) -> ExitCode:
    return ExitCode.FINDING if any(one.state == "failed" for one in reports) else ExitCode.OK


async def _agreed(client: Client, store: Opened, reports: Sequence[Adoption]) -> bool:
    """Show what would be done; ask, where that is anything."""
    _print(store, reports)
    count = sum(one.state == "would adopt" for one in reports)
    where = f"{client.service_client.config.target_host} (namespace {client.namespace!r})"
    return count > 0 and await _confirmed(f"Start {count} on {where}? [y/N] ")


def _print(store: Opened, reports: Sequence[Adoption]) -> None:
    if not reports:
        tell(f"There are no runs in {store.place}.")
        return
    table = output.table("WORKFLOW ID", "WORKFLOW", "STATE", "CHECKPOINT", "WHY")
    for one in reports:
        table.add_row(
            output.name(one.workflow_id, "bold"),
            output.name(one.workflow_name),
            one.state,
            output.name(one.checkpoint_id) if one.checkpoint_id else "",
            output.name(one.reason) if one.reason else "",
        )
    output.console().print(table)


async def _confirmed(question: str) -> bool:
    """Ask the person at the terminal, in a way that Ctrl-C ends."""
    print(question, end="", file=sys.stderr, flush=True)
    loop = asyncio.get_running_loop()
    typed = asyncio.Event()
    loop.add_reader(sys.stdin, typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
