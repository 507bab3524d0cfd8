"""`checkpoint migrate`: a checkpoint carried to a changed graph, so that its run can go on with that.

Only the command is here. What it does is in `migrating`, which loads MAF, as the other commands need not.
"""

from __future__ import annotations

from typing import Annotated

import typer

from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode

from .group import group
from .opened import opened


@command(group, "migrate")
async def migrate_checkpoint(
    options: StoreOptions,
    checkpoint_id: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="The checkpoint to carry over.")],
    workflow: Annotated[
        str, typer.Option(metavar="PACKAGE.MODULE:FACTORY", help="The function that builds the changed workflow.")
    ],
    function: Annotated[
        str,
        typer.Option(
            metavar="PACKAGE.MODULE:FUNCTION",
            help="The function (checkpoint, workflow) -> checkpoint that carries it over.",
        ),
    ],
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="PACKAGE.MODULE:CLASS", help="A class that the plugin was given in types=. Repeatable."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say whether it would fit; write nothing.")] = False,
) -> ExitCode:
    """Carry a checkpoint to a changed graph: write what a function of yours makes of it as a new checkpoint.

    What the function returns must fit the graph: its executors, the messages in flight, requests, fan-ins and states
    are looked at first. The old checkpoint stays, as the parent of the new one. No executor runs, and no run goes on by
    itself: what does is printed.
    """
    from .migrating import migrate

    return await migrate(opened(options), options, checkpoint_id, workflow, function, types or [], dry_run=dry_run)
