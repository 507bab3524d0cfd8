"""`python -m bench.checkpoint_bytes`: what a superstep writes, ours beside MAF's `FileCheckpointStorage`.

Two workloads, each with a local directory as the store. In `keys`, shared state has so many keys of 100 bytes, and each
superstep changes one of them. In `conversation`, one value is a list of messages of a kilobyte, so many bytes when the
measurement starts, and each superstep appends one. What is counted are bytes of contents and objects, as they are
handed to the file system; time is not measured.

Ours is written as a run on Temporal writes it: what changed since the checkpoint before, through the same `Spill`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_framework import FileCheckpointStorage, WorkflowCheckpoint
from rich.console import Console
from rich.table import Table

from temporal_adapter import wire
from temporal_adapter.store import RECORDED_RANK, BlobStore, CheckpointStore, Spill, ValueStore

KEYS = (10, 100, 1_000, 10_000)
CONVERSATIONS = (10_000, 50_000, 500_000)
SUPERSTEPS = 100

_VALUE_BYTES = 100
_MESSAGE_BYTES = 1_000
_NAMESPACE = "default"
_GRAPH = wire.Graph(
    name="bench", signature="bench", start_executor_id="step", executors=["step"], max_iterations=1_000_000
)

State = dict[str, Any]


@dataclass(frozen=True)
class Cost:
    """What a superstep writes, on average."""

    bytes: float
    objects: float


@dataclass(frozen=True)
class Row:
    """One workload at one size, on both sides."""

    workload: str
    state_bytes: int
    ours: Cost
    maf: Cost

    @property
    def ratio(self) -> float:
        """How many times more MAF writes."""
        return self.maf.bytes / self.ours.bytes


class _CountingStore(BlobStore):
    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self.objects = 0
        self.bytes = 0

    async def _write(self, name: str, data: bytes, mode: Any) -> bool:
        written = await super()._write(name, data, mode)
        self.objects += written
        self.bytes += len(data) * written
        return written


def keys(count: int) -> Iterator[State]:
    """Yields the first state, then for each superstep what it changes: one key."""
    yield {f"key-{number}": f"{number:0{_VALUE_BYTES}}" for number in range(count)}
    superstep = 0
    while True:
        superstep += 1
        # 7919 is a prime: the keys that change are spread over all.
        yield {f"key-{superstep * 7919 % count}": f"{superstep:0{_VALUE_BYTES}}"}


def conversation(size: int) -> Iterator[State]:
    """Yields a conversation of so many bytes, then the same with one message more for each superstep."""
    messages = [_message(number) for number in range(size // _MESSAGE_BYTES)]
    while True:
        yield {"conversation": list(messages)}
        messages.append(_message(len(messages)))


def _message(number: int) -> dict[str, Any]:
    words = " ".join(f"word-{number}-{index}" for index in range(_MESSAGE_BYTES))
    message = {"role": "assistant" if number % 2 else "user", "text": ""}
    return {**message, "text": words[: _MESSAGE_BYTES - len(wire.to_bytes(message))]}


async def ours(workload: Iterator[State], supersteps: int) -> Cost:
    """Returns what a superstep writes to our blob store."""
    with tempfile.TemporaryDirectory() as directory:
        blobs = _CountingStore(directory)
        values, checkpoints = ValueStore(blobs, _NAMESPACE), CheckpointStore(blobs, _NAMESPACE)
        base: wire.Base | None = None
        for superstep in range(supersteps + 1):
            if superstep == 1:
                blobs.objects = blobs.bytes = 0
            spill = Spill(values)
            changes = {key: await spill.encode(value) for key, value in next(workload).items()}
            header = wire.CheckpointHeader(
                checkpoint_id=f"checkpoint-{superstep}",
                previous_checkpoint_id=base.checkpoint_id if base else None,
                iteration=superstep,
                timestamp="2026-01-01T00:00:00+00:00",
                kind="superstep",
            )
            snapshot = wire.Snapshot(base=base, changes=wire.Changes(state={**changes}))
            record = wire.CheckpointRecord(header=header, snapshot=snapshot)
            base = await checkpoints.commit(record, graph=_GRAPH, workflow_id="bench", rank=RECORDED_RANK)
        return Cost(blobs.bytes / supersteps, blobs.objects / supersteps)


async def maf(workload: Iterator[State], supersteps: int) -> Cost:
    """Returns what a superstep writes to MAF's file storage."""
    with tempfile.TemporaryDirectory() as directory:
        storage = FileCheckpointStorage(directory)
        state: State = next(workload)
        previous: str | None = None
        sizes: list[int] = []
        for superstep in range(1, supersteps + 1):
            state.update(next(workload))
            checkpoint = WorkflowCheckpoint(
                workflow_name="bench",
                graph_signature_hash="bench",
                previous_checkpoint_id=previous,
                state=state,
                iteration_count=superstep,
            )
            previous = await storage.save(checkpoint)
            file = Path(directory) / f"{previous}.json"
            sizes.append(file.stat().st_size)
            file.unlink()  # the largest workload would fill a disk
        return Cost(sum(sizes) / supersteps, objects=1)


async def compare(make: Callable[[int], Iterator[State]], size: int, supersteps: int) -> Row:
    """Measures both sides of a workload."""
    return Row(
        workload=f"{make.__name__}: {size:,}",
        state_bytes=len(wire.to_bytes(next(make(size)))),
        ours=await ours(make(size), supersteps),
        maf=await maf(make(size), supersteps),
    )


async def main(supersteps: int) -> None:
    console = Console()
    table = Table(title=f"Bytes written per superstep, average of {supersteps}")
    for heading in ("state", "bytes", "MAF", "ours", "our objects", "ratio"):
        table.add_column(heading, justify="left" if heading == "state" else "right", no_wrap=True)
    workloads = [(keys, size) for size in KEYS] + [(conversation, size) for size in CONVERSATIONS]
    for make, size in workloads:
        with console.status(f"{make.__name__}: {size:,}"):
            row = await compare(make, size, supersteps)
        table.add_row(
            row.workload,
            f"{row.state_bytes:,}",
            f"{row.maf.bytes:,.0f}",
            f"{row.ours.bytes:,.0f}",
            f"{row.ours.objects:.1f}",
            f"{row.ratio:,.1f}",
        )
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m bench.checkpoint_bytes", description="Bytes that a superstep writes, ours beside MAF's."
    )
    parser.add_argument("--supersteps", type=int, default=SUPERSTEPS, help=f"for each row (default: {SUPERSTEPS})")
    asyncio.run(main(parser.parse_args().supersteps))
