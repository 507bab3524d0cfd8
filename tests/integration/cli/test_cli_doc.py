"""docs/cli.md, run as a reader would: on the README's graph, with the output that the page shows."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

import pytest
from temporalio.client import Client

from temporal_adapter import BlobStore, DurableRun, DurableWorkflow
from temporal_adapter.recovery import Adoption, Difference, LostValue, NotRebuilt, Rebuilt, RebuiltRun, Verified
from temporal_adapter.recovery.reports import AdoptState, DifferenceKind
from temporal_adapter.store import CheckpointStore
from tests.support import commands
from tests.support.running import pending, serving
from workers.dev_server import dev_server

from .conftest import Shell

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cli.md").read_text()
BLOCK = re.compile(r"^```(?P<kind>python|bash|text) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = {match["name"]: match["code"] for match in BLOCK.finditer(PAGE) if match["kind"] == "bash"}
SHOWN = {match["name"]: match["code"] for match in BLOCK.finditer(PAGE) if match["kind"] == "text"}
GREETING = next(one["code"] for one in BLOCK.finditer((ROOT / "README.md").read_text()) if one["name"] == "greeting.py")

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+[\d:]+)")  # the last may be cut

LOOKING = ("list", "show", "diff", "graph", "debug", "verify", "rebuild")
GOING_ON = ("resume", "replay", "fork")

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
async def theirs(client: Client) -> AsyncIterator[Client]:
    """A client of the reader's own server, where workflow ids are theirs alone."""
    async with dev_server(arguments=["--namespace", client.namespace]) as server:
        yield await Client.connect(server.address, namespace=client.namespace)


