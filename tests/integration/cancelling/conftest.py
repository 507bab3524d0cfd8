"""A run that waits for a response, for tests that leave it so."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from temporal_adapter import DurableRun
from tests.support import releasing
from tests.support.running import pending, serving


@pytest.fixture(scope="module")
async def waiting(client: Client) -> AsyncIterator[DurableRun]:
    """A run that waits for the response to request `ask-0`."""
    async with serving(client, f"waiting-{uuid.uuid4().hex[:8]}", releasing.one) as durable:
        run = await durable.start(1)
        await pending(run)
        yield run
        await run.handle.terminate("the tests are done")
