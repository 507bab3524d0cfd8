"""AG-UI's own package over a drop-in, by HTTP: text word by word, an interrupt, a killed worker, and the resume."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import FileCheckpointStorage
from agent_framework_ag_ui import AgentFrameworkWorkflow, add_agent_framework_fastapi_endpoint
from fastapi import FastAPI

from temporal_adapter import SessionWorkflow
from tests.support.desk_worker import DeskWorker
from tests.support.http import events, served
from tests.support.support_desk import desk

Made = Callable[[str], SessionWorkflow]


@pytest.fixture
def desk_of(desk_worker: DeskWorker, task_queue: str) -> Made:
    """Returns the drop-in for a conversation."""
    return lambda thread_id: desk_worker.drop_in(desk, f"{task_queue}-{thread_id}")


def web_process(made: Made, **options: Any) -> FastAPI:
    """Return what a web process serves: it holds nothing but how a conversation's workflow is made."""
    app = FastAPI()
    workflow = AgentFrameworkWorkflow(workflow_factory=made, **options)
    add_agent_framework_fastapi_endpoint(app, workflow, "/desk", authorization_scope_resolver=_ada)
    return app


async def _ada() -> str:
    """Say who asks: the same in each web process, since AG-UI gives checkpoints to whom they belong only."""
    return "Ada"


def asking(thread_id: str, text: str | None, **more: Any) -> dict[str, Any]:
    """Return what a front end posts when a person says something, or answers."""
    messages = [] if text is None else [{"id": f"said-{text}", "role": "user", "content": text}]
    rest = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": thread_id, "runId": f"run-{text}", "messages": messages, **rest, **more}


async def said(web: httpx.AsyncClient, thread_id: str, text: str | None = None, **more: Any) -> list[dict[str, Any]]:
    """Say something, or answer; return the events that follow."""
    return [event async for event in events(web, "/desk", asking(thread_id, text, **more))]


def resume(finished: dict[str, Any], payload: Any) -> dict[str, Any]:
    """Return what a front end sends to answer the interrupts that a run finished with."""
    interrupts = finished["outcome"]["interrupts"]
    return {"resume": [{"interruptId": one["id"], "status": "resolved", "payload": payload} for one in interrupts]}


def text_of(seen: Iterable[dict[str, Any]]) -> str:
    return "".join(one["delta"] for one in seen if one["type"] == "TEXT_MESSAGE_CONTENT")


def assert_well_formed(seen: list[dict[str, Any]]) -> None:
    """Assert that the run begins and ends as AG-UI says, with no message open at its end, nor twice."""
    kinds = [one["type"] for one in seen]
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    assert kinds.count("RUN_FINISHED") == 1
    opened = [one["messageId"] for one in seen if one["type"] == "TEXT_MESSAGE_START"]
    closed = [one["messageId"] for one in seen if one["type"] == "TEXT_MESSAGE_END"]
    assert opened == closed
    assert len(set(opened)) == len(opened)


async def test_a_conversation_waits_for_a_person_through_the_loss_of_its_worker(
    desk_worker: DeskWorker, desk_of: Made
) -> None:
    async with served(web_process(desk_of)) as web:
        hello = await said(web, "one", "hello")
        asked = await said(web, "one", "refund 30")
        await desk_worker.kill()
        await desk_worker.start()
        paid = await said(web, "one", **resume(asked[-1], "yes"))

    for seen in (hello, asked, paid):
        assert_well_formed(seen)
    deltas = [one["delta"] for one in hello if one["type"] == "TEXT_MESSAGE_CONTENT"]
    assert deltas == ["You ", "said: ", "hello"]
    [interrupt] = asked[-1]["outcome"]["interrupts"]
    assert interrupt["metadata"]["agent_framework"]["value"]["amount"] == 30
    assert text_of(paid) == "Paid back 30 in all."


async def test_an_answer_is_begun_again_when_its_worker_is_lost(desk_worker: DeskWorker, desk_of: Made) -> None:
    seen: list[dict[str, Any]] = []
    async with served(web_process(desk_of)) as web:
        async for event in events(web, "/desk", asking("one", "hang")):
            if event["type"] == "TEXT_MESSAGE_CONTENT" and text_of(seen) == "You ":
                await desk_worker.kill()
                await desk_worker.start()
            seen.append(event)

    assert_well_formed(seen)
    first, second = [one["messageId"] for one in seen if one["type"] == "TEXT_MESSAGE_START"]
    assert text_of(one for one in seen if one.get("messageId") == first) == "You said: "
    assert text_of(one for one in seen if one.get("messageId") == second) == "You said: hang"
    [abandoned] = [one for one in seen if one["type"] == "CUSTOM" and one["name"] == "warning"]
    assert "Attempt 1 of executor 'clerk' came to nothing" in str(abandoned["value"])


async def test_a_web_process_that_knows_nothing_goes_on_with_a_conversation(desk_of: Made) -> None:
    async with served(web_process(desk_of)) as web:
        asked = await said(web, "one", "refund 30")
        await said(web, "two", "refund 5")

    async with served(web_process(desk_of)) as web:
        unanswered = await said(web, "one", "and now?")
        paid = await said(web, "one", **resume(asked[-1], "yes"))
        more = await said(web, "one", "refund 12")
        paid_more = await said(web, "one", **resume(more[-1], "yes"))

    assert [one["code"] for one in unanswered if one["type"] == "RUN_ERROR"] == ["WORKFLOW_RESUME_REQUIRED"]
    assert_well_formed(paid)
    assert [text_of(one) for one in (paid, paid_more)] == ["Paid back 30 in all.", "Paid back 42 in all."]


async def test_an_interrupt_that_is_cancelled_is_a_request_that_is_cancelled(desk_of: Made) -> None:
    async with served(web_process(desk_of)) as web:
        asked = await said(web, "one", "refund 30")
        [interrupt] = asked[-1]["outcome"]["interrupts"]
        cancelled = await said(web, "one", resume=[{"interruptId": interrupt["id"], "status": "cancelled"}])
        hello = await said(web, "one", "hello")

    assert cancelled[-1]["type"] == "RUN_FINISHED"
    assert text_of(hello) == "You said: hello"
    assert (await desk_of("one").refresh()).value == "IDLE"


async def test_a_run_goes_back_to_a_checkpoint_that_an_interrupt_names(desk_of: Made, tmp_path: Path) -> None:
    def process() -> FastAPI:
        types = ["tests.support.support_desk:Refund"]
        return web_process(
            desk_of,
            checkpoint_storage=FileCheckpointStorage(tmp_path / "copies", allowed_checkpoint_types=types),
        )

    async with served(process()) as web:
        asked = await said(web, "one", "refund 30")
        refused = await said(web, "one", **resume(asked[-1], "no"))
    [interrupt] = asked[-1]["outcome"]["interrupts"]
    checkpoint_id = interrupt["metadata"]["agent_framework"]["checkpoint_id"]

    async with served(process()) as web:
        back = {"forwardedProps": {"checkpointId": checkpoint_id}}
        paid = await said(web, "one", **resume(asked[-1], "yes"), **back)
        stranger = await said(web, "two", **resume(asked[-1], "yes"), **back)

    assert [text_of(one) for one in (refused, paid)] == ["Paid back 0 in all.", "Paid back 30 in all."]
    assert [one["code"] for one in stranger if one["type"] == "RUN_ERROR"] == ["WORKFLOW_RESUME_NOT_FOUND"]
