"""What every test may use: one Temporal server a session, clients of it, and task queues of their own.

The server is a dev server in memory, or the one at TEMPORAL_ADDRESS (namespace TEMPORAL_NAMESPACE) when that is set.
Graphs, workers and assertions do not belong here.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from uuid import uuid4

import pytest
from hypothesis import settings
from temporalio.client import Client

from temporal_adapter import process
from tests.support import chaos, stores
from workers.dev_server import NAMESPACE, dev_server

# Other tests run beside each: how long an example takes says nothing.
settings.register_profile("beside others", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=400)  # of `make chaos`
settings.load_profile("beside others")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main() -> Generator[None, int, int]:
    """Ends the process with pytest's own exit status, once all reports are written (see `temporal_adapter.process`)."""
    process.end(int((yield)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tells the tests of `make chaos` from those of `make test`, before pytest selects by `-m`."""
    chaos.mark(items, whole=config.args_source is pytest.Config.ArgsSource.TESTPATHS)


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[str]:
    """The address (`host:port`) of the session's Temporal server."""
    given = os.environ.get("TEMPORAL_ADDRESS")
    if given:
        yield given
        return
    async with dev_server() as started:
        yield started.address


@pytest.fixture(scope="session")
def connect(server: str) -> Callable[..., Awaitable[Client]]:
    """Connects a new client to the session's server; takes the options of `Client.connect`, such as `plugins`."""

    async def connected(**options: object) -> Client:
        namespace = os.environ.get("TEMPORAL_NAMESPACE", NAMESPACE)
        return await Client.connect(server, **{"namespace": namespace, **options})  # type: ignore[arg-type]

    return connected


@pytest.fixture(scope="session")
async def client(connect: Callable[..., Awaitable[Client]]) -> Client:
    """A client of the session's server without plugins, shared by the tests: it has no state of its own."""
    return await connect()


@pytest.fixture(scope="session")
def s3_service() -> Iterator[stores.Service]:
    """The session's S3 API; see `stores.new_place` for a place in it that a test has for itself."""
    with stores.s3_service() as service:
        yield service


@pytest.fixture(scope="session")
def azure_service() -> Iterator[stores.Service]:
    """The session's Azure Blob."""
    with stores.azure_service() as service:
        yield service


@pytest.fixture
def task_queue(request: pytest.FixtureRequest) -> str:
    """A task queue name that no other test uses, readable in the Temporal UI."""
    name = re.sub(r"[^A-Za-z0-9_]+", "-", request.node.name)[:80]
    return f"{name}-{uuid4().hex[:8]}"
