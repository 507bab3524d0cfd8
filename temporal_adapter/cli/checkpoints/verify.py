"""`checkpoint verify`: where the checkpoint store and the Temporal history of runs disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode

from .group import group
from .opened import opened

if TYPE_CHECKING:
    from temporal_adapter.recovery import Difference, Verified


@command(group, "verify")
async def verify_checkpoints(
    options: StoreOptions,
    workflow_id: Annotated[str, typer.Argument(metavar="WORKFLOW_ID", help="The workflow id of the runs.")],
    run_id: Annotated[
        str | None, typer.Option(metavar="ID", help="This run only; by default all that Temporal has.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show long values whole.")] = False,
) -> ExitCode:
    """Compare the checkpoints of a run with its Temporal history, and say exactly what differs.

    Nothing is written. The exit code is 1 when something differs; `rebuild` puts it right.
    """
    store = opened(options)
    client = await connected(options)
    from temporal_adapter.recovery import verify

    from .recovering import explained, report_json, tell_gone

    with explained():
        report = await verify(client, workflow_id, store.blobs, run_id)
    if options.as_json:
        output.print_json(report_json(store, report, same=report.same))
    else:
        _print(report, full)
        tell_gone(report.gone)
    return ExitCode.OK if report.same else ExitCode.FINDING


def _print(report: Verified, full: bool) -> None:
    for one in report.differences:
        output.console().print(_line(one, full), soft_wrap=True)
    looked_at = f"{_count(report.checkpoints, 'checkpoint')} of {_count(len(report.run_ids), 'run')}"
    found = _count(len(report.differences), "difference") if report.differences else "nothing differs"
    in_flight = f"; {len(report.in_flight)} being written" if report.in_flight else ""
    output.console().print(Text(f"{looked_at}: {found}{in_flight}", "bold"))


def _line(one: Difference, full: bool) -> Text:
    where = f"checkpoint {one.checkpoint_id}" if one.checkpoint_id else f"run {one.run_id}"
    at = f" at {one.place}" if one.place else ""
    line = Text.assemble(output.name(where), ": ", output.name(f"{one.kind}{at}", "red"))
    if one.kind == "differs":
        line.append(f": history has {output.value(one.recorded, full=full)}")
        line.append(f", the store {output.value(one.stored, full=full)}")
    return Text.assemble(line, ": ", output.name(one.detail)) if one.detail else line


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
