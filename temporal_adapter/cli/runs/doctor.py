"""`doctor`: whether server, workers, store and graph are as they should be, and what to do where they are not."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from temporal_adapter.cli import output
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode
from temporal_adapter.cli.top import top

if TYPE_CHECKING:
    from .check import Check

_STYLES = {"ok": "green", "warning": "bold yellow", "problem": "bold red"}


@command(top, "doctor")
async def examine(
    options: StoreOptions,
    task_queue: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default="those of open runs",
            help="A task queue that workers are to serve. Repeat the option for more.",
        ),
    ] = None,
    workflows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PACKAGE.MODULE:FACTORY", help="A function that builds a workflow, to check its graph. Repeatable."
        ),
    ] = None,
) -> ExitCode:
    """Check that all is there that runs need.

    Where something is not, it says what to do. It checks that the server answers and has the namespace; that the
    checkpoint store can be written from here; that the graphs are valid; that the task queues have workers, which know
    their workflows and can write their store; and that the search attribute of open requests is there. Nothing is
    changed, but for an object that is put into the store and deleted again. The exit code is 1 if there is a problem.
    """
    from .checkup import examined

    checks: list[Check] = []
    async for check in examined(options, task_queue or [], workflows or []):
        checks.append(check)
        if not options.as_json:
            _print(check)
    well = all(check.result != "problem" for check in checks)
    if options.as_json:
        output.print_json({"ok": well, "checks": [dataclasses.asdict(check) for check in checks]})
    return ExitCode.OK if well else ExitCode.FINDING


def _print(check: Check) -> None:
    line = Text.assemble((f"{check.result:<8}", _STYLES[check.result]), " ", output.name(check.subject, "bold"))
    line.append(f": {output.printable(' '.join(check.detail.split()))}")
    if check.fix is not None:
        line.append(f" {output.printable(check.fix)}")
    output.console().print(line, soft_wrap=True)
