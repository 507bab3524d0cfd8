"""`checkpoint debug`: a checkpoint of production, run on in this very process by MAF's own runner.

Only the command is here. What it does is in `debugging`, which loads MAF, as the other commands need not.
"""

from __future__ import annotations

from typing import Annotated

import typer

from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode

from .group import group
from .opened import opened


@command(group, "debug")
async def debug_checkpoint(
    options: StoreOptions,
    checkpoint_id: Annotated[str, typer.Argument(metavar="ID", help="The checkpoint to go on from.")],
    workflow: Annotated[
        str, typer.Option(metavar="PACKAGE.MODULE:FACTORY", help="The function that builds the run's workflow.")
    ],
    respond: Annotated[
        list[str] | None,
        typer.Option(metavar="REQUEST_ID=JSON", help="Answer a pending request. Repeat the option for more."),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="PACKAGE.MODULE:CLASS", help="A class that the plugin was given in types=. Repeatable."
        ),
    ] = None,
) -> ExitCode:
    """Run a checkpoint on in this process, where breakpoints in executors work.

    Executors run for real: what they do outside (mail, payments, models) happens. The run on Temporal and the store
    are left as they are. Put breakpoint() into an executor, and this terminal is its debugger.
    """
    from .debugging import debugged

    return await debugged(opened(options), checkpoint_id, workflow, respond or [], types or [], options.as_json)
