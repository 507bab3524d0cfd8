"""The code blocks of docs/graph-changes.md, run as a reader of the README would who releases its graph anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client

from temporal_adapter import DurableRun, DurableWorkflow, migration
from tests.integration.test_readme import BLOCK, Reader, reader  # noqa: F401 - a fixture
from tests.integration.test_readme import BLOCKS as OF_README
from tests.support.running import pending, until

PAGE = Path(__file__).parents[3] / "docs" / "graph-changes.md"
BLOCKS = {match["name"]: match["code"] for match in BLOCK.finditer(PAGE.read_text())}


@asynccontextmanager
async def worker(reader: Reader, command: str) -> AsyncIterator[None]:  # noqa: F811
    process = await reader.start(command)
    try:
        yield
    finally:
        process.terminate()
        await asyncio.wait_for(process.communicate(), 90)


async def test_the_page_does_what_it_says(reader: Reader, client: Client) -> None:  # noqa: F811
    # Given two runs of the README that wait
    greeting = DurableWorkflow(client, "greeting", task_queue="greetings")
    async with worker(reader, OF_README["worker"]):
        mia, noa = [await greeting.start(name, id=f"greet-{name.lower()}") for name in ("Mia", "Noa")]
        [request], _ = await pending(mia), await pending(noa)
        head = (await mia.checkpoints())[-1].checkpoint_id
        await reader.run(BLOCKS["cancel"])
    # When the graph is released anew
    for name, code in BLOCKS.items():
        if name.endswith(".py"):
            (reader.folder / name).write_text(code)
    listed = await reader.run(BLOCKS["list"])
    reader.environment["CHECKPOINT"] = head
    migrated = (await reader.run(BLOCKS["migrate"])).splitlines()
    reader.environment["NEW"] = migrated[1]

    # Then the one goes on that was migrated by hand, and the other is migrated by the workers
    async with worker(reader, BLOCKS["migrating"]):
        resumed = await reader.run(BLOCKS["resume"])
        outputs = {await _answered(greeting.get_run("greet-mia")), await _answered(noa)}

    assert head in listed
    assert migrated[0].startswith(
        "What has changed: executors removed: 'greeter'; executors added: 'host', 'usher'. Not"
    )
    assert "--checkpoint" in migrated[2]
    assert "workflow id: greet-mia" in resumed
    assert outputs == {"Hello! This way."}
    assert request.source_executor_id == "greeter"


async def _answered(run: DurableRun) -> str:
    [request] = await until(run.pending_requests)
    await run.respond(request.request_id, True)
    [output] = (await run.result()).get_outputs()
    return output


def test_every_block_is_run_here() -> None:
    assert set(BLOCKS) == {"greeting.py", "migrations.py", "migrating", "list", "migrate", "cancel", "resume"}
    assert PAGE.read_text().count("```") == 2 * len(BLOCKS)


def test_the_helpers_that_the_page_names_are_there() -> None:
    table = PAGE.read_text().split("| helper | does |")[1].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        assert hasattr(migration, line.removeprefix("| `").partition("(")[0].partition("`")[0]), line
