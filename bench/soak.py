"""`python -m bench.soak`: one run of very many supersteps, and one session of very many inputs, to their ends.

Both go on as new Temporal runs again and again. Shown is what a step costs, and the memory that the worker's process
has, for each tenth of the way: they are to stay as they are at first. The exit code is 1 when something is lost, and
when a cost grows beyond `LIMIT`; the first tenth, in which everything is imported and built, is not compared.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

from bench.soak_worker import CLERK, READY, WALKER
from temporal_adapter import DurableWorkflow, process
from workers.dev_server import dev_server

LIMIT = 1.5
"""How many times the cost of the first tenths the last may have. Timings are noisy; what grows, grows severalfold."""

_COMPARED = 1000
"""Steps from which on costs are compared: of fewer, they are noise."""

_TENTHS = 10


@dataclass
class Course:
    """What was measured on the way.

    Attributes:
        what: A step.
        steps: How many there are.
        ms: Of a step, by tenth.
        memory: Resident bytes of the worker's process, at the end of each tenth.
        links: How many Temporal runs it took.
        right: Whether the outcome was.
    """

    what: str
    steps: int
    ms: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    links: int = 0
    right: bool = False

    @property
    def ratios(self) -> tuple[float, float]:
        """Of time and memory: the last four tenths against the second to fifth."""
        return _ratio(self.ms), _ratio([float(one) for one in self.memory])

    @property
    def passed(self) -> bool:
        """Whether nothing was lost, and nothing grew."""
        return self.right and (self.steps < _COMPARED or max(self.ratios) <= LIMIT)


def _ratio(figures: list[float]) -> float:
    return statistics.mean(figures[-4:]) / statistics.mean(figures[1:5])


async def main(supersteps: int, inputs: int, after: int | None) -> int:
    console = Console()
    with tempfile.TemporaryDirectory(prefix="soak-") as directory:
        async with dev_server() as server:
            client = await Client.connect(server.address)
            store = str(Path(directory, "checkpoints"))
            with _worker(server.address, store, supersteps, after) as worker:
                courses = [
                    await _walk(client, store, worker, supersteps, console),
                    await _hold(client, store, worker, inputs, console),
                ]
    _show(console, courses)
    return 0 if all(course.passed for course in courses) else 1


@contextmanager
def _worker(address: str, store: str, supersteps: int, after: int | None) -> Iterator[int]:
    """Run the worker's process while the block is open; yields its process id."""
    arguments = [address, store, str(supersteps), *([] if after is None else [str(after)])]
    with subprocess.Popen(
        [sys.executable, "-m", "bench.soak_worker", *arguments], stdout=subprocess.PIPE, text=True
    ) as worker:
        try:
            assert worker.stdout is not None
            if worker.stdout.readline().strip() != READY:
                raise RuntimeError("The worker did not start.")
            yield worker.pid
        finally:
            worker.terminate()


async def _walk(client: Client, store: str, worker: int, supersteps: int, console: Console) -> Course:
    durable = DurableWorkflow(client, WALKER, task_queue=WALKER, checkpoint_store=store)
    run = await durable.start(supersteps, id=WALKER)
    course = Course("superstep", supersteps)
    async with _tenths(course, worker, supersteps, console) as reached:
        while (status := await run.status()).iteration < supersteps:
            reached(status.iteration)
            await asyncio.sleep(0.1)
    result = await run.result()
    course.links = await _links(client, WALKER)
    lineage = await run.checkpoints()
    whole = [one.previous_checkpoint_id for one in lineage[1:]] == [one.checkpoint_id for one in lineage[:-1]]
    invoked = sum(event.type == "executor_invoked" for event in result)
    course.right = result.get_outputs() == [supersteps] and whole and invoked == supersteps
    return course


async def _hold(client: Client, store: str, worker: int, inputs: int, console: Console) -> Course:
    session = DurableWorkflow(client, CLERK, task_queue=WALKER, checkpoint_store=store).session(CLERK)
    course = Course("input", inputs)
    outputs: list[object] = []
    async with _tenths(course, worker, inputs, console) as reached:
        for number in range(inputs):
            outputs += (await session.run(number)).get_outputs()
            reached(number + 1)
    await session.close()
    course.links = await _links(client, CLERK)
    course.right = outputs == [(number, number + 1) for number in range(inputs)]  # each, and how many there were
    return course


@asynccontextmanager
async def _tenths(
    course: Course, worker: int, steps: int, console: Console
) -> AsyncGenerator[Callable[[int], None], None]:
    """Measure by tenths; yields what is to be told of the steps done."""
    began, before = time.perf_counter(), 0

    def reached(step: int) -> None:
        nonlocal began, before
        if step * _TENTHS // steps <= before * _TENTHS // steps:
            return
        now = time.perf_counter()
        course.ms.append(1000 * (now - began) / (step - before))
        course.memory.append(_resident(worker))
        console.print(f"{step:,} {course.what}s: {course.ms[-1]:.1f} ms each, {course.memory[-1] / 2**20:.0f} MiB")
        began, before = now, step

    yield reached
    if before < steps:
        reached(steps)


def _resident(pid: int) -> int:
    """Return the resident memory of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


async def _links(client: Client, workflow_id: str) -> int:
    """Return how many Temporal runs a run took."""
    links, run_id = 0, None
    while run_id != "":
        links += 1
        handle = client.get_workflow_handle(workflow_id, run_id=run_id)
        first = await anext(handle.fetch_history_events(page_size=1))
        run_id = first.workflow_execution_started_event_attributes.continued_execution_run_id
    return links


def _show(console: Console, courses: list[Course]) -> None:
    table = Table("", "steps", "Temporal runs", "ms a step", "MiB", "time", "memory", "")
    for course in courses:
        of_time, of_memory = course.ratios
        table.add_row(
            f"{course.what}s",
            "all right" if course.right else "LOST",
            str(course.links),
            f"{course.ms[0]:.1f} ... {course.ms[-1]:.1f}",
            f"{course.memory[0] / 2**20:.0f} ... {course.memory[-1] / 2**20:.0f}",
            f"{of_time:.2f}",
            f"{of_memory:.2f}",
            "PASS" if course.passed else "MISSED",
        )
    console.print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description="Run for very long.")
    parser.add_argument("--supersteps", type=int, default=20_000, help="of the run (default: 20,000)")
    parser.add_argument("--inputs", type=int, default=5_000, help="of the session (default: 5,000)")
    parser.add_argument("--after", type=int, help="history events of a Temporal run (default: as Temporal suggests)")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    process.run(main(given.supersteps, given.inputs, given.after))
