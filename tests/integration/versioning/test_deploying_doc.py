"""docs/deploying.md, followed from top to bottom on the README's graph, with the output that the page shows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner
from temporalio.client import Client
from temporalio.service import RPCError

from temporal_adapter.cli.app import app
from temporal_adapter.client.moving import MoveOutcome
from tests.integration.test_readme import BLOCKS as OF_README
from tests.integration.test_readme import Reader
from tests.support import deployments
from tests.support.running import until
from workers import cli
from workers.dev_server import dev_server

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "deploying.md").read_text()
BLOCK = re.compile(r"^```(?P<kind>bash|text|python) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = {one["name"]: one["code"] for one in BLOCK.finditer(PAGE) if one["kind"] != "text"}
SHOWN = {one["name"]: one["code"] for one in BLOCK.finditer(PAGE) if one["kind"] == "text"}
CHANGED = {one["name"]: one["code"] for one in BLOCK.finditer((DOCS / "graph-changes.md").read_text())}

# Temporal tells that a build is drained after minutes otherwise.
DRAINAGE = ["VersionDrainageStatusVisibilityGracePeriod", "VersionDrainageStatusRefreshInterval"]
QUICK = [word for name in DRAINAGE for word in ("--dynamic-config-value", f'matching.wv.{name}="1s"')]


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    """A reader in a folder with the README's graph, beside a server of their own, as the README has it."""
    (tmp_path / "greeting.py").write_text(OF_README["greeting.py"])
    async with dev_server(arguments=QUICK) as server:
        reader = Reader(tmp_path, server.address)
        name, _, value = TYPED["store"].strip().removeprefix("export ").partition("=")
        reader.environment[name] = value
        yield reader


@asynccontextmanager
async def worker(reader: Reader, block: str) -> AsyncIterator[str]:
    """The worker of a block; yields what it says when it serves."""
    process = await reader.start(TYPED[block])
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode()
    finally:
        process.terminate()
        await asyncio.wait_for(process.communicate(), 90)


async def current(client: Client, reader: Reader, block: str, build_id: str) -> None:
    """Type a block that makes a build current, once its workers are known and Temporal takes it, as the page says."""

    async def known() -> bool:
        try:
            versions = (await deployments.deployment_info(client, "greetings")).version_summaries
        except RPCError:  # there is no such deployment yet
            return False
        return any(one.deployment_version.build_id == build_id for one in versions)

    async def accepted() -> bool:
        try:
            await reader.run(TYPED[block].splitlines()[0])
        except AssertionError:  # not all of its pollers are known
            return False
        return True

    await until(known)
    await until(accepted)
    await deployments.until_current(client, "greetings", build_id)


async def test_the_page_does_what_it_says(reader: Reader) -> None:
    client = await Client.connect(reader.environment["TEMPORAL_ADDRESS"])
    async with AsyncExitStack() as workers:
        # The first release, with two runs that wait; the next one beside it
        first = await workers.enter_async_context(worker(reader, "v1"))
        await current(client, reader, "current-1", "1")
        await reader.run(TYPED["start"])
        await until(lambda: _on_build(client, "1", 2))
        await reader.run(TYPED["edit"])
        gate = await reader.run(TYPED["gate"])
        async with worker(reader, "v2"):
            await current(client, reader, "current-2", "2")
            draining = await reader.run(TYPED["draining"])
            moved = await reader.run(TYPED["move"])
            answered = await reader.run(TYPED["answer"])
            await until(lambda: _is_drained(client))
            drained = await reader.run(TYPED["drained"])
            # The next one is rolled back, and what was moved there with it
            await current(client, reader, "rollback", "1")
            await until(lambda: _on_build(client, "2", 1))
            back = await reader.run(TYPED["rollback"].splitlines()[1])
        migrated = await _migrated(client, reader)

    assert _without_chance(first) == _without_chance(SHOWN["v1"])
    assert [line.split()[-1] for line in gate.splitlines()] == ["VERDICT", "replays", "replays"]
    assert re.search(r"DrainageStatus +draining", draining)
    assert re.search(r"DrainageStatus +drained", drained)
    assert {"greet-ada", "greet-eve"} <= set(draining.split())
    assert sorted(_without_chance(moved)) == sorted(_without_chance(SHOWN["move"]))
    assert 'output greeter "Good day!"' in answered
    assert "from build '2' to '1'" in back
    assert "from build '1' to '3'" in migrated
    assert 'output usher "Hello! This way."' in migrated


async def _migrated(client: Client, reader: Reader) -> str:
    """Follow the part about a changed graph; return what its last block prints."""
    for name in ("greeting.py", "migrations.py"):
        (reader.folder / name).write_text(CHANGED[name])
    listed = await reader.run(TYPED["list"])
    reader.environment["CHECKPOINT"] = listed.split("\n")[-2].split()[0]
    assert "fits. Nothing was written." in await reader.run(TYPED["dry-run"])
    process = await reader.start(TYPED["v3"])
    try:
        await current(client, reader, "current-3", "3")
        return await reader.run(TYPED["migrated"])
    finally:
        process.terminate()
        await asyncio.wait_for(process.communicate(), 90)


async def _on_build(client: Client, build_id: str, runs: int) -> bool:
    """Whether lists have so many open runs on a build: they come up a moment later."""
    query = f"TemporalWorkerDeploymentVersion = 'greetings:{build_id}' AND ExecutionStatus = 'Running'"
    return (await client.count_workflows(query)).count == runs


async def _is_drained(client: Client) -> bool:
    return await deployments.status_of(client, "greetings", "1") == "DRAINED"


def _without_chance(text: str) -> list[str]:
    return [" ".join(re.sub(r"(127\.0\.0\.1|localhost):\d+", "ADDRESS", line).split()) for line in text.splitlines()]


def test_every_block_is_run_here() -> None:
    typed = {"gate", "v1", "current-1", "start", "edit", "v2", "current-2", "draining", "move", "answer", "drained"}
    changed = {"list", "dry-run", "v3", "current-3", "migrated"}
    assert TYPED.keys() == {*typed, *changed, "store", "rollback"}
    assert SHOWN.keys() == {"v1", "move"}
    assert PAGE.count("```") == 2 * (len(TYPED) + len(SHOWN))


def test_the_page_has_the_options_of_the_worker_and_their_variables() -> None:
    table = PAGE[PAGE.index("| option of `python -m workers` |") :].split("\n\n")[0]
    shown = " ".join(CliRunner().invoke(cli.main, ["--help"], env={"COLUMNS": "200"}).output.split())

    for row in table.splitlines()[2:]:
        option, variable, _ = (cell.strip(" `") for cell in row.replace("\\|", "/").strip("|").split("|"))
        assert option.split()[0] in shown
        assert variable in shown


def test_the_page_has_all_that_move_may_say() -> None:
    table = PAGE[PAGE.index("| outcome | means |") :].split("\n\n")[0]
    told = {
        name.replace(" ", "_")
        for row in table.splitlines()[2:]
        for name in re.findall(r"`([\w ]+)`", row.split("|")[1])
    }

    assert told == set(get_args(MoveOutcome))
    assert "move" in {one.name for one in app.registered_commands}


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        file, _, anchor = target.partition("#")
        text = (DOCS / file).read_text() if file else PAGE
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = [re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings]
        assert not anchor or anchor in anchors, target
