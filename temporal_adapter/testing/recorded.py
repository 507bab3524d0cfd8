"""Recorded histories in tests: written once, replayed with every change of code. `replaying` does the work."""

from __future__ import annotations

import gzip
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHandle, WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.worker import Plugin

from temporal_adapter.client import DurableRun, DurableSession
from temporal_adapter.replaying import HistoryFile, Release, Replayed, Source, history_files
from temporal_adapter.replaying import replay as _replay

Run = DurableRun | DurableSession | WorkflowHandle[Any, Any]
"""A run on a server."""

Recorded = WorkflowHistory | str | Path | Run
"""A history; a file with one, or a directory of such; or a run, whose history is fetched."""


_ONE = (WorkflowHistory, str, Path, DurableRun, DurableSession, WorkflowHandle)


async def record_history(run: Run, path: str | Path) -> Path:
    """Write the history that a run has now into a file, for `assert_replays` and `temporal-adapter replay`.

    Args:
        run: Open or over.
        path: Of the file, which is written over; directories above it are made. `.json`, or compressed `.json.gz`.

    Returns:
        The path.
    """
    path = Path(path)
    text = (await _handle(run).fetch_history()).to_json() + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


async def replay(
    histories: Recorded | Iterable[Recorded],
    *,
    plugins: Sequence[Plugin] = (),
    workflows: Sequence[type] = (),
    data_converter: DataConverter = DataConverter.default,
    **replayer_options: Any,
) -> list[Replayed]:
    """Replay histories; say of each what it came to.

    Args:
        histories: One or more.
        plugins: Of the production workers, such as their `AgentFrameworkPlugin`. Without any, the adapter's workflow
            of each history's name is used, which is the same code; the plugin adds that it must have that name.
        workflows: Workflow classes of your own, where histories of them are among these.
        data_converter: Of the workers' client; its payload codec reads histories that are encrypted.
        replayer_options: Further ones of Temporal's `Replayer`.

    Raises:
        NoHistories: There is no such file or directory, or no history in it.
    """
    release = Release(tuple(plugins), tuple(workflows), data_converter, replayer_options)
    return await _replay(_sources(histories), release)


async def assert_replays(histories: Recorded | Iterable[Recorded], **options: Any) -> list[Replayed]:
    """Assert that histories replay: that this code goes on with these runs as they began.

    Args:
        histories: As `replay`; a directory is the usual.
        options: Further ones of `replay`.

    Returns:
        What `replay` does.

    Raises:
        AssertionError: One does not, or is none, or is of a workflow that is unknown; says where each goes astray.
        NoHistories: There is no such file or directory, or no history in it.
    """
    replayed = await replay(histories, **options)
    wrong = [one for one in replayed if one.outcome != "replays"]
    if wrong:
        lines = [_line(one) for one in wrong]
        raise AssertionError("\n".join([f"{len(wrong)} of {len(replayed)} histories do not replay:", *lines]))
    if not replayed:
        raise AssertionError("There is no history to replay.")
    return replayed


def _line(one: Replayed) -> str:
    temporal = f"\n    Temporal: {one.temporal}" if one.temporal and one.temporal not in one.reason else ""
    hint = ". Classes of your own are given as workflows=[...]" if one.outcome == "foreign" else ""
    return f"  {one}{hint}{temporal}"


def _handle(run: Run) -> WorkflowHandle[Any, Any]:
    if isinstance(run, DurableSession):
        run = run.durable_run
    return run.handle if isinstance(run, DurableRun) else run


async def _sources(histories: Recorded | Iterable[Recorded]) -> AsyncGenerator[Source, None]:
    many = [histories] if isinstance(histories, _ONE) else histories
    for one in many:
        if isinstance(one, WorkflowHistory):
            yield one
        elif isinstance(one, str | Path):
            for file in history_files([one]):
                yield HistoryFile(str(file))
        else:
            yield await _handle(one).fetch_history()
