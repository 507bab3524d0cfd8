"""What the tests of drop-ins share: a worker in this process, and one in a process of its own, to be killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from temporalio.client import Client

from temporal_adapter.testing.on_temporal import Serving, worker
from tests.integration.restoring.test_sessions import ledger
from tests.support.desk_worker import DeskWorker
from tests.support.support_desk import approving, desk


@pytest.fixture(scope="package")
async def serving(client: Client) -> AsyncIterator[Serving]:
    """A worker that has the graphs."""
    async with worker(client, [desk, approving, ledger]) as started:
        yield started


@pytest.fixture(scope="package")
async def worker_process(client: Client, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DeskWorker]:
    one = DeskWorker(client, f"desk-{uuid4().hex[:8]}", tmp_path_factory.mktemp("desk"))
    yield one
    await one.stop()


@pytest.fixture
async def desk_worker(worker_process: DeskWorker) -> DeskWorker:
    """A worker process that has `desk`; it runs when a test begins."""
    await worker_process.start()
    return worker_process
