"""The storages under test: MAF's two, and `BlobCheckpointStorage` on every kind of blob store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from agent_framework import CheckpointStorage, FileCheckpointStorage, InMemoryCheckpointStorage, Workflow

from temporal_adapter import BlobCheckpointStorage, BlobStore
from temporal_adapter.values import type_name
from tests.conformance.samples import STORED, nothing
from tests.support.graphs import Order, Question
from tests.support.stores import KINDS, new_place

THEIRS = ["MAF's memory", "MAF's files"]
TYPES = [*STORED, Order, Question]


@dataclass(frozen=True)
class Subject:
    """A place for checkpoints.

    Attributes:
        open: Opens a storage there, for checkpoints of a workflow. All that are opened share what is there.
        pickles: Whether it keeps what pickling keeps, and no more.
    """

    open: Callable[[Callable[[], Workflow]], CheckpointStorage]
    pickles: bool = False


@pytest.fixture(params=[*THEIRS, *KINDS])
def subject(request: pytest.FixtureRequest) -> Subject:
    if request.param == "MAF's memory":
        memory = InMemoryCheckpointStorage()
        return Subject(lambda _: memory)
    if request.param == "MAF's files":
        path, allowed = request.getfixturevalue("tmp_path"), [type_name(cls) for cls in TYPES]
        return Subject(lambda _: FileCheckpointStorage(path, allowed_checkpoint_types=allowed), pickles=True)
    place = new_place(request.param, request)
    return Subject(lambda build: BlobCheckpointStorage(place.open(), workflow=build, types=STORED))


@pytest.fixture
def storage(subject: Subject) -> CheckpointStorage:
    """A storage for checkpoints that a test makes by hand."""
    return subject.open(nothing)


@pytest.fixture(params=["local", "memory"])
def blobs(request: pytest.FixtureRequest) -> BlobStore:
    """A blob store, for what only ours promises and no service has a part in."""
    return new_place(request.param, request).open()
