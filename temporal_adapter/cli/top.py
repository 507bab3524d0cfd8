"""The command line itself, which groups are put into, and which top-level commands add themselves to."""

from __future__ import annotations

import typer

top = typer.Typer(
    name="temporal-adapter",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: boxes would cut the names of environment variables
    pretty_exceptions_enable=False,  # a stack trace means a bug, and shows as Python shows it
    context_settings={"help_option_names": ["--help", "-h"]},
)
