"""The command line `temporal-adapter`: what a person types, what it prints, and what it exits with.

`app` puts the commands together; each group has a package and each command a module, so `checkpoint diff` is
`checkpoints/diff.py`. What commands share: `options` (common options), `running` (exit codes, errors as one line),
`output` (terminal, pipe and JSON). Commands ask the library and show its answers; nothing that decides about runs, or
knows how something is stored, belongs here. `docs/cli.md` documents options, JSON and exit codes.

This module must load without the extra `cli`, and so without Typer, Rich and deepdiff.
"""

from __future__ import annotations

import importlib.util
from typing import NoReturn

from temporal_adapter import process

_OF_THE_EXTRA = ("typer", "rich", "deepdiff")


def main() -> NoReturn:
    """Run the command line and end the process; installed as `temporal-adapter`."""
    process.run_command(_command)


def _command() -> None:
    for name in _OF_THE_EXTRA:
        if importlib.util.find_spec(name) is None:
            raise SystemExit(
                f"Error: the command line needs {name}, which is not installed: "
                'pip install "agent-framework-temporal[cli]"'
            )
    from .app import app

    app(prog_name="temporal-adapter")
