"""A Temporal dev server for conformance runs, when the user gives none. The real one; nothing is downloaded."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment


class NoServer(RuntimeError):
    """There is no `temporal` program to start a server with."""


@asynccontextmanager
async def local_server() -> AsyncGenerator[Client, None]:
    """A dev server in memory serves while the block is open, on a free port of this machine; yields a client of it.

    Raises:
        NoServer: There is no `temporal` program; says how to get it.
    """
    async with await WorkflowEnvironment.start_local(  # pyright: ignore[reportUnknownMemberType]
        dev_server_existing_path=_program(), dev_server_log_level="error"
    ) as environment:
        yield environment.client


def _program() -> str:
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = shutil.which("temporal", path=folders)
    if found is None:
        raise NoServer(
            "The program `temporal` is neither beside this Python nor on PATH. `pip install "
            "agent-framework-temporal[testing]` brings it; or give a client of a server that runs: client=..."
        )
    return found
