"""Serves an ASGI application by uvicorn until the process is told to stop. What it serves is no concern of this."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Generator
from typing import Any

import uvicorn

from .running import CliError, ExitCode

_GRACE_SECONDS = 5


class _Server(uvicorn.Server):
    """A server that says when it serves, and leaves signals to the process, which cancels whoever serves."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def serve(application: Any, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until cancelled, then end the requests that are under way.

    Args:
        application: An ASGI application.
        host: The address to listen at.
        port: 0 takes a free one.
        ready: Called with the address for browsers, such as `http://127.0.0.1:8240`, once it is served.

    Raises:
        CliError: The address cannot be had.
    """
    listening = _listening(host, port)
    config = uvicorn.Config(
        application,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _Server(config, lambda: ready(_address(host, listening)))
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise CliError(ExitCode.UNREACHABLE, f"{host}:{port} cannot be listened at: {error.strerror}.") from error


def _address(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).version == 6:
            host = f"[{host}]"
    return f"http://{host}:{port}"
