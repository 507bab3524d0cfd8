"""The code blocks of docs/drop-in.md: its programs are run as a reader would, its web applications reached by HTTP."""

from __future__ import annotations

import asyncio
import os
import runpy
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_readme import BLOCK, Reader
from tests.support.http import events, free_port, served
from tests.support.running import until

PAGE = Path(__file__).parents[2] / "docs" / "drop-in.md"
BLOCKS = {match["name"]: match["code"] for match in BLOCK.finditer(PAGE.read_text())}


@pytest.fixture(scope="module")
async def folder(server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reader]:
    """A folder with the page's files, in which its worker runs."""
    reader = Reader(tmp_path_factory.mktemp("page"), server)
    for name, code in BLOCKS.items():
        if name.endswith(".py"):
            (reader.folder / name).write_text(code)
    worker = await reader.start(BLOCKS["worker"])
    yield reader
    worker.terminate()
    await asyncio.wait_for(worker.communicate(), 30)


@pytest.fixture
def application(folder: Reader, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns the web application of a block."""
    monkeypatch.chdir(folder.folder)
    monkeypatch.syspath_prepend(str(folder.folder))
    monkeypatch.setenv("TEMPORAL_ADDRESS", folder.environment["TEMPORAL_ADDRESS"])
    monkeypatch.delitem(sys.modules, "chat", raising=False)
    return lambda name: runpy.run_path(name)["app"]


def test_every_block_is_run_here() -> None:
    known = {"chat.py", "worker", "talk.py", "agui.py", "devui.py", "web.py"}
    assert set(BLOCKS) == known
    assert PAGE.read_text().count("```") == 2 * len(known)


async def test_a_drop_in_is_run_and_answered(folder: Reader) -> None:
    output = await folder.run("python talk.py")

    assert output.splitlines() == [
        "IDLE_WITH_PENDING_REQUESTS ['Shall we do this: Send flowers']",
        "Done.",
    ]


async def test_each_person_has_conversations_of_their_own(application: Any) -> None:
    def said(text: str) -> dict[str, Any]:
        message = {"id": text, "role": "user", "content": text}
        rest = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
        return {"threadId": "one", "runId": text, "messages": [message], **rest}

    async with served(application("agui.py")) as web:
        web.headers["x-person"] = "ada"
        asked = [event async for event in events(web, "/chat", said("Send flowers"))]
        [interrupt] = asked[-1]["outcome"]["interrupts"]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": "yes"}]
        web.headers["x-person"] = "eve"
        stranger = [event async for event in events(web, "/chat", {**said("Hand it over"), "resume": resume})]
    async with served(application("agui.py")) as web:
        web.headers["x-person"] = "ada"
        answered = [event async for event in events(web, "/chat", {**said("Yes"), "messages": [], "resume": resume})]

    assert stranger[-1]["type"] == "RUN_ERROR"
    assert [one["delta"] for one in answered if one["type"] == "TEXT_MESSAGE_CONTENT"] == ["Done."]


async def test_devui_serves_the_workflow(folder: Reader) -> None:
    port = str(free_port())
    (folder.folder / "devui.py").write_text(BLOCKS["devui.py"].replace("8090", port))
    process = await folder.start("python devui.py")
    assert process.stdout is not None
    while line := await process.stdout.readline():
        if f"running on http://127.0.0.1:{port}".encode() in line:
            break
    process.terminate()
    await asyncio.wait_for(process.communicate(), 30)

    assert line
    assert process.returncode == 0


async def test_a_handler_starts_lists_and_answers_by_a_workflow_id_alone(application: Any) -> None:
    number = int.from_bytes(os.urandom(4), "big")
    async with served(application("web.py")) as web:

        async def asked() -> Any:
            return (await web.get(f"/orders/{number}")).json()["requests"]

        assert (await web.get(f"/orders/{number}")).status_code == 404
        for text in ("Send flowers", "Send flowers again"):
            assert (await web.put(f"/orders/{number}", json=text)).status_code == 200
        [request] = await until(asked)
        wrong = await web.post(f"/orders/{number}/requests/other", json="yes")
        given = await web.post(f"/orders/{number}/requests/{request['id']}", json="yes")
        late = await web.post(f"/orders/{number}/requests/{request['id']}", json="no")
        attached = await web.put(f"/orders/{number}", json="Send flowers")
        talk = (await web.post(f"/talks/{number}", json="Send a card")).json()

    assert request["data"] == "Shall we do this: Send flowers"
    assert (wrong.status_code, late.status_code) == (409, 409)
    assert "other" in wrong.text
    assert given.status_code == 200
    assert given.json()["checkpoint"]
    assert attached.json()["requests"] == []
    assert talk["outputs"] == []
    assert [one["data"] for one in talk["requests"]] == ["Shall we do this: Send a card"]
