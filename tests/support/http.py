"""Web applications on loopback, as a person's browser reaches them."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn

from .commands import environment
from .scripts import REPOSITORY


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@asynccontextmanager
async def started(module: str, *arguments: str) -> AsyncIterator[httpx.AsyncClient]:
    """Run a module that serves the port it is given last, in a process of its own; yields a client of it."""
    port = str(free_port())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        port,
        cwd=REPOSITORY,
        env=environment(),
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        while b"Uvicorn running" not in (line := await process.stderr.readline()):
            assert line, "it has ended"
        rest = asyncio.create_task(process.stderr.read())
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            yield client
    finally:
        process.kill()
        await process.wait()
    await rest


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Serve an ASGI application on a free port while the block is open; yields a client of it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            while not server.started:
                assert not serving.done(), serving
                await asyncio.sleep(0.01)
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                yield client
        finally:
            server.should_exit = True
            await serving


async def events(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Post JSON; yield the server-sent events of the answer as they come."""
    async with client.stream("POST", path, json=body) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for line in answer.aiter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                yield json.loads(line.removeprefix("data: "))
