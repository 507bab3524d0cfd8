"""A store with checkpoints in it, as old as a test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from temporal_adapter import BlobStore, wire
from temporal_adapter.store import RECORDED_RANK, CheckpointStore, ValueStore

GRAPH = wire.Graph(name="flow", signature="s", start_executor_id="a", executors=["a"], max_iterations=1)


class Clock:
    """Runs ahead of the store's clock, so that all that is in the store is old."""

    def __init__(self, ahead: timedelta = timedelta(days=10)) -> None:
        self.ahead = ahead

    def __call__(self) -> datetime:
        return datetime.now(timezone.utc) + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Filled:
    """A namespace `default` that checkpoints are put in, without a cache: what is read is what is there."""

    def __init__(self, blobs: BlobStore) -> None:
        self.blobs = blobs
        self.checkpoints = CheckpointStore(blobs, "default", cache_bytes=0)
        self.values = ValueStore(blobs, "default", cache_bytes=0)

    async def put(
        self,
        id: str,
        parent: str | None = None,
        *,
        state: Mapping[str, Any] | None = None,
        workflow_id: str = "w",
        run_id: str = "",
        days_ago: float = 0,
        base: wire.Base | None = None,
    ) -> wire.Base:
        """Put a checkpoint in the store, whose state is by reference."""
        entries = {key: await self.value(value) for key, value in (state or {}).items()}
        header = wire.CheckpointHeader(
            checkpoint_id=id,
            previous_checkpoint_id=parent,
            iteration=0,
            timestamp=(datetime.now(timezone.utc) - timedelta(days=days_ago)).isoformat(),
            kind="superstep",
        )
        snapshot = wire.Snapshot(base=base, changes=wire.Changes(state=entries))
        record = wire.CheckpointRecord(header=header, snapshot=snapshot)
        return await self.checkpoints.commit(
            record, graph=GRAPH, workflow_id=workflow_id, rank=RECORDED_RANK, run_id=run_id
        )

    async def value(self, value: Any) -> wire.Value:
        """Put a value in the store; return its reference."""
        return wire.Value(ref=await self.values.put(value), size=len(wire.to_bytes(value)))

    async def ids(self) -> list[str]:
        """Return the ids of the checkpoints that a reader sees."""
        return await self.checkpoints.list_ids("flow")

    async def state_of(self, id: str) -> dict[str, Any]:
        """Return a checkpoint's state, every value read from the store."""
        manifest = await self.checkpoints.load_by_id(id)
        assert manifest is not None
        return {key: await self.values.resolve(value) for key, value in manifest.state.items()}

    async def names(self, part: str = "") -> Sequence[str]:
        """Return the names of the objects that have this part in them."""
        return [name for name in await self.blobs.list("") if part in name]


@pytest.fixture
def filled() -> Filled:
    return Filled(BlobStore("memory://"))
