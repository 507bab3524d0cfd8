"""The pytest plugin: a Temporal server, a client and workers as fixtures. pytest loads it by its entry point.

It is loaded in every project that has this package installed, so nothing but pytest is imported before a fixture is
used. The fixtures are not async themselves: they serve tests of any asyncio plugin, and in any event loop.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from temporalio.client import Client
    from temporalio.testing import WorkflowEnvironment

    from temporal_adapter.client import DurableWorkflow

_OPTION = "--workflow-environment"
_KEY = "workflow_environment"

# A process that ends right after it used Temporal's SDK aborts now and then (see `temporal_adapter.process`).
_PAUSE_SECONDS = 0.1


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, None, None]:
    """Add the option, once all conftests are known: one of the same name is common there, and means the same."""
    yield
    if not hasattr(parser.parse_known_args([]), _KEY):
        parser.getgroup("temporal", "Temporal").addoption(
            _OPTION,
            dest=_KEY,
            default="local",
            metavar="local|time-skipping|HOST:PORT",
            help="Server of the fixture temporal_env: a dev server (default), one that skips time, or one that runs.",
        )


def pytest_unconfigure() -> None:
    """Leave threads of the SDK a moment before the interpreter ends."""
    if "temporalio.bridge" in sys.modules:
        time.sleep(_PAUSE_SECONDS)


@pytest.fixture(scope="session")
def temporal_env(request: pytest.FixtureRequest) -> Iterator[WorkflowEnvironment]:
    """The session's Temporal server, as Temporal's `WorkflowEnvironment`: see `--workflow-environment`."""
    from .background import in_background
    from .server import NoServer, workflow_environment

    with ExitStack() as stack:
        try:
            kind = str(request.config.getoption(_KEY))
            environment = stack.enter_context(in_background(workflow_environment(kind)))
        except (NoServer, ValueError) as error:
            pytest.fail(f"{_OPTION}: {error}", pytrace=False)
        yield environment


@pytest.fixture(scope="session")
def temporal_client(temporal_env: WorkflowEnvironment) -> Client:
    """A client of the session's server. Override it where yours has a data converter or interceptors."""
    return temporal_env.client


@pytest.fixture(scope="session")
def agent_worker(temporal_client: Client) -> Callable[..., AbstractAsyncContextManager[list[DurableWorkflow]]]:
    """Makes workers: `async with agent_worker(workflows=[build]) as [workflow]:` (`testing.agent_worker`)."""
    from .serving import agent_worker

    def made(workflows: Any, **options: Any) -> AbstractAsyncContextManager[list[DurableWorkflow]]:
        return agent_worker(temporal_client, workflows, **options)

    return made
