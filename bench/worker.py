"""The worker process of one side: `python -m bench.worker SIDE ADDRESS TASK_QUEUE STEPS CHECKPOINT_STORE`.

It prints `ready` when it serves. SIGTERM stops it; then it prints the peak of its resident memory, in bytes, and ends.
Each side's code is imported only by its own worker: imports are a part of what is measured.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import cast

from temporalio.client import Client
from temporalio.worker import Worker

from bench.sides import Side
from temporal_adapter import process

READY = "ready"


async def main(side: Side, address: str, task_queue: str, steps: int, checkpoint_store: str) -> None:
    client = await Client.connect(address)
    try:
        async with _worker(client, side, task_queue, steps, checkpoint_store):
            print(READY, flush=True)
            await asyncio.Event().wait()
    finally:
        print(_peak_memory(), flush=True)


def _worker(client: Client, side: Side, task_queue: str, steps: int, checkpoint_store: str) -> Worker:
    if side == "maf":
        from bench import maf_chain

        return maf_chain.worker(client, task_queue, steps, checkpoint_store)
    from bench import hand_written

    return hand_written.worker(client, task_queue, steps)


def _peak_memory() -> int:
    """The peak of this process's resident memory, in bytes."""
    if sys.platform == "linux":  # getrusage's would count what the parent had when it started this process
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    _, side, address, task_queue, steps, checkpoint_store = sys.argv
    process.serve(main(cast("Side", side), address, task_queue, int(steps), checkpoint_store))
