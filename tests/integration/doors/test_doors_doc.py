"""docs/doors.md, run as a reader would: with the `temporal` command and a bare SDK, and what the page shows.

One story, in the order of the page: a whole approval, and all else that services do, without a line of this package.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client

from temporal_adapter import DurableWorkflow
from temporal_adapter.doors.people import SIGNALS
from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE
from tests.support import commands
from tests.support.running import pending, serving, until
from workers.dev_server import dev_server

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "doors.md").read_text()
BLOCK = re.compile(r"^```(?P<kind>\w+) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = {one["name"]: one["code"] for one in BLOCK.finditer(PAGE) if one["kind"] == "bash"}
SHOWN = {one["name"]: one["code"] for one in BLOCK.finditer(PAGE) if one["kind"] in ("json", "text")}
PYTHON = {one["name"]: one["code"] for one in BLOCK.finditer(PAGE) if one["kind"] == "python"}
GREETING = next(one["code"] for one in BLOCK.finditer((ROOT / "README.md").read_text()) if one["name"] == "greeting.py")

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")

OF_MAF_CLIENTS = {"requests", "recorded_responses", "turn"}
"""Queries that answer in the encoding of MAF's clients, or serve them: no doors."""


@dataclass(frozen=True)
class Reader:
    """A reader's shell, and the client that sees what came of it."""

    env: dict[str, str]
    folder: Path
    greeting: DurableWorkflow

    async def type(self, command: str) -> commands.Ended:
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-uc",
            command,
            cwd=self.folder,
            env=self.env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 60)
        return commands.Ended(process.returncode or 0, out.decode(), err.decode())

    async def block(self, name: str) -> str:
        """Run a block of the page; return what it printed."""
        ended = await self.type(TYPED[name])
        assert ended.code == 0, ended
        return ended.out

    async def shows(self, name: str) -> None:
        """Run a block of the page, which prints what the page shows."""
        assert _without_chance(await self.block(name)) == _without_chance(SHOWN[name])


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    """A reader beside a server of their own, whose workers have the README's workflow."""
    names: dict[str, Any] = {"__name__": "greeting"}
    exec(GREETING, names)
    async with dev_server(arguments=["--search-attribute", f"{PENDING_REQUESTS_ATTRIBUTE}=Int"]) as server:
        client = await Client.connect(server.address)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        env = commands.environment(TEMPORAL_ADDRESS=server.address, PATH=path)
        async with serving(client, "greetings", names["build"], search_attributes=True) as greeting:
            yield Reader(env, tmp_path, greeting)


def test_every_block_is_run_here() -> None:
    in_order = ["start", "pending", "refused", "respond", "outputs", "status", "audit", "signal", "inbox", "session"]
    assert list(TYPED) == [*in_order, "close"]
    assert set(SHOWN) == {"pending", "refused", "respond", "outputs", "status", "session"}
    assert set(PYTHON) == {"service.py"}
    assert PAGE.count("```") == 2 * (len(TYPED) + len(SHOWN) + len(PYTHON))


async def test_a_whole_approval_goes_by_the_temporal_cli_alone(reader: Reader) -> None:
    await reader.block("start")
    bob = reader.greeting.get_run("greet-bob")
    [request] = await pending(bob)
    await reader.shows("pending")

    reader.env["REQUEST"] = request.request_id
    refused = await reader.type(TYPED["refused"])
    assert refused.code == 1
    assert _without_chance(refused.err) == _without_chance(SHOWN["refused"])
    await reader.shows("respond")

    result, _, outputs = (await reader.block("outputs")).partition('{\n  "queryResult"')
    assert '"outputs":["Hello!"]' in result
    assert _without_chance('{\n  "queryResult"' + outputs) == _without_chance(SHOWN["outputs"])
    await reader.shows("status")
    audit = await reader.block("audit")
    assert '"comment": "He is nice."' in audit
    assert '"state": "completed"' in audit
    accepted, *_ = [one for one in await bob.responses() if one.outcome == "accepted"]
    assert (accepted.responder, accepted.comment) == ("Ada", "He is nice.")


async def test_once_the_run_is_over_an_answer_is_told_again_by_its_update_id_or_by_query(reader: Reader) -> None:
    await reader.block("start")
    bob = reader.greeting.get_run("greet-bob")
    [request] = await pending(bob)
    reader.env["REQUEST"] = request.request_id
    once = TYPED["respond"].strip().replace("--output json", "--output json --update-id once")
    first = await reader.type(once)
    await bob.result()

    again = await reader.type(once)
    another = await reader.type(once.replace("once", "again"))

    assert first.code == 0
    assert json.loads(again.out)["result"] == json.loads(first.out)["result"]
    assert another.code == 1
    assert "workflow execution already completed" in another.err
    audit = await reader.block("audit")
    assert audit.count('"outcome": "accepted"') == 1


async def test_a_service_needs_nothing_but_the_sdk(reader: Reader) -> None:
    (reader.folder / "service.py").write_text(PYTHON["service.py"])

    ended = await reader.type("python service.py")

    assert (ended.out.splitlines(), ended.err) == (["ResponseRefused", "True", "['Hello!']"], "")
    assert "temporal_adapter" not in PYTHON["service.py"]


async def test_what_is_sent_as_a_signal_is_told_by_query(reader: Reader) -> None:
    start, signal, cancel = re.split(r"\n(?=temporal )", TYPED["signal"].strip())
    await reader.type(start)
    cleo = reader.greeting.get_run("greet-cleo")
    await pending(cleo)

    assert (await reader.type(signal)).code == 0

    async def told() -> bool:
        return bool(await cleo.responses())

    await until(told)
    [record] = await cleo.responses()
    assert (record.request_id, record.outcome, record.responder) == ("no-such-request", "refused", "Ada")

    async def listed() -> bool:
        return "greet-cleo" in await reader.block("inbox")

    await until(listed)
    assert (await reader.type(cancel)).code == 0


async def test_a_session_takes_inputs_by_update(reader: Reader) -> None:
    start, run = re.split(r"\n(?=temporal )", TYPED["session"].strip())
    await reader.type(start)

    answered = await reader.type(run)
    closed = await reader.type(TYPED["close"])

    assert _without_chance(answered.out) == _without_chance(SHOWN["session"])
    assert closed.code == 0


async def test_the_page_lists_every_door(reader: Reader) -> None:
    await reader.block("start")
    run = reader.greeting.get_run("greet-bob")
    await pending(run)
    told: WorkflowMetadata = await run.handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)

    queries = {one.name for one in told.definition.query_definitions if not one.name.startswith("__")}
    updates = {one.name for one in told.definition.update_definitions}
    assert queries - OF_MAF_CLIENTS == _rows("query")
    assert updates == _rows("update") | {"run", "follow", "reset", "close"}
    # All signals come through one handler, which has no name to tell.
    assert set(SIGNALS) == _rows("update") | {"continue_as_new"}
    assert all(f"`{name}`" in PAGE for name in (*updates, *SIGNALS))


def _rows(heading: str) -> set[str]:
    table = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


def _without_chance(text: str) -> str:
    """Return a text with ids numbered as they come up, and without times."""
    known: dict[str, str] = {}
    numbered = UUID.sub(lambda match: known.setdefault(match[0], f"id-{len(known)}"), text)
    return TIME.sub("TIME", numbered).strip()


def test_the_json_that_the_page_shows_is_json() -> None:
    for name in ("pending", "respond", "outputs", "session"):
        json.loads(SHOWN[name])
