"""The code blocks of docs/checkpoints.md, run as a reader of the README would run them next."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.test_readme import BLOCK, Reader, reader, worker  # noqa: F401 - fixtures

PAGE = Path(__file__).parents[2] / "docs" / "checkpoints.md"
BLOCKS = {match["name"]: match["code"] for match in BLOCK.finditer(PAGE.read_text())}


@pytest.mark.usefixtures("worker")
async def test_the_page_does_what_it_says(reader: Reader) -> None:  # noqa: F811
    for name, code in BLOCKS.items():
        (reader.folder / name).write_text(code)
    await reader.run("python client.py")

    again = await reader.run("python again.py")
    session = await reader.run("python session.py")

    assert again.splitlines()[-2:] == ["replay: ['Hello!']", "fork: ['Not today.']"]
    assert session.splitlines()[-2:] == [
        "['Hello!'] WorkflowRunState.IDLE",
        "['Not today.'] WorkflowRunState.IDLE",
    ]
    assert set(BLOCKS) == {"again.py", "session.py"}
