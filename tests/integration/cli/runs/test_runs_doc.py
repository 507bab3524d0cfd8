"""The part of docs/cli.md that is about runs, run as a reader would: in its order, with the output that it shows."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from temporal_adapter import BlobStore
from temporal_adapter.client.task_queues import pollers
from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE
from tests.support import commands
from tests.support.running import serving, until
from workers.dev_server import dev_server

from .conftest import Desk, Serve

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "cli.md").read_text()
BLOCK = re.compile(r"^```(?P<kind>python|bash|text) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
OF_RUNS = [one for one in BLOCK.finditer(PAGE) if one["name"].startswith("runs-")]
TYPED = {one["name"]: one["code"] for one in OF_RUNS if one["kind"] == "bash"}
SHOWN = {one["name"]: one["code"] for one in OF_RUNS if one["kind"] == "text"}
GREETING = next(one["code"] for one in BLOCK.finditer((ROOT / "README.md").read_text()) if one["name"] == "greeting.py")

CHANCE = {
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}": "ID",
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ": "TIME",
    r"(?m)^\d+[dhms](\d+[hms])? ": "AGE ",
    r"(127\.0\.0\.1|localhost):\d+": "ADDRESS",
    r"version is [\d.]+": "VERSION",
    r"served by \S+": "WORKERS",
}


@pytest.fixture
async def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A reader in a folder with the README's graph, beside a server of their own and the README's worker."""
    (tmp_path / "greeting.py").write_text(GREETING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "greeting", raising=False)
    greeting = importlib.import_module("greeting")
    async with dev_server(arguments=["--search-attribute", f"{PENDING_REQUESTS_ATTRIBUTE}=Int"]) as server:
        client = await Client.connect(server.address)
        store = BlobStore(tmp_path / "checkpoints")
        async with serving(client, "greetings", greeting.build, store=store, search_attributes=True):
            await until(lambda: pollers(client, "greetings"))
            yield Desk({"TEMPORAL_ADDRESS": server.address, "TEMPORAL_CONFIG_FILE": "/dev/null"})
    sys.modules.pop("greeting", None)


async def typed(reader: Desk, block: str) -> commands.Ended:
    """Type a block of the page, line by line; return what its commands printed."""
    printed, code = "", 0
    for line in block.splitlines():
        program, *words = shlex.split(line)
        assert program == "temporal-adapter"
        away = words[-2:] == [">", "/dev/null"]
        ended = await reader.type(*(words[:-2] if away else words))
        printed += "" if away else ended.out
        code = code or ended.code
    return commands.Ended(code, printed, "")


def without_chance(text: str) -> list[str]:
    for pattern, name in CHANCE.items():
        text = re.sub(pattern, name, text)
    return [" ".join(line.split()) for line in text.splitlines()]


async def test_the_page_does_what_it_says(reader: Desk) -> None:
    assert TYPED.keys() == SHOWN.keys()
    for name, command in TYPED.items():
        ended = await typed(reader, command)
        if name == "runs-list":  # a run is in a list a moment after it started
            while len(ended.out.splitlines()) < 4:
                ended = await typed(reader, command)

        assert ended.code == 0, (name, ended)
        assert without_chance(ended.out) == without_chance(SHOWN[name]), name


def documented(row: str) -> set[str]:
    """Return the keys in a row of the table of JSON keys."""
    table = PAGE[PAGE.index("### JSON of the commands about runs") :]
    line = next(line for line in table.splitlines() if line.startswith(f"| {row} |"))
    return set(re.findall(r"`(\w+)`", line.split("|")[2]))


async def test_the_page_lists_the_keys_of_the_json(desk: Desk, serve: Serve, task_queue: str) -> None:
    to = ["--workflow", "ask-twice", "--task-queue", task_queue]
    async with serve():
        started = await desk.json("start", "1", *to, "--id", task_queue, "--wait")
        listed = await desk.json("list", "--task-queue", task_queue)
        inbox = await desk.json("pending", task_queue)
        once = await desk.json("watch", task_queue, "--once")
        left, right = started["pending_requests"]
        answered = await desk.json("respond", task_queue, left, "true")
        cancelled = await desk.json("cancel", task_queue, "--request", right)
        watched = await desk.type("watch", task_queue, "--json")
    checked = await desk.json("doctor", "--task-queue", task_queue, "--checkpoint-store", "/nowhere", code=1)

    *events, last = map(json.loads, watched.out.splitlines())
    assert started.keys() | {"type", "message"} == documented("`start`")
    assert listed.keys() == documented("`list`")
    assert all(run.keys() == documented("a run of `list`") for run in listed["runs"])
    assert inbox.keys() | {"workflow_id", "reason"} == documented("`pending`")
    assert inbox["requests"][0].keys() == documented("a request of `pending`") - {"pending_requests"}
    assert once.keys() == documented("`watch --once`")
    assert answered.keys() == documented("`respond`")
    assert cancelled.keys() == documented("`cancel`")
    assert last.keys() | {"ended", "start"} == documented("`watch`")
    assert {key for event in events for key in event} <= _of_debug()
    assert checked.keys() | checked["checks"][0].keys() | {"warning", "problem"} == documented("`doctor`")


def _of_debug() -> set[str]:
    line = next(line for line in PAGE.splitlines() if line.startswith("| an entry of `events` |"))
    return set(re.findall(r"`(\w+)`", line.split("|")[2]))
