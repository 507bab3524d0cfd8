"""`checkpoint prune`: checkpoints that are no longer wanted, and what only they needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.given import given_age
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import CliError, ExitCode, tell

from .group import group
from .opened import Opened, opened

if TYPE_CHECKING:
    from temporal_adapter.retention import Pruned, PrunedWorkflow, Swept


@command(group, "prune")
async def prune_checkpoints(
    options: StoreOptions,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Only checkpoints that were made so long ago: 30d, 12h, 1d12h, 2w."),
    ] = None,
    keep_last: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Keep the last N of each lineage of a workflow id.")
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE",
            show_default="all in which a run is over",
            help="Only of runs in this state, and those given likewise: completed, failed, cancelled, terminated, "
            "timed-out, closed, gone; open, lost, in-process.",
        ),
    ] = None,
    workflow_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only of the workflow of this name.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete it; without this, it is only shown.")] = False,
) -> ExitCode:
    """Delete old checkpoints of runs that are over, and values that nothing refers to any more.

    Without --yes nothing is deleted, and what would be is shown. At least one of --older-than and --keep-last is
    needed; what is given must all hold. What an open run may need stays in any case, so this can be done beside
    running workers. The exit code is 1 where something in the store is damaged; that is left alone.
    """
    if older_than is None and keep_last is None:
        raise CliError(ExitCode.USAGE, "give --older-than, --keep-last, or both.")
    age = None if older_than is None else given_age(older_than, "--older-than")
    store = opened(options)
    client = await connected(options)
    from temporal_adapter.retention import CLOSED, STATES, HistoryUnreadable, prune

    unknown = [one for one in state or [] if one not in STATES]
    if unknown:
        raise CliError(ExitCode.USAGE, f"--state: there is no state {unknown[0]!r}. States are {', '.join(STATES)}.")
    try:
        report = await prune(
            client,
            store.blobs,
            older_than=age,
            keep_last=keep_last,
            states=state or CLOSED,
            workflow_name=workflow_name,
            dry_run=not yes,
        )
    except HistoryUnreadable as error:
        raise CliError(ExitCode.UNREACHABLE, str(error)) from error
    if options.as_json:
        output.print_json(_json(store, report))
    else:
        _print(store, report)
    for damage in report.unreadable:
        tell(f"Warning: {damage}")
    return ExitCode.FINDING if report.unreadable else ExitCode.OK


def _json(store: Opened, report: Pruned) -> dict[str, Any]:
    def swept(one: Swept) -> dict[str, int]:
        return {"objects": one.objects, "bytes": one.bytes}

    return {
        "checkpoint_store": store.blobs.url,
        "namespace": store.namespace,
        "dry_run": report.dry_run,
        "workflows": [_workflow_json(one) for one in report.workflows],
        "deleted": {
            "checkpoints": swept(report.checkpoints),
            "values": swept(report.values),
            "chunks": swept(report.chunks),
            "records": swept(report.records),
            "bytes": report.bytes,
        },
        "unreadable": list(report.unreadable),
    }


def _workflow_json(one: PrunedWorkflow) -> dict[str, Any]:
    return {
        "workflow_name": one.workflow_name,
        "workflow_id": one.workflow_id,
        "states": list(one.states),
        "deleted": list(one.deleted),
        "kept": [{"checkpoint_id": kept.checkpoint_id, "reason": kept.reason} for kept in one.kept],
    }


def _print(store: Opened, report: Pruned) -> None:
    if not report.workflows:
        tell(f"There are no such checkpoints in {store.place}.")
    else:
        goes = "WOULD GO" if report.dry_run else "DELETED"
        table = output.table("WORKFLOW ID", "WORKFLOW", "STATE", goes, "KEPT", "WHY")
        for one in report.workflows:
            table.add_row(
                output.name(one.workflow_id, "bold"),
                output.name(one.workflow_name),
                ", ".join(one.states),
                str(len(one.deleted)),
                str(len(one.kept)),
                output.name(_reasons(one)),
            )
        output.console().print(table)
    output.console().print(Text(_total(report), "bold"), soft_wrap=True)
    if report.dry_run and report.bytes:
        tell("Nothing was deleted; --yes does it.")


def _reasons(one: PrunedWorkflow) -> str:
    reasons: Sequence[str] = list(dict.fromkeys(kept.reason for kept in one.kept))
    return "; ".join(reasons)


def _total(report: Pruned) -> str:
    swept = (report.values.objects + report.chunks.objects, report.records.objects)
    verb = "would be deleted" if report.dry_run else "deleted"
    return (
        f"{_count(len(report.deleted), 'checkpoint')}, {_count(swept[0], 'value')} and parts of values, "
        f"{_count(swept[1], 'entry', 'entries')}: {report.bytes:,} bytes {verb}"
    )


def _count(number: int, noun: str, several: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"
