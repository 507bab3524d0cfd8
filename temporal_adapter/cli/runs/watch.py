"""`watch`: follows a run to its end: a picture that moves at a terminal, a line for each event elsewhere."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import CliError, ExitCode
from temporal_adapter.cli.top import top

if TYPE_CHECKING:
    from .archive import Archive
    from .found import Found
    from .snapshot import Snapshot

_LOOK_SECONDS = (0.25, 2.0)  # between looks: after news, and at most
_FRAMES = 4  # a second, so that the clock goes on


@command(top, "watch")
async def watch(
    options: StoreOptions,
    workflow_id: Annotated[str, typer.Argument(metavar="WORKFLOW_ID", help="The run.")],
    once: Annotated[bool, typer.Option("--once", help="Show where the run stands now, and do not wait.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Show long values whole.")] = False,
) -> ExitCode:
    """Follow a run until it has ended.

    At a terminal, it shows the graph with the state of each executor, supersteps, time and what the run waits for.
    Behind a pipe, a line for each event, from the first; with --json, each line is a JSON document, the last of which
    says how the run ended. The exit code is 1 if it did not end well. Ctrl-C ends the watching, and not the run. The
    first events of a very long run are read from the checkpoint store.
    """
    client = await connected(options)
    from .archive import Archive
    from .found import check_served, found

    archive = Archive(options)
    one = await found(client, workflow_id)
    if once:
        if one.is_open:
            await check_served(one)
        return await _once(options, one, archive, full)
    if options.as_json or not output.console().is_terminal:
        await _lines(options, one, archive, full)
    else:
        await _live(one, archive, full)
    return await _end(options, one)


async def _once(options: StoreOptions, one: Found, archive: Archive, full: bool) -> ExitCode:
    from .picture import picture

    shown = await _seen(one, archive, None)
    if options.as_json:
        output.print_json(shown.json())
    else:
        output.console().print(picture(shown, full=full))
    return ExitCode.OK if shown.unanswered is None else ExitCode.FINDING


async def _lines(options: StoreOptions, one: Found, archive: Archive, full: bool) -> None:
    from temporal_adapter.cli.events import event_line

    from .following import event_documents

    async for shown in event_documents(one, archive):
        if options.as_json:
            _print_line(shown)
        else:
            output.console().print(event_line(shown, full=full), soft_wrap=True)
            sys.stdout.flush()


async def _live(one: Found, archive: Archive, full: bool) -> None:
    from rich.console import RenderableType
    from rich.live import Live

    from .picture import picture

    shown = await _seen(one, archive, None)

    def drawn() -> RenderableType:  # anew for each frame: the clock goes on between looks
        return picture(shown, full=full)

    with Live(
        get_renderable=drawn,
        console=output.console(),
        refresh_per_second=_FRAMES,
        redirect_stderr=False,
    ) as live:
        pause = _LOOK_SECONDS[0]
        while shown.one.is_open:
            await asyncio.sleep(pause)
            before, shown = shown, await _seen(one, archive, shown)
            changed = before.status != shown.status or before.graph != shown.graph
            pause = _LOOK_SECONDS[0] if changed else min(2 * pause, _LOOK_SECONDS[1])
        live.refresh()


async def _seen(one: Found, archive: Archive, before: Snapshot | None) -> Snapshot:
    """Return where a run stands, as far as anybody tells."""
    from temporal_adapter.client import NoWorker

    from .found import is_served, refreshed
    from .snapshot import Snapshot, snapshot

    unanswered = f"No worker serves task queue {one.description.task_queue!r}."
    if await is_served(one):
        try:
            return await snapshot(one, archive, before)
        except CliError as error:
            if not isinstance(error.__cause__, NoWorker):
                raise
            unanswered = str(error)
    one = await refreshed(one)
    if before is None:
        return Snapshot(one, unanswered=unanswered)
    return Snapshot(one, before.status, before.graph, before.requests, before.outputs, unanswered=unanswered)


async def _end(options: StoreOptions, one: Found) -> ExitCode:
    """Say how a run ended."""
    from temporal_adapter.cli.resting import how_it_ended

    rest = await how_it_ended(one.run)
    if options.as_json:
        _print_line({"type": "ended", **rest.json()})
    if rest.problem is not None:
        raise CliError(ExitCode.FINDING, rest.problem)
    if not options.as_json:
        output.console().print(f"state: {rest.state}")
    return ExitCode.OK


def _print_line(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()
