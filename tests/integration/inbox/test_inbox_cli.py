"""`temporal-adapter inbox` and `temporal-adapter graph`, as a person types them."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from temporalio.client import Client

from temporal_adapter.cli.app import app
from tests.support import commands

from .conftest import Desk

PAGE = (Path(__file__).parents[3] / "docs" / "inbox.md").read_text()
CLI = ("-m", "temporal_adapter.cli")
FACTORY = "tests.integration.inbox.desk:build_desk"
TOKEN = "a-token-that-is-long-enough"


@pytest.fixture
def shell(server: str, client: Client) -> dict[str, str]:
    return commands.environment(TEMPORAL_ADDRESS=server, TEMPORAL_NAMESPACE=client.namespace, COLUMNS="80")


async def typed(env: dict[str, str], *arguments: str) -> commands.Ended:
    """Run `temporal-adapter` to its end, while the worker of this process goes on."""
    return await asyncio.to_thread(commands.run, *CLI, *arguments, env=env)


# --- inbox --------------------------------------------------------------------------------------------------


async def test_it_serves_at_loopback_until_it_is_told_to_stop(desk: Desk, shell: dict[str, str]) -> None:
    asked = await desk.ask("bool")
    with commands.started(*CLI, "inbox", "--port", "0", env=shell) as process:
        line = await asyncio.to_thread(commands.line_with, process, "http://")
        address = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        async with httpx.AsyncClient(base_url=address, timeout=60) as http:
            assert asked.path in (await http.get("/")).text
            assert (await http.get("/static/htmx.js")).text.startswith("var htmx=")
            assert (await http.get("/static/inbox.css")).headers["content-type"].startswith("text/css")
        process.send_signal(signal.SIGTERM)
        ended = await asyncio.to_thread(commands.ended, process)
    assert (ended.code, ended.err) == (0, "")


async def test_beyond_loopback_it_wants_a_token_and_then_asks_everybody_for_it(shell: dict[str, str]) -> None:
    refused = await typed(shell, "inbox", "--host", "0.0.0.0", "--port", "0")
    assert refused.code == 2
    assert "TEMPORAL_ADAPTER_INBOX_TOKEN" in refused.err
    env = {**shell, "TEMPORAL_ADAPTER_INBOX_TOKEN": TOKEN}
    with commands.started(*CLI, "inbox", "--host", "0.0.0.0", "--port", "0", "--json", env=env) as process:
        line = await asyncio.to_thread(commands.line_with, process, '"address"')
        address = line.split('"')[3].replace("0.0.0.0", "127.0.0.1")
        async with httpx.AsyncClient(base_url=address, timeout=60) as http:
            assert (await http.get("/")).status_code == 401
            assert (await http.get("/", auth=("Ada", TOKEN))).status_code == 200
            bearer = {"Authorization": f"Bearer {TOKEN}"}
            assert (await http.get("/api/requests", headers=bearer)).status_code == 200
            elsewhere = {**bearer, "Host": "evil.example"}
            assert (await http.get("/", headers=elsewhere)).status_code == 421
            assert TOKEN not in (await http.get("/", auth=("Ada", TOKEN))).text


async def test_an_address_that_cannot_be_had_is_one_line(shell: dict[str, str]) -> None:
    ended = await typed(shell, "inbox", "--host", "192.0.2.1", "--user-header", "X-Forwarded-User")
    assert ended.code == 3
    assert ended.err.startswith("Error: 192.0.2.1:8240 cannot be listened at")
    assert ended.err.count("\n") == 1


# --- graph --------------------------------------------------------------------------------------------------


async def test_a_runs_graph_is_drawn_with_its_progress(desk: Desk, shell: dict[str, str], tmp_path: Path) -> None:
    asked = await desk.ask("bool")
    text = await typed(shell, "graph", asked.run.id)
    assert text.code == 0
    assert text.out.startswith('flowchart TD\n  n0(["desk<br/>waits for a response"])\n')
    file = tmp_path / "desk.svg"
    assert (await typed(shell, "graph", asked.run.id, "--output", str(file))).code == 0
    assert "waits for a response" in "".join(ElementTree.parse(file).getroot().itertext())


async def test_a_workflows_graph_is_told_without_a_server() -> None:
    env = commands.environment(TEMPORAL_ADDRESS="127.0.0.1:1")
    ended = await typed(env, "graph", "--workflow", FACTORY, "--json")
    assert ended.code == 0
    graph = json.loads(ended.out)
    assert [(one["executor_id"], one["state"]) for one in graph["executors"]] == [("desk", "idle"), ("file", "idle")]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["run-1", "--workflow", FACTORY], 2, "give either the workflow id of a run, or --workflow"),
        (["--workflow", FACTORY, "--output", "no/such/folder/graph.svg"], 2, "--output: no/such/folder/graph.svg"),
        (["no-such-run"], 4, "no-such-run"),
    ],
)
async def test_what_cannot_be_drawn_is_one_line_with_the_reason(
    shell: dict[str, str], arguments: list[str], code: int, error: str
) -> None:
    ended = await typed(shell, "graph", *arguments)
    assert ended.code == code
    assert error in ended.err
    assert ended.err.count("\n") == 1


# --- the documentation --------------------------------------------------------------------------------------


async def test_the_page_names_options_and_addresses_that_there_are(http: httpx.AsyncClient) -> None:
    commands_there: Any = typer.main.get_command(app)
    there = {
        one for name in ("inbox", "graph") for option in commands_there.commands[name].params for one in option.opts
    }
    named_options = set(re.findall(r"(?<![-\w])--[a-z][a-z-]+", PAGE))
    assert len(named_options) > 5
    assert named_options <= there
    described = (await http.get("/api/openapi.json")).json()["paths"]
    named = re.findall(r"`(GET|POST) (/api/[^`?]+)", PAGE)
    assert {(path, method.lower()) for method, path in named} <= {
        (path, method) for path, methods in described.items() for method in methods
    }
    assert len(named) == 5
    statuses = described["/api/runs/{workflow_id}/requests/{request_id}/response"]["post"]["responses"]
    assert set(statuses) == set(re.findall(r"\b(200|4\d\d|50\d)\b", PAGE)) | {"502"}
