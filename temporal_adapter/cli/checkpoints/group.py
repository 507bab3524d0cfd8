"""The group that the commands of this package add themselves to, in the order in which `--help` shows them."""

from __future__ import annotations

import typer

group = typer.Typer(
    name="checkpoint",
    short_help="Look at the checkpoints of runs.",
    help="Look at the checkpoints of runs: what there is, what is in one, what changed, and how they descend.",
    no_args_is_help=True,
)