@pytest.fixture(scope="module")
async def made(theirs: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the README leaves it."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "greeting.py").write_text(GREETING)
    async with _worker(theirs, folder) as greeting:
        run = await greeting.start("Ada", id="greet-ada")
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        await run.result()
    (folder / "bin").mkdir()
    (folder / "bin" / "temporal-adapter").write_text(SCRIPT)
    (folder / "bin" / "temporal-adapter").chmod(0o755)
    return folder


@pytest.fixture(scope="module")
async def first(theirs: Client, made: Path) -> dict[str, str]:
    """The variables that the page names."""
    checkpoints = CheckpointStore(BlobStore(made / "checkpoints"), theirs.namespace)
    entry, pause, answered, _ = [one.header.checkpoint_id for one in await checkpoints.headers("greeting", "greet-ada")]
    manifest = await checkpoints.load_by_id(pause)
    assert manifest is not None
    return {"ENTRY": entry, "PAUSE": pause, "ANSWERED": answered, "REQUEST": next(iter(manifest.requests))}


@pytest.fixture
def reader(theirs: Client, made: Path, first: dict[str, str], tmp_path: Path) -> Reader:
    """A reader with a copy of that folder, which commands may change."""
    folder = Path(shutil.copytree(made, tmp_path / "reader"))
    env = commands.environment(
        **first,
        TEMPORAL_ADAPTER_CHECKPOINT_STORE="./checkpoints",
        TEMPORAL_ADDRESS=theirs.service_client.config.target_host,
        TEMPORAL_NAMESPACE=theirs.namespace,
        PATH=os.pathsep.join([str(folder / "bin"), os.environ.get("PATH", os.defpath)]),
    )
    return Reader(folder, env)


def _worker(client: Client, folder: Path) -> AbstractAsyncContextManager[DurableWorkflow]:
    names: dict[str, Any] = {"__name__": "greeting"}
    exec(GREETING, names)
    return serving(client, "greetings", names["build"], store=BlobStore(folder / "checkpoints"))


def test_every_block_is_run_here() -> None:
    of_runs = {name for name in TYPED if name.startswith("runs-")}  # `runs/test_runs_doc.py` runs these
    assert set(TYPED) == set(SHOWN) == {*LOOKING, *GOING_ON, "adopt", *of_runs}
    assert PAGE.count("```") == 2 * (len(TYPED) + len(SHOWN))


@pytest.mark.parametrize("name", LOOKING)
def test_a_command_prints_what_the_page_shows(reader: Reader, name: str) -> None:
    code, printed = reader.run(TYPED[name])

    assert code == (1 if name == "diff" else 0)
    assert _without_chance(printed) == _without_chance(SHOWN[name])


@pytest.mark.parametrize("name", GOING_ON)
async def test_a_command_that_goes_on_prints_what_the_page_shows(theirs: Client, reader: Reader, name: str) -> None:
    async with _worker(theirs, reader.folder) as greeting:
        if name == "resume":
            await (await _greet_eve(greeting)).handle.terminate()
        code, printed = await asyncio.to_thread(reader.run, TYPED[name])
        if name == "resume":
            await greeting.get_run("greet-eve").handle.terminate()

    assert code == 0
    assert _without_chance(printed) == _without_chance(SHOWN[name])


async def test_adopting_prints_what_the_page_shows(theirs: Client, reader: Reader, server: str) -> None:
    async with _worker(theirs, reader.folder) as greeting:
        run = await _greet_eve(greeting)
    reader.env["TEMPORAL_ADDRESS"] = server  # which knows nothing of it

    code, printed = reader.run(TYPED["adopt"])

    await run.handle.terminate()
    assert code == 0
    assert _without_chance(printed) == _without_chance(SHOWN["adopt"])


async def _greet_eve(greeting: DurableWorkflow) -> DurableRun:
    run = await greeting.start("Eve", id="greet-eve")
    await pending(run)
    return run


def _without_chance(text: str) -> list[str]:
    """Return lines with ids numbered as they come up, and without times and the width of columns."""
    known: dict[str, str] = {}
    numbered = UUID.sub(lambda match: known.setdefault(match[0], f"id-{len(known)}"), text)
    return [" ".join(TIME.sub("TIME", line).split()) for line in numbered.splitlines()]


def documented(row: str) -> set[str]:
    """Return the keys in a row of the table of JSON keys."""
    table = PAGE[PAGE.index("## JSON") :]
    line = next(line for line in table.splitlines() if line.startswith(f"| {row} |"))
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
    [message] = [one["after"] for one in changed["changes"] if one["place"].startswith("messages")]
    assert message.keys() | {"standard", "response"} == documented("a message")
    assert drawn.keys() | drawn["checkpoints"][0].keys() == documented("`graph`")
    assert run.keys() | {"type", "message"} == documented("`debug`")
    of_some = {"request_id", "response_type", "error"}
    assert {key for event in run["events"] for key in event} | of_some == documented("an entry of `events`")


def test_the_page_lists_the_keys_of_what_goes_on_and_mends(reader: Reader) -> None:
    started = reader.json("fork $PAUSE --id greet-ada-unattended")

    def keys(*reports: type) -> set[str]:
        return {field.name for report in reports for field in fields(report)}

    of_the_store = {"checkpoint_store", "namespace"}
    assert started.keys() | {"type", "message"} == documented("`resume`, `replay`, `fork`")
    assert keys(Verified) | of_the_store | {"same"} == documented("`verify`")
    assert keys(Difference) == documented("an entry of `differences`")
    assert keys(Rebuilt) | of_the_store | {"complete"} == documented("`rebuild`")
    assert keys(RebuiltRun, NotRebuilt, LostValue) == documented("an entry of `runs`")
    assert keys(Adoption) | of_the_store | {"dry_run", "workflows"} == documented("`adopt`")


def test_the_page_lists_the_kinds_of_differences_and_states_of_adoptions() -> None:
    kinds = PAGE[PAGE.index("The `kind` of a difference") :]
    recovery = (ROOT / "docs" / "recovery.md").read_text()

    assert {f"`{kind}`" for kind in get_args(DifferenceKind)} <= set(re.findall(r"`[\w ]+`", kinds))
    assert all(f"`{state}`" in recovery for state in get_args(AdoptState))


def test_the_page_lists_the_exit_codes(shell: Shell) -> None:
    codes = re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)

    in_help = re.findall(r"^    (\d+)  ", shell.run("--help").out, re.MULTILINE)

    assert codes == in_help


def test_the_page_lists_the_options(shell: Shell) -> None:
    table = PAGE[PAGE.index("## Options of all commands") : PAGE.index("## Exit codes")]

    for line in shell.run("checkpoint", "graph", "--help").out.splitlines():
        for option in re.findall(r"^  (--[a-z-]+)", line):
            assert f"`{option}" in table
