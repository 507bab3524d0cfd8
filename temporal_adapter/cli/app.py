"""The command line put together: every command and group is added here, and nothing else happens here."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from . import checkpoints, graph, inbox, replay, runs
from .top import top as app

# As `--help` shows them.
_ORDER = ("start", "list", "pending", "respond", "watch", "cancel", "move", "graph", "inbox", "replay", "doctor")

__all__ = ["app", "checkpoints", "graph", "inbox", "replay", "runs"]

app.add_typer(checkpoints.group)
app.registered_commands.sort(key=lambda one: _ORDER.index(one.name or ""))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"agent-framework-temporal {version('agent-framework-temporal')}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Look after Microsoft Agent Framework workflows that run on Temporal.

    First steps: `temporal-adapter doctor` tells whether server, workers and store are as they should be; `list` shows
    runs, `pending` what they wait for, `respond` answers it, and `watch ID` follows one. `checkpoint list` shows what
    runs left in the checkpoint store of the workers: a directory, or a bucket of an object store. `--help` after any
    command explains it.

    \b
    Exit codes:
      0  fine
      1  a difference, something missing, a refusal, or another negative finding
      2  the command is wrong, or there is nothing to replay
      3  the store or server cannot be reached or read
      4  there is no such run or checkpoint
      130  interrupted
    """
