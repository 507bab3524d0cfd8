"""The group that the commands of this package add themselves to."""

from __future__ import annotations

import typer

group = typer.Typer(
    name="checkpoint",
    short_help="Look at the checkpoints of runs, go on from them, and mend them.",
    help="Look at the checkpoints of runs (list, show, diff, graph), go on from them (resume, replay, fork; debug in "
    "this process), carry them to a changed graph (migrate), hold store and Temporal against each other (verify, "
    "rebuild, adopt), and delete what is not needed any more (prune).",
    no_args_is_help=True,
)
