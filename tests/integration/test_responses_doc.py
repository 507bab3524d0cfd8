"""The code blocks of docs/responses.md, run as a reader of the README would run them next."""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.client import Client

from temporal_adapter import DurableWorkflow
from tests.integration.test_readme import BLOCK, Reader, reader, worker  # noqa: F401 - fixtures

PAGE = Path(__file__).parents[2] / "docs" / "responses.md"
BLOCKS = {match["name"]: match["code"] for match in BLOCK.finditer(PAGE.read_text())}


@pytest.fixture
def blocks(reader: Reader) -> None:  # noqa: F811
    for name, code in BLOCKS.items():
        (reader.folder / name).write_text(code)


def test_every_block_is_run_here() -> None:
    assert set(BLOCKS) == {"answer.py", "deadline_worker.py"}
    assert PAGE.read_text().count("```") == 2 * len(BLOCKS)


@pytest.mark.usefixtures("worker", "blocks")
async def test_a_run_is_answered_and_tells_who_did(reader: Reader) -> None:  # noqa: F811
    lines = (await reader.run("python answer.py")).splitlines()
    asked, ill_typed, late, outputs, refused, accepted, *more = lines

    assert asked == "greeter asks Shall we greet Ada? and wants {'type': 'boolean'}"
    assert ill_typed.startswith("refused: the response to request")
    assert "must be bool" in ill_typed
    assert "was already answered, with a different response, by grace@example.com at 20" in late
    assert outputs == "['Hello!']"
    assert refused == "refused | None | None | None"
    assert accepted == "accepted | True | grace@example.com | as agreed"
    assert all(one == refused for one in more)  # of the late one, if the run had not ended before it came


@pytest.mark.usefixtures("blocks")
async def test_a_worker_reminds_people(reader: Reader, client: Client) -> None:  # noqa: F811
    process = await reader.start("python deadline_worker.py")
    run = await DurableWorkflow(client, "greeting", task_queue="greetings").start("Eve", id="greet-eve/1")
    assert process.stdout is not None
    told = (await process.stdout.readline()).decode()
    [request] = await run.open_requests()
    await run.handle.terminate("seen enough")
    process.terminate()
    await process.communicate()

    link = f"http://127.0.0.1:8234/runs/greet-eve%2F1/requests/{request.request_id}"
    assert told == f"Reminder 1: Shall we greet Eve? {link}\n"
    assert request.expires_at is not None
