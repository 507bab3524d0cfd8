"""Runs the two sides in turn and measures them.

One dev server, in memory. Each side has one worker in a process of its own; both serve for as long as it takes. This
process starts the runs, one at a time, with one plain client for both: it waits for the result of a run before it
starts the next. A round is one run of each side. The first round warms up and is not counted.

- Time: from the start request to the result, as the client sees it; the median over the rounds.
- History: events and bytes by the server's own account, of each side's last run.
- Memory: the peak of the worker process's resident memory from its start to its end, its imports included.

A run with another result than expected, or without all its checkpoints, is an error: then there is nothing to compare.
Goals and output are not known here.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowFailureError

from bench import worker
from bench.sides import SIDES, WORKFLOW_TYPES, Side
from temporal_adapter.store import BlobStore, CheckpointStore
from workers import exec_with_parent
from workers.dev_server import NAMESPACE, dev_server

_REPOSITORY = Path(__file__).parents[1]
_RUN_SECONDS = 120.0
_STOP_SECONDS = 30.0


class NotMeasured(Exception):
    """There is no measurement; the message says why."""


@dataclass(frozen=True)
class Figures:
    """What was measured of one side.

    Attributes:
        run_ms: Milliseconds of each run, in order.
        history_events: Events in the history of a run.
        history_bytes: Their bytes, as the server counts them.
        peak_memory_bytes: Peak resident memory of the worker process.
    """

    run_ms: list[float]
    history_events: int
    history_bytes: int
    peak_memory_bytes: int

    @property
    def median_ms(self) -> float:
        """The median of a run, in milliseconds."""
        return statistics.median(self.run_ms)


@dataclass(frozen=True)
class _Bench:
    client: Client
    steps: int
    checkpoint_store: str
    session: str  # in names of task queues and workflow ids

    def task_queue(self, side: Side) -> str:
        return f"bench-{side}-{self.session}"


async def measure(steps: int, rounds: int, progress: Callable[[str], None]) -> dict[Side, Figures]:
    """Measures chains of so many steps, over so many rounds after the one that warms up.

    Raises:
        NotMeasured: A worker did not start or ended too early, or a run gave the wrong result.
        DevServerError: The server could not be started.
    """
    with tempfile.TemporaryDirectory(prefix="bench-checkpoints-") as checkpoints:
        async with dev_server() as server:
            client = await Client.connect(server.address)
            bench = _Bench(client, steps, checkpoints, str(os.getpid()))
            async with _worker_of("hand-written", bench) as by_hand, _worker_of("maf", bench) as maf:
                run_ms, ids = await _rounds(bench, rounds, progress)
                memory = {"hand-written": await _stop(by_hand), "maf": await _stop(maf)}
            return {side: await _figures(bench, run_ms[side], ids[side], memory[side]) for side in SIDES}


async def _rounds(
    bench: _Bench, rounds: int, progress: Callable[[str], None]
) -> tuple[dict[Side, list[float]], dict[Side, str]]:
    """Returns the milliseconds of each side's runs that count, and the workflow id of its last run."""
    run_ms: dict[Side, list[float]] = {side: [] for side in SIDES}
    ids: dict[Side, str] = {}
    for number in range(rounds + 1):
        progress("warming up" if number == 0 else f"round {number} of {rounds}")
        for side in SIDES:
            ids[side] = f"{bench.task_queue(side)}-{number}"
            elapsed = await _run(bench, side, ids[side])
            if number > 0:
                run_ms[side].append(elapsed)
    return run_ms, ids


async def _run(bench: _Bench, side: Side, workflow_id: str) -> float:
    """Runs a side once; returns the milliseconds it took."""
    started = time.perf_counter()
    run = bench.client.execute_workflow(
        WORKFLOW_TYPES[side], _input(bench, side), id=workflow_id, task_queue=bench.task_queue(side)
    )
    try:
        result = await asyncio.wait_for(run, _RUN_SECONDS)
    except (WorkflowFailureError, asyncio.TimeoutError) as error:
        reason = f"did not end within {_RUN_SECONDS:.0f} s" if isinstance(error, asyncio.TimeoutError) else error.cause
        raise NotMeasured(f"the {side} run {workflow_id} failed: {reason}") from error
    elapsed = (time.perf_counter() - started) * 1000
    number = result["outputs"] if side == "maf" else [result]
    if number != [bench.steps]:
        raise NotMeasured(f"the {side} run {workflow_id} returned {number}, expected [{bench.steps}]")
    if side == "maf":
        await _check_checkpoints(bench, workflow_id)
    return elapsed


def _input(bench: _Bench, side: Side) -> Any:
    return 0 if side == "maf" else {"number": 0, "steps": bench.steps}


async def _check_checkpoints(bench: _Bench, workflow_id: str) -> None:
    store = CheckpointStore(BlobStore(bench.checkpoint_store), NAMESPACE)
    ids = await store.list_ids(WORKFLOW_TYPES["maf"], workflow_id)
    if len(ids) != bench.steps + 1:
        raise NotMeasured(f"the run {workflow_id} wrote {len(ids)} checkpoints, expected {bench.steps + 1}")


async def _figures(bench: _Bench, run_ms: list[float], workflow_id: str, memory: int) -> Figures:
    description = await bench.client.get_workflow_handle(workflow_id).describe()
    info = description.raw_description.workflow_execution_info
    return Figures(run_ms, info.history_length, info.history_size_bytes, memory)


# --- worker processes -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _worker_of(side: Side, bench: _Bench) -> AsyncIterator[Process]:
    """Runs a side's worker process. On Linux it also dies with this process."""
    address, task_queue = bench.client.service_client.config.target_host, bench.task_queue(side)
    command = [sys.executable, "-m", worker.__name__, side, address, task_queue, str(bench.steps)]
    bound = [sys.executable, "-I", "-S", exec_with_parent.__file__, str(os.getpid()), *command, bench.checkpoint_store]
    process = await asyncio.create_subprocess_exec(*bound, cwd=_REPOSITORY, stdout=PIPE)
    try:
        if await _line(process) != worker.READY:
            raise NotMeasured(f"the worker process of the {side} side did not start; its error output is above")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _stop(process: Process) -> int:
    """Stops a worker process; returns the peak memory it reports."""
    process.terminate()
    reported = await asyncio.wait_for(_line(process), _STOP_SECONDS)
    code = await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    if code != 0 or not reported.isdigit():
        raise NotMeasured(f"a worker process ended with exit code {code} and reported no peak memory")
    return int(reported)


async def _line(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()
