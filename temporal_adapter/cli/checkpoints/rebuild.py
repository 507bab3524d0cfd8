"""`checkpoint rebuild`: the checkpoints of a workflow id's runs, written again by their histories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from temporal_adapter.cli import output
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode

from .connected import connected
from .group import group
from .opened import opened

if TYPE_CHECKING:
    from temporal_adapter.recovery import Rebuilt


@command(group, "rebuild")
async def rebuild_checkpoints(
    options: StoreOptions,
    workflow_id: Annotated[str, typer.Argument(metavar="WORKFLOW_ID", help="The workflow id of the runs.")],
    run_id: Annotated[
        str | None, typer.Option(metavar="ID", help="This run only; by default all that Temporal has.")
    ] = None,
) -> ExitCode:
    """Write the checkpoints of a run again, by its Temporal history.

    What is right is left alone, so it can be done again, and beside running workers. Values that history only names
    are named as lost. The exit code is 1 where anything is lost, or could not be rebuilt.
    """
    client = await connected(options)
    store = opened(options, make=True)
    from temporal_adapter.recovery import rebuild

    from .recovering import explained, report_json

    with explained():
        report = await rebuild(client, workflow_id, store.blobs, run_id)
    if options.as_json:
        output.print_json(report_json(store, report, complete=report.complete))
    else:
        _print(report)
    return ExitCode.OK if report.complete else ExitCode.FINDING


def _print(report: Rebuilt) -> None:
    table = output.table("RUN", "WORKFLOW", "WRITTEN", "KEPT", "FAILED", "LOST VALUES", "IN FLIGHT")
    for run in report.runs:
        counts = [run.written, run.kept, run.failed, run.lost, run.in_flight]
        table.add_row(
            output.name(run.run_id, "bold"), output.name(run.workflow_name), *[str(len(one)) for one in counts]
        )
    output.console().print(table)
    for run in report.runs:
        for one in [*run.failed, *run.lost]:
            output.console().print(output.name(str(one), "red"), soft_wrap=True)
