"""`checkpoint rebuild`: the checkpoints of a workflow id's runs, written again by their histories."""

from __future__ import annotations

from dataclasses import replace
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
    from temporal_adapter.recovery import Rebuilt


@command(group, "rebuild")
async def rebuild_checkpoints(
    options: StoreOptions,
    workflow_id: Annotated[
        str | None, typer.Argument(metavar="WORKFLOW_ID", help="The workflow id of the runs.")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option(metavar="ID", help="This run only; by default all that Temporal has.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All workflow ids that Temporal has, oldest first, instead of one.")
    ] = False,
) -> ExitCode:
    """Write the checkpoints of a run, or of all, again, by their Temporal histories.

    What is right is left alone, so it can be done again, and beside running workers. Values that history only names
    are named as lost. The exit code is 1 where anything is lost, or could not be rebuilt.
    """
    if everything == (workflow_id is not None) or (everything and run_id is not None):
        raise CliError(ExitCode.USAGE, "give a WORKFLOW_ID, with --run-id for one run of it, or --all.")
    client = await connected(options)
    store = opened(options, make=True)
    from temporal_adapter.recovery import rebuild

    from .recovering import explained, report_json, tell_gone

    if workflow_id is None:
        report = await _rebuild_all(client, store)
    else:
        with explained():
            report = await rebuild(client, workflow_id, store.blobs, run_id)
    if options.as_json:
        document = report_json(store, report, complete=report.complete)
        output.print_json({**document, "workflow_id": workflow_id})
    else:
        _print(report)
        tell_gone(report.gone)
    return ExitCode.OK if report.complete else ExitCode.FINDING


async def _rebuild_all(client: Client, store: Opened) -> Rebuilt:
    """Rebuild all workflow ids of the namespace, those that started first before those that may build on them."""
    from temporal_adapter.recovery import NotReplayable, Rebuilt, rebuild

    runs = sorted([one async for one in client.list_workflows()], key=lambda one: one.start_time)
    whole = Rebuilt("", ())
    for workflow_id in dict.fromkeys(one.id for one in runs):
        try:
            report = await rebuild(client, workflow_id, store.blobs)
        except NotReplayable as error:  # of another application's workflow, say
            tell(f"Not rebuilt: {error}")
        else:
            whole = replace(whole, runs=(*whole.runs, *report.runs), gone=(*whole.gone, *report.gone))
    return whole


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
