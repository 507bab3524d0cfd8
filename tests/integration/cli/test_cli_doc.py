"""docs/cli.md, run as a reader would: on the README's graph, with the output that the page shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from temporal_adapter import BlobStore
from tests.support import commands
from tests.support.running import pending, serving

from .conftest import Shell

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cli.md").read_text()
BLOCK = re.compile(r"^```(?P<kind>python|bash|text) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = {match["name"]: match["code"] for match in BLOCK.finditer(PAGE) if match["kind"] == "bash"}
SHOWN = {match["name"]: match["code"] for match in BLOCK.finditer(PAGE) if match["kind"] == "text"}
GREETING = next(one["code"] for one in BLOCK.finditer((ROOT / "README.md").read_text()) if one["name"] == "greeting.py")

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")

# The script that `pip install` would make.
SCRIPT = f'#!/bin/sh\nexec {sys.executable} -m temporal_adapter.cli "$@"\n'


@dataclass(frozen=True)
class Reader:
    """A reader's shell, in a folder that holds the README's graph and checkpoints."""

    folder: Path
    env: dict[str, str]

    def run(self, command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-uc", command],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stdout

    def json(self, command: str) -> Any:
        return json.loads(self.run(f"temporal-adapter checkpoint {command} --json")[1])


@pytest.fixture(scope="module")
async def reader(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("reader")
    (folder / "greeting.py").write_text(GREETING)
    names: dict[str, Any] = {"__name__": "greeting"}
    exec(GREETING, names)
    async with serving(client, "cli-doc", names["build"], store=BlobStore(folder / "checkpoints")) as greeting:
        run = await greeting.start("Ada", id="greet-ada")
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        await run.result()
    (folder / "bin").mkdir()
    (folder / "bin" / "temporal-adapter").write_text(SCRIPT)
    (folder / "bin" / "temporal-adapter").chmod(0o755)
    env = commands.environment(
        TEMPORAL_ADAPTER_CHECKPOINT_STORE="./checkpoints",
        TEMPORAL_NAMESPACE=client.namespace,
        PATH=os.pathsep.join([str(folder / "bin"), os.environ.get("PATH", os.defpath)]),
    )
    reader = Reader(folder, env)
    _, pause, answered, _ = reader.json("list greet-ada")["checkpoints"]
    env.update(PAUSE=pause["checkpoint_id"], ANSWERED=answered["checkpoint_id"], REQUEST=pause["pending_requests"][0])
    return reader


def test_every_block_is_run_here() -> None:
    assert set(TYPED) == set(SHOWN) == {"list", "show", "diff", "graph", "debug"}
    assert PAGE.count("```") == 2 * (len(TYPED) + len(SHOWN))


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_command_prints_what_the_page_shows(reader: Reader, name: str) -> None:
    code, printed = reader.run(TYPED[name])

    assert code == (1 if name == "diff" else 0)
    assert _without_chance(printed) == _without_chance(SHOWN[name])


def _without_chance(text: str) -> list[str]:
    """Return lines with ids numbered as they come up, and without times and the width of columns."""
    known: dict[str, str] = {}
    numbered = UUID.sub(lambda match: known.setdefault(match[0], f"id-{len(known)}"), text)
    return [" ".join(TIME.sub("TIME", line).split()) for line in numbered.splitlines()]


def documented(row: str) -> set[str]:
    """Return the keys in a row of the table of JSON keys."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {row} |"))
    return set(re.findall(r"`(\w+)`", line.split("|")[2]))


def test_the_page_lists_the_keys_of_the_json(reader: Reader) -> None:
    overview, listed = reader.json("list"), reader.json("list greet-ada")
    shown, changed = reader.json("show $PAUSE"), reader.json("diff $PAUSE $ANSWERED")
    drawn, run = reader.json("graph greet-ada"), reader.json("debug $ANSWERED --workflow greeting:build")

    [workflow] = overview["workflows"]
    assert overview.keys() | workflow.keys() == documented("`list`")
    assert listed.keys() | {"head"} == documented("`list WORKFLOW_ID`")
    kinds = {"entry", "superstep", "response", "fork"}
    assert workflow["latest"].keys() | kinds == documented("a checkpoint in a list")
    assert listed["checkpoints"][0].keys() == workflow["latest"].keys() | {"head"}
    assert shown.keys() | shown["executors"]["greeter"].keys() == documented("`show`")
    assert shown["pending_requests"].popitem()[1].keys() == documented("a pending request of `show`")
    assert changed.keys() == documented("`diff`")
    actions = {"added", "removed", "changed", "asked", "answered"}
    assert changed["changes"][0].keys() | actions == documented("an entry of `changes`")
    assert changed["changes"][0]["after"].keys() | {"standard", "response"} == documented("a message")
    assert drawn.keys() | drawn["checkpoints"][0].keys() == documented("`graph`")
    assert run.keys() | {"type", "message"} == documented("`debug`")
    of_some = {"request_id", "response_type", "error"}
    assert {key for event in run["events"] for key in event} | of_some == documented("an entry of `events`")


def test_the_page_lists_the_exit_codes(shell: Shell) -> None:
    codes = re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)

    in_help = re.findall(r"^    (\d+)  ", shell.run("--help").out, re.MULTILINE)

    assert codes == in_help


def test_the_page_lists_the_options(shell: Shell) -> None:
    table = PAGE[PAGE.index("## Options of all commands") : PAGE.index("## Exit codes")]

    for line in shell.run("checkpoint", "graph", "--help").out.splitlines():
        for option in re.findall(r"^  (--[a-z-]+)", line):
            assert f"`{option}" in table
