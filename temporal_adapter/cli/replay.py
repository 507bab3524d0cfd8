"""`replay`: the gate before a deployment. Would this release go on with the runs that there are?"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text
from temporalio.client import Client, WorkflowExecution
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from . import output
from .codec import payload_codec
from .connected import connected
from .options import ServerOptions, command
from .running import CliError, ExitCode, tell
from .top import top

if TYPE_CHECKING:
    from temporal_adapter.replaying import Outcome, Release, Replayed, Source

_LIMIT = 1000

_STYLES: dict[Outcome, str] = {
    "replays": "green",
    "diverges": "bold red",
    "fails": "bold red",
    "unreadable": "bold red",
    "foreign": "yellow",
}
_MEANINGS: dict[Outcome, str] = {
    "replays": "replay",
    "diverges": "diverge",
    "fails": "fail",
    "unreadable": "cannot be read",
    "foreign": "are of workflows that are not the adapter's",
}


@command(top, "replay")
async def replay_histories(
    options: ServerOptions,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Files with histories, or directories with .json and .json.gz files."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY",
            help='Runs on the server, by a visibility query: \'WorkflowType="x" AND ExecutionStatus="Running"\'.',
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Of the query's runs, only the N newest.")] = _LIMIT,
    junit: Annotated[str | None, typer.Option(metavar="FILE", help="Write the verdicts as JUnit XML, too.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, metavar="N", show_default="one a core", help="In at most N processes."),
    ] = None,
) -> ExitCode:
    """Say whether this release goes on with recorded runs as they began: the gate before a deployment.

    Each history is replayed with the workflow of this release, by Temporal's own replayer. Neither graph nor worker is
    needed, and nothing is changed. Graphs are not compared: that yours has changed does not show here. Of a run that
    would go astray, it says where: superstep, executor, what the history has there, and what this release would do. The
    exit code is 0 if all replay, 1 if one does not or a file is damaged, 2 if there is nothing to replay, such as no
    run of the query. Workflows that are not the adapter's are named, and do not count.
    """
    if not paths and query is None:
        raise CliError(ExitCode.USAGE, "give files or directories with histories, or --query.")
    if junit is not None:
        _check_junit()
    files = _files(paths or [])
    gate = _Gate(files)
    if query is not None:
        await gate.ask(await connected(options), query, limit)
    release = functools.partial(_release, options)
    release()  # a codec that there is not is told before anything begins
    with _quiet():
        replayed = await _replayed(gate, release, jobs, show=not options.as_json)
    if junit is not None:
        _write(junit, replayed)
    if options.as_json:
        output.print_json({"histories": [_json(one) for one in replayed], "more": gate.more})
    else:
        _print(replayed)
    if gate.more:
        tell(f"There are more than {limit} such runs, and only the newest were replayed: --limit takes more.")
    for run in gate.gone:
        tell(f"Warning: the server has deleted the history of {run.id!r} in the meantime.")
    return _concluded(replayed)


def _files(paths: Sequence[str]) -> list[str]:
    from temporal_adapter.replaying import NoHistories, history_files

    try:
        return [str(path) for path in history_files(paths)]
    except NoHistories as error:
        raise CliError(ExitCode.USAGE, str(error)) from error


def _release(options: ServerOptions) -> Release:
    from temporal_adapter.replaying import Release

    return Release(data_converter=dataclasses.replace(DataConverter.default, payload_codec=payload_codec(options)))


class _Gate:
    """The histories to replay: of files, then of a server's runs."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._client: Client | None = None
        self._runs: list[WorkflowExecution] = []
        self.more = False
        self.gone: list[WorkflowExecution] = []

    async def ask(self, client: Client, query: str, limit: int) -> None:
        """Find the runs of a query.

        Raises:
            CliError: The server does not take the query, or there is no such run and no file either.
        """
        from temporal_adapter.replaying.fetching import find_runs

        try:
            found = await find_runs(client, query, limit)
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            raise CliError(ExitCode.USAGE, f"--query: the server does not take it: {error.message}") from error
        if not found.runs and not self._files:
            raise CliError(ExitCode.USAGE, f"no run in namespace {client.namespace!r} matches the query.")
        self._client, self._runs, self.more = client, found.runs, found.more

    def __len__(self) -> int:
        return len(self._files) + len(self._runs)

    async def histories(self) -> AsyncGenerator[Source, None]:
        """Yield them, in order."""
        from temporal_adapter.replaying import HistoryFile
        from temporal_adapter.replaying.fetching import histories_of

        for file in self._files:
            yield HistoryFile(file)
        if self._client is not None:
            async for history in histories_of(self._client, self._runs, self.gone):
                yield history


