"""`move`: has open runs go on on the current build of their worker deployment."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from temporalio.client import Client

from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import ServerOptions, command
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.cli.top import top

if TYPE_CHECKING:
    from collections.abc import Sequence

    from temporal_adapter.client.moving import Move

_LIMIT = 100
_WAIT_SECONDS = 30.0


@command(top, "move")
async def move(
    options: ServerOptions,
    workflow_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[WORKFLOW_ID]...", help="The runs.", show_default=False)
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY",
            help="Open runs, by a visibility query: \"TemporalWorkerDeploymentVersion = 'greetings:1'\".",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Of the query's runs, only the N newest.")] = _LIMIT,
    wait: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long to wait for each to move.")
    ] = _WAIT_SECONDS,
) -> ExitCode:
    """Move open runs to the current build of their worker deployment.

    For runs on workers with Worker Versioning. Each is asked to go on as a new Temporal run of the same workflow id, at
    its next checkpoint; a run that waits for people does so at once. Requests, state and checkpoints go with it. What
    is not at a checkpoint yet moves when it is, whether this command waits for it or not. Graphs are not compared: on a
    build with another graph, a run waits or is migrated. The exit code is 1 if a run did not move and is not where it
    should be.
    """
    if (query is None) == (not workflow_ids):
        raise CliError(ExitCode.USAGE, "give the WORKFLOW_IDs of runs, or --query.")
    client = await connected(options)
    from temporal_adapter.client.moving import FINE, move_runs

    ids = list(dict.fromkeys(workflow_ids or []))
    if query is not None:
        ids, more = await _found(client, query, limit)
        if more:
            tell(f"There are more than {limit}: run it again once these have moved, or with --limit.")
    moves = await move_runs(client, ids, wait=timedelta(seconds=wait))
    if options.as_json:
        output.print_json({"namespace": client.namespace, "runs": [dataclasses.asdict(one) for one in moves]})
    elif moves:
        _print(moves)
    else:
        tell(f"There are no such open runs in namespace {client.namespace!r}.")
    if moves and all(one.outcome == "unknown" for one in moves):
        return ExitCode.NOT_FOUND
    return ExitCode.OK if all(one.outcome in FINE for one in moves) else ExitCode.FINDING


async def _found(client: Client, query: str, limit: int) -> tuple[list[str], bool]:
    """Return the workflow ids of open runs of the adapter's that a query finds, and whether there are more."""
    from temporal_adapter.client.kinds import Kinds

    kinds = Kinds(client)
    ids: list[str] = []
    wanted = f"({query}) AND ExecutionStatus = 'Running'"
    async for one in client.list_workflows(wanted):
        if await kinds.is_ours(one.workflow_type, one.id, one.run_id) is False:
            continue
        if len(ids) == limit:
            return ids, True
        ids.append(one.id)
    return ids, False


def _print(moves: Sequence[Move]) -> None:
    table = output.table("WORKFLOW ID", "OUTCOME", "")
    for one in moves:
        table.add_row(output.name(one.workflow_id, "bold"), one.outcome.replace("_", " "), output.printable(one.detail))
    output.console().print(table)
