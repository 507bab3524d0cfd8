"""A worker as a child of this process: `python -m workers`, awaited until it serves, stopped, never left behind."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from workers import exec_with_parent

_START_SECONDS = 60.0
_STOP_SECONDS = 15.0

T = TypeVar("T")


class WorkerFailed(Exception):
    """The worker ended, or did not come to serve; the message has what it printed."""


class WorkerProcess:
    """A worker that serves.

    Attributes:
        greeting: The line it printed when it came to serve.
        pid: Its process id.
    """

    def __init__(self, process: asyncio.subprocess.Process, greeting: str, log: IO[bytes]) -> None:
        self.greeting = greeting
        self.pid = process.pid
        self._process = process
        self._log = log

    async def guard(self, job: Coroutine[Any, Any, T]) -> T:
        """Return what the job returns, unless the worker ends before.

        Raises:
            WorkerFailed: It did. The job is cancelled.
        """
        task = asyncio.ensure_future(job)
        ended = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise WorkerFailed(_last_words(self._process, self._log))
        finally:
            ended.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})


def worker_arguments(workflows: Sequence[str], task_queue: str, checkpoint_store: Path) -> list[str]:
    """Return what follows `python` on the command line of such a worker."""
    options = [part for name in workflows for part in ("--workflow", name)]
    return ["-m", "workers", *options, "--task-queue", task_queue, "--checkpoint-store", str(checkpoint_store)]


@asynccontextmanager
async def worker_process(
    workflows: Sequence[str], task_queue: str, checkpoint_store: Path, environment: Mapping[str, str]
) -> AsyncIterator[WorkerProcess]:
    """Runs a worker process for as long as the block is open.

    On Linux it also dies with this thread, and so with this process, even one that is killed. It is in a session of its
    own, so that Ctrl-C at a terminal reaches this process alone, which then stops its worker before its server.

    Args:
        workflows: Factories, as `package.module:factory`.
        task_queue: To serve.
        checkpoint_store: A directory; it is made.
        environment: All of the worker's environment variables.

    Raises:
        WorkerFailed: It ended before it served, or did not serve within a minute.
    """
    bound = [sys.executable, "-I", "-S", exec_with_parent.__file__, str(os.getpid())]
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *bound,
            *(sys.executable, *worker_arguments(workflows, task_queue, checkpoint_store)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env=environment,
        )
        try:
            yield WorkerProcess(process, await _greeting(process, log), log)
        finally:
            await _stop(process)


async def _greeting(process: asyncio.subprocess.Process, log: IO[bytes]) -> str:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
    except asyncio.TimeoutError:  # until Python 3.11 not the built-in one
        raise WorkerFailed(f"the worker did not come to serve within {_START_SECONDS:.0f} s") from None
    if not line:  # it closed its output, so it is ending
        await process.wait()
        raise WorkerFailed(_last_words(process, log))
    return line.decode().strip()


def _last_words(process: asyncio.subprocess.Process, log: IO[bytes]) -> str:
    log.seek(0)
    printed = log.read().decode(errors="replace").strip()
    how = f"the worker ended with exit code {process.returncode}"
    return f"{how}. It printed:\n{printed}" if printed else f"{how}, and printed nothing."


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Asks the worker to stop, waits for it, and kills it when that takes too long or the wait is cancelled."""
    try:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    except (asyncio.TimeoutError, ProcessLookupError):
        pass
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
