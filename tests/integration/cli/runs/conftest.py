"""A worker that serves small graphs, and the command line as it is typed, for tests of the commands about runs.

Commands run in this very process, which is quick: all that is left out of them is the end of the process. Each test has
a task queue of its own, since lists are of all runs of the server.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
from agent_framework import Workflow
from temporalio.client import Client

from temporal_adapter import DurableWorkflow
from temporal_adapter.cli import output
from temporal_adapter.cli.app import app
from temporal_adapter.cli.running import told
from temporal_adapter.client.task_queues import pollers
from tests.support import commands
from tests.support.graphs import ask_twice
from tests.support.running import serving, until


@dataclass(frozen=True)
class Desk:
    """Where somebody types commands, beside a server."""

    env: Mapping[str, str]

    async def type(self, *words: str, stdin: str = "") -> commands.Ended:
        """Run `temporal-adapter` with its outputs piped."""
        out, err = io.StringIO(), io.StringIO()
        begun: list[Coroutine[Any, Any, Any]] = []

        def begin(command: Coroutine[Any, Any, Any]) -> int:
            begun.append(command)
            return 0

        output.console.cache_clear()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.dict("os.environ", self.env),
            mock.patch("sys.stdin", io.StringIO(stdin)),
            mock.patch("temporal_adapter.cli.options.exit_code", begin),  # it would begin an event loop
        ):
            code = _parsed(words)
            for command in begun:
                code = await told(command)
        output.console.cache_clear()
        return commands.Ended(code, out.getvalue(), err.getvalue())

    async def json(self, *words: str, code: int = 0) -> Any:
        """Run `temporal-adapter ... --json`; return the document."""
        ended = await self.type(*words, "--json")
        assert ended.code == code, ended
        return json.loads(ended.out)


def _parsed(words: tuple[str, ...]) -> int:
    try:
        app(args=list(words), prog_name="temporal-adapter")
    except SystemExit as exit:
        return int(exit.code or 0)
    raise AssertionError("Typer always exits")


@pytest.fixture
def desk(server: str, client: Client) -> Desk:
    """A desk at the session's server."""
    return Desk(
        {"TEMPORAL_ADDRESS": server, "TEMPORAL_NAMESPACE": client.namespace, "TEMPORAL_CONFIG_FILE": "/dev/null"}
    )


Serve = Callable[..., AbstractAsyncContextManager[DurableWorkflow]]


@pytest.fixture
def serve(client: Client, task_queue: str) -> Serve:
    """Starts a worker on the test's task queue: of `ask-twice`, or another graph."""

    @asynccontextmanager
    async def started(factory: Callable[[], Workflow] = ask_twice, **options: Any) -> AsyncIterator[DurableWorkflow]:
        async with serving(client, task_queue, factory, **options) as durable:
            await until(lambda: pollers(client, task_queue))
            yield durable

    return started
