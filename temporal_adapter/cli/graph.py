"""`graph`: draws a workflow's graph, with where a run stands in it: Mermaid as text, SVG, or JSON."""

from __future__ import annotations

import asyncio
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from . import output
from .connected import connected
from .options import ServerOptions, command
from .running import CliError, ExitCode, tell
from .top import top

if TYPE_CHECKING:
    from temporal_adapter import wire


class Format(str, Enum):
    """What a graph is drawn as."""

    MERMAID = "mermaid"
    SVG = "svg"


@command(top, "graph")
async def graph(
    options: ServerOptions,
    workflow_id: Annotated[
        str | None, typer.Argument(metavar="WORKFLOW_ID", help="The run whose progress is drawn.")
    ] = None,
    workflow: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE.MODULE:FACTORY", help="Draw the graph that this function builds, without any run."
        ),
    ] = None,
    format: Annotated[
        Format | None, typer.Option(help="What to draw.", show_default="by the name of --output, else mermaid")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of showing it.")
    ] = None,
) -> ExitCode:
    """Draw a graph: of a run, with the state of each executor, or of a workflow that no run was made of yet.

    Mermaid is text that GitHub, GitLab and many wikis show as a drawing. SVG is for a browser, and needs the extra
    `inbox`. With --json it is the graph itself.

    \b
    temporal-adapter graph order-7
    temporal-adapter graph order-7 --output order-7.svg
    temporal-adapter graph --workflow shop.orders:build_order
    """
    if (workflow_id is None) == (workflow is None):
        raise CliError(
            ExitCode.USAGE, "give either the workflow id of a run, or --workflow with what builds the graph."
        )
    progress = _of_factory(workflow) if workflow_id is None else await _of_run(options, workflow_id)
    if options.as_json and (to is not None or format is not None):
        raise CliError(ExitCode.USAGE, "--json is shown, and has no format: leave out --output and --format.")
    if options.as_json:
        output.print_json(msgspec.to_builtins(progress))
        return ExitCode.OK
    drawn = _drawn(progress, format or (Format.SVG if to and to.suffix.lower() == ".svg" else Format.MERMAID))
    if to is None:
        sys.stdout.write(drawn if drawn.endswith("\n") else f"{drawn}\n")
    else:
        await asyncio.to_thread(_write, to, drawn)
    return ExitCode.OK


def _drawn(progress: wire.GraphProgress, format: Format) -> str:
    from temporal_adapter.drawing import NotDrawn, mermaid, svg

    if format is Format.MERMAID:
        return mermaid(progress)
    try:
        return svg(progress)
    except NotDrawn as error:
        raise CliError(ExitCode.USAGE, str(error)) from error


def _write(to: Path, drawn: str) -> None:
    try:
        to.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise CliError(ExitCode.USAGE, f"--output: {to} cannot be written: {error.strerror}.") from error
    tell(f"Written to {to}.")


async def _of_run(options: ServerOptions, workflow_id: str) -> wire.GraphProgress:
    client = await connected(options)
    from .runs.found import asked, check_served, found

    one = await found(client, workflow_id)
    await check_served(one, "The graph alone can be drawn without one: --workflow package.module:factory.")
    async with asked(one):
        return await one.run.graph()


def _of_factory(name: str | None) -> wire.GraphProgress:
    from temporal_adapter.definitions import ConfigurationError, define
    from temporal_adapter.drawing import unstarted
    from temporal_adapter.loading import ObjectNotFound, described, find_factory
    from temporal_adapter.pool import GraphPool

    assert name is not None
    try:
        [definition] = define([find_factory(name)])
        return unstarted(GraphPool(definition.factory).build().description())
    except (ObjectNotFound, ConfigurationError) as error:
        raise CliError(ExitCode.USAGE, f"--workflow: {error}") from error
    except Exception as error:  # whatever a user's factory raises
        raise CliError(ExitCode.USAGE, f"--workflow: {name!r} cannot build its workflow: {described(error)}") from error