async def _replayed(
    gate: _Gate, release: functools.partial[Release], jobs: int | None, *, show: bool
) -> list[Replayed]:
    from temporal_adapter.replaying.processes import processes_for, replay_in_processes

    errors = Console(stderr=True, markup=False, highlight=False)
    columns = (TextColumn("Replaying"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not (show and errors.is_terminal)) as progress:
        bar = progress.add_task("", total=len(gate))
        processes = processes_for(len(gate), jobs)
        return await replay_in_processes(gate.histories(), release, processes, lambda _: progress.advance(bar))


@contextlib.contextmanager
def _quiet() -> Generator[None, None, None]:
    """Keep the SDK from logging each failed replay, of which the command says more."""
    logger = logging.getLogger("temporalio")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _check_junit() -> None:
    if importlib.util.find_spec("junitparser") is None:
        missing = '--junit needs junitparser, which is not installed: pip install "agent-framework-temporal[cli]"'
        raise CliError(ExitCode.USAGE, missing)


def _write(junit: str, replayed: Sequence[Replayed]) -> None:
    from temporal_adapter.replaying.junit import write_junit

    try:
        write_junit(junit, replayed)
    except OSError as error:
        raise CliError(ExitCode.USAGE, f"--junit: {junit!r} cannot be written: {error.strerror or error}.") from error


def _concluded(replayed: Sequence[Replayed]) -> ExitCode:
    """Return the exit code, after the conclusion was told."""
    counts = Counter(one.outcome for one in replayed)
    if not counts or set(counts) == {"foreign"}:
        tell("Error: there is nothing to replay: no history is of a workflow of the adapter.")
        return ExitCode.USAGE
    said = ", ".join(f"{counts[outcome]} {meaning}" for outcome, meaning in _MEANINGS.items() if counts[outcome])
    tell(f"Of {len(replayed)} histories {said}.")
    if all(one.ok for one in replayed):
        return ExitCode.OK
    tell("Keep this release back: an open run that diverges or fails would stand still on it.")
    return ExitCode.FINDING


# --- showing ------------------------------------------------------------------------------------------------


def _print(replayed: Sequence[Replayed]) -> None:
    from_files = any(one.source for one in replayed)
    table = output.table("RUN", "WORKFLOW", "EVENTS", "MS", "VERDICT", *(["FILE"] if from_files else []))
    for one in replayed:
        cells = [
            output.name(one.workflow_id, "bold"),
            output.name(one.workflow_name) if one.workflow_name else Text(""),
            Text(str(one.events)),
            Text(f"{one.seconds * 1000:.0f}"),
            Text(one.outcome, _STYLES[one.outcome]),
        ]
        table.add_row(*cells, *([output.name(one.source or "")] if from_files else []))
    output.console().print(table)
    for one in replayed:
        if one.outcome != "replays":
            _explain(one)


def _explain(one: Replayed) -> None:
    heading = Text.assemble(output.name(one.workflow_id, "bold"), " ", (one.outcome, _STYLES[one.outcome]))
    output.console().print(heading, soft_wrap=True)
    output.console().print(Text(f"  {output.printable(one.reason)}"), soft_wrap=True)
    if one.temporal and one.temporal not in one.reason:
        output.console().print(Text(f"  Temporal: {output.printable(one.temporal)}", "dim"), soft_wrap=True)


def _json(one: Replayed) -> dict[str, Any]:
    return {
        "workflow_id": one.workflow_id,
        "run_id": one.run_id,
        "workflow_name": one.workflow_name,
        "file": one.source,
        "events": one.events,
        "ms": round(one.seconds * 1000),
        "verdict": one.outcome,
        "reason": one.reason or None,
        "temporal": one.temporal or None,
        "divergence": None if one.divergence is None else dataclasses.asdict(one.divergence),
    }
