"""Stores to test against, and checkpoints to put in them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from temporal_adapter import wire
from temporal_adapter.store import BlobStore, CheckpointStore


class MakeRecord(Protocol):
    def __call__(
        self,
        checkpoint_id: str,
        *,
        parent: str | None = None,
        base: wire.Base | None = None,
        changes: wire.Changes | None = None,
        timestamp: str = "2026-01-01T00:00:00+00:00",
    ) -> wire.CheckpointRecord: ...


@pytest.fixture(params=["local", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "store" if request.param == "local" else "memory://")


@pytest.fixture
def checkpoints(blobs: BlobStore) -> CheckpointStore:
    """A store that always reads the object, so that a test sees what another process would see."""
    return CheckpointStore(blobs, "default", cache_bytes=0)


@pytest.fixture
def graph() -> wire.Graph:
    return wire.Graph(
        name="expense", signature="5167", start_executor_id="intake", executors=["intake", "audit"], max_iterations=100
    )


@pytest.fixture
def make_record() -> MakeRecord:
    def record(
        checkpoint_id: str,
        *,
        parent: str | None = None,
        base: wire.Base | None = None,
        changes: wire.Changes | None = None,
        timestamp: str = "2026-01-01T00:00:00+00:00",
    ) -> wire.CheckpointRecord:
        header = wire.CheckpointHeader(
            checkpoint_id=checkpoint_id,
            previous_checkpoint_id=parent,
            iteration=0,
            timestamp=timestamp,
            kind="superstep",
        )
        return wire.CheckpointRecord(
            header=header, snapshot=wire.Snapshot(base=base, changes=changes or wire.Changes())
        )

    return record
