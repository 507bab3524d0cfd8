"""The README's code blocks, run as a reader would run them: saved to files, and typed into a shell."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from temporal_adapter import DurableWorkflow

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```(?:python|bash) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {match["name"]: match["code"] for match in BLOCK.finditer(README.read_text())}


class Reader:
    """A reader's shell, in a folder that holds the README's files."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        self.environment = {**os.environ, "TEMPORAL_ADDRESS": server, "PATH": path, "PYTHONPATH": str(README.parent)}

    async def start(self, command: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_shell(
            f"exec {command}",
            cwd=self.folder,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def run(self, command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "bash", "-euc", command, cwd=self.folder, env=self.environment, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0, output.decode()
        return output.decode()


@pytest.fixture
async def reader(tmp_path: Path, server: str) -> Reader:
    for name, code in BLOCKS.items():
        if name.endswith(".py"):
            (tmp_path / name).write_text(code)
    return Reader(tmp_path, server)


@pytest.fixture
async def worker(reader: Reader) -> AsyncIterator[None]:
    process = await reader.start(BLOCKS["worker"])
    yield
    process.terminate()
    await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode == 0


def test_every_block_is_run_here() -> None:
    # Given the blocks that this module knows
    known = {"greeting.py", "server", "worker", "client.py", "later.py", "cli", "worker.py", "debug.py"}
    # Then the README has these and no unnamed one
    assert set(BLOCKS) == known
    assert README.read_text().count("```") == 2 * len(known)


@pytest.mark.usefixtures("worker")
async def test_the_python_client_starts_answers_and_finishes_a_run(reader: Reader) -> None:
    output = await reader.run("python client.py")
    assert output.splitlines()[-1] == "['Hello!']"
    # And each checkpoint opens in MAF's in-process runner, without adding to the store
    for place, shown in enumerate(["Shall we greet Ada?", "Shall we greet Ada?", "Hello!", ""] * 2):
        assert shown in await reader.run(f"python debug.py greet-ada {place % 4}")


@pytest.mark.usefixtures("worker")
async def test_the_cli_starts_answers_and_finishes_a_run(reader: Reader, client: Client) -> None:
    start, query, update, result = re.split(r"\n(?=temporal )", BLOCKS["cli"].strip())
    # When a run is started with the CLI
    await reader.run(start)
    await _until_asked(client, "greet-bob")
    answer = await reader.run(f"{query} --output json")
    pending = json.loads(answer)["queryResult"][0][0]
    assert pending["data"] == "Shall we greet Bob?"
    # And answered wrongly from another process, which is told so
    later = await reader.run("python later.py")
    assert "pending_requests=1" in later
    assert "must be bool" in later
    # And answered with the id that the query showed
    await reader.run(update.replace("<id of the request>", pending["request_id"]))
    # Then its result is readable JSON
    assert '"Hello!"' in await reader.run(result)


async def test_a_worker_of_ones_own_needs_only_the_plugin(reader: Reader, client: Client) -> None:
    process = await reader.start("python worker.py")
    await client.start_workflow("greeting", "Eve", id="greet-eve", task_queue="greetings")
    await _until_asked(client, "greet-eve")
    process.terminate()
    await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode == 0


async def _until_asked(client: Client, workflow_id: str) -> None:
    run = DurableWorkflow(client, "greeting", task_queue="greetings").get_run(workflow_id)
    async for event in run.events():
        if event.type == "request_info":
            return


async def test_the_server_block_is_a_command_of_the_temporal_cli(reader: Reader) -> None:
    assert "start-dev" in await reader.run(f"{BLOCKS['server'].strip()} --help")
