"""docs/replay.md, run as a reader would: the gate's commands with the output shown, CI's script, and the test."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from agent_framework import Workflow
from temporalio.client import Client

from temporal_adapter import BlobStore
from temporal_adapter.loading import find_factory
from temporal_adapter.replaying import read_history
from tests.support import altering, commands
from tests.support.running import pending, serving, until
from workers.dev_server import dev_server

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "replay.md").read_text()
BLOCK = re.compile(r"^```(?P<kind>python|bash|text) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = {one["name"]: one["code"] for one in BLOCK.finditer(PAGE) if one["kind"] != "text"}
SHOWN = {one["name"]: one["code"] for one in BLOCK.finditer(PAGE) if one["kind"] == "text"}
GREETING = next(one["code"] for one in BLOCK.finditer((ROOT / "README.md").read_text()) if one["name"] == "greeting.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A reader's project: the README's graph, the page's test, and CI's script."""
    (tmp_path / "greeting.py").write_text(GREETING)
    (tmp_path / "test_greeting.py").write_text(TYPED["test_greeting.py"])
    shutil.copytree(ROOT / "infra" / "ci", tmp_path / "infra" / "ci")
    return tmp_path


async def typed(block: str, folder: Path, code: int = 0, **variables: str) -> str:
    """Type a block in the folder; return what it printed, the error output last."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    done = await asyncio.to_thread(
        subprocess.run,
        ["bash", "-euc", block],
        cwd=folder,
        env=commands.environment(PATH=path, COLUMNS="200", **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def without_chance(text: str) -> list[str]:
    """Return lines without the times that replays take, and the numbers of events."""
    lines = [re.sub(r"^(\S+ +greeting) +\d+ +\d+ ", r"\1 EVENTS MS ", line) for line in text.strip().splitlines()]
    return [" ".join(re.sub(r"\(event \d+\)", "(event N)", line).split()) for line in lines]


def test_every_block_is_run_here() -> None:
    assert TYPED.keys() == {"gate", "files", "ci", "test", "test_greeting.py"}
    assert SHOWN.keys() == {"gate", "files", "diverges"}
    assert PAGE.count("```") == 2 * (len(TYPED) + len(SHOWN))


@pytest.mark.parametrize("job", ["github-actions.yml", "gitlab-ci.yml"])
def test_each_job_runs_the_script_that_is_run_here(job: str) -> None:
    text = (ROOT / "infra" / "ci" / job).read_text()

    assert TYPED["ci"].strip() in text
    assert "replay.xml" in text


async def test_the_gate_does_what_the_page_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(folder)
    monkeypatch.delitem(sys.modules, "greeting", raising=False)
    build = find_factory("greeting:build")
    assert not isinstance(build, Workflow)
    async with dev_server() as server:
        client = await Client.connect(server.address)
        async with serving(client, "greetings", build, store=BlobStore(folder / "checkpoints")) as greeting:
            for name in ("eve", "ada"):
                await pending(await greeting.start(name.title(), id=f"greet-{name}"))
        await until(lambda: _seen(client, 2))
        at = {"TEMPORAL_ADDRESS": server.address}

        gate = await typed(TYPED["gate"], folder, **at)
        files = await typed(TYPED["files"], folder, **at)
        in_ci = await typed(TYPED["ci"], folder, **at)

    assert sorted(without_chance(gate)) == sorted(without_chance(SHOWN["gate"]))
    assert without_chance(files) == without_chance(SHOWN["files"])
    assert "Of 3 histories 3 replay." in in_ci  # of the directory, and the server's two
    [suite] = ElementTree.parse(folder / "replay.xml").getroot().iter("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("3", "0")
    sys.modules.pop("greeting", None)

    path = folder / "histories" / "greet-ada.json"
    events = altering.renamed(altering.events_of(read_history(path)), "greeting/greeter", "greeting/clerk")
    path.write_text(altering.history_of(events).to_json())
    astray = await typed(TYPED["ci"], folder, code=1)  # without a server
    assert without_chance(astray) == without_chance(SHOWN["diverges"])


async def _seen(client: Client, count: int) -> bool:
    return len([one async for one in client.list_workflows("WorkflowType = 'greeting'")]) == count


async def test_the_test_passes_with_the_plugin_alone(folder: Path) -> None:
    printed = await typed(f"{TYPED['test'].strip()} -p no:cacheprovider", folder, PYTHONPATH=str(ROOT))

    assert "2 passed" in printed
    assert read_history(folder / "histories" / "waiting.json").events
