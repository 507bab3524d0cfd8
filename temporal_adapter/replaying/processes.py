"""Replaying in several processes: workflow code is Python, of which one process runs on one core only.

For programs that own their process, such as the command line: children import the program's main module.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import multiprocessing
import os
import signal
from collections.abc import AsyncIterable, Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from temporalio.api.history.v1 import History
from temporalio.client import WorkflowHistory

from .replays import HistoryFile, Release, Source, replay
from .verdicts import Replayed

_AHEAD = 2  # histories that wait for each process
_WORTH_A_PROCESS = 25  # histories, since one takes a second to start


@dataclass(frozen=True, slots=True)
class _Job:
    """A history on its way to another process."""

    workflow_id: str
    events: bytes


def processes_for(histories: int, at_most: int | None = None) -> int:
    """Return in how many processes so many histories are best replayed.

    Args:
        histories: How many there are.
        at_most: By default, as many as this process has cores.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores if at_most is None else at_most, histories // _WORTH_A_PROCESS))


async def replay_in_processes(
    histories: AsyncIterable[Source],
    make_release: Callable[[], Release],
    processes: int,
    on_replayed: Callable[[Replayed], None],
) -> list[Replayed]:
    """Replay histories in several processes; say of each, in their order, what it came to.

    Args:
        histories: To replay.
        make_release: Called in each process; must be picklable, as a function of a module is.
        processes: How many.
        on_replayed: Called with each as it is done, in whichever order.
    """
    if processes < 2:
        return await replay(histories, make_release(), on_replayed=on_replayed)
    loop, done = asyncio.get_running_loop(), list[asyncio.Future[Replayed]]()
    room = asyncio.Semaphore(processes * _AHEAD)

    def finished(future: asyncio.Future[Replayed]) -> None:
        room.release()
        if not future.cancelled() and future.exception() is None:
            on_replayed(future.result())

    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        async for one in histories:
            await room.acquire()
            future = loop.run_in_executor(pool, _replay_here, _sent(one), make_release)
            future.add_done_callback(finished)
            done.append(future)
        return list(await asyncio.gather(*done))
    finally:
        await asyncio.to_thread(functools.partial(pool.shutdown, cancel_futures=True))


def _sent(source: Source) -> _Job | HistoryFile:
    if isinstance(source, HistoryFile):
        return source
    return _Job(source.workflow_id, History(events=source.events).SerializeToString())


def _begin() -> None:
    """Begin a process: Ctrl-C is for the parent to take, and a history that does not replay is no news here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)


def _replay_here(job: _Job | HistoryFile, make_release: Callable[[], Release]) -> Replayed:
    source = job
    if isinstance(job, _Job):
        source = WorkflowHistory(job.workflow_id, list(History.FromString(job.events).events))
    assert not isinstance(source, _Job)
    [replayed] = asyncio.run(replay([source], make_release(), at_once=1))
    return replayed
