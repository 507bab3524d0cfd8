"""The command line put together: every command and group is added here, and nothing else happens here."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from . import checkpoints

app = typer.Typer(
    name="temporal-adapter",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: boxes would cut the names of environment variables
    pretty_exceptions_enable=False,  # a stack trace means a bug, and shows as Python shows it
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(checkpoints.group)


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

    A run writes a checkpoint when it starts, after each superstep, and on receipt of responses. They are in the
    checkpoint store of the workers: a directory, or a bucket of an object store.

    First steps: `temporal-adapter checkpoint list` shows what the store has; `checkpoint show ID` shows one.
    `--help` after any command explains it.

    \b
    Exit codes:
      0  fine
      1  a difference, something missing, or another negative finding
      2  the command is wrong
      3  the store or server cannot be reached or read
      4  there is no such run or checkpoint
      130  interrupted
    """
