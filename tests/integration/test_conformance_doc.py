"""docs/conformance.md, run as a reader would run it: its code beside the README's graph, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from temporalio.client import Client

from temporal_adapter.testing import Script, assert_same_as_in_process

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?:python|bash|text) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
README, DOC = (
    {match["name"]: match["code"] for match in BLOCK.finditer(path.read_text())}
    for path in (ROOT / "README.md", ROOT / "docs" / "conformance.md")
)


def test_every_block_is_run_here() -> None:
    assert set(DOC) == {"test_greeting.py", "test", "difference"}
    assert (ROOT / "docs" / "conformance.md").read_text().count("```") == 2 * len(DOC)


async def test_the_test_passes_with_the_graph_of_the_readme(tmp_path: Path) -> None:
    for name, code in {**README, **DOC}.items():
        if name.endswith(".py"):
            (tmp_path / name).write_text(code)
    # This repository's own hook, for an exit code that can be trusted
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}

    done = await asyncio.to_thread(
        subprocess.run,
        ["bash", "-euc", f"{DOC['test'].strip()} -p no:cacheprovider"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


class _Note(Executor):
    def __init__(self, id: str, noted: list[str]) -> None:
        super().__init__(id=id)
        self.noted = noted

    @handler
    async def note(self, name: str, ctx: WorkflowContext[str]) -> None:
        self.noted.append(name)
        await ctx.send_message(name)


class _Greet(Executor):
    def __init__(self, id: str, noted: list[str]) -> None:
        super().__init__(id=id)
        self.noted = noted

    @handler
    async def greet(self, name: str, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(f"Hello {len(self.noted)}!")


def _counting_on_one_list() -> Workflow:
    noted: list[str] = []
    note, greet = _Note("note", noted), _Greet("greeter", noted)
    return WorkflowBuilder(name="greeting", start_executor=note).add_edge(note, greet).build()


async def test_the_difference_is_told_as_the_text_shows_it(client: Client) -> None:
    with pytest.raises(AssertionError) as raised:
        await assert_same_as_in_process(_counting_on_one_list, Script("Ada"), client=client)

    assert str(raised.value) == DOC["difference"].strip()
