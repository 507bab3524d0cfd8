"""The JSON API of the inbox, and what the pages say that take no browser to see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import msgspec
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from temporal_adapter import wire
from temporal_adapter.client.task_queues import pollers
from temporal_adapter.inbox import Guard, Runs, api, application
from temporal_adapter.inbox.paths import part, request_path
from tests.support.running import until

from .conftest import Asked, Desk


@asynccontextmanager
async def inbox_of(runs: Runs, guard: Guard | None = None, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """Another inbox, without a port."""
    transport = httpx.ASGITransport(application(runs, guard))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers, timeout=60) as http:
        yield http


def api_path(asked: Asked, more: str = "") -> str:
    return f"/api{asked.path}{more}"


async def test_a_request_is_listed_shown_and_answered(desk: Desk, http: httpx.AsyncClient) -> None:
    asked = await desk.ask("order", "What do you order?", {"limit": 9})
    listed = (await http.get("/api/requests", params={"workflow": "desk"})).json()
    [mine] = [one for one in listed["requests"] if one["workflow_id"] == asked.run.id]
    assert mine["page"] == asked.path
    assert mine["request"]["data"] == {"text": "What do you order?", "details": {"limit": 9}}
    shown = (await http.get(api_path(asked))).json()
    assert (shown["state"], shown["request"]) == ("pending", mine["request"])
    assert shown["request"]["response_schema"]["properties"]["count"]["maximum"] == 9

    refused = await http.post(api_path(asked, "/response"), json={"response": {"customer": "Ada"}})
    assert refused.status_code == 422
    assert "count" in refused.json()["detail"]
    answer = {"customer": "Ada", "count": 2, "urgent": False, "due": "2026-02-03"}
    given = {"response": answer, "responder": "Ada", "comment": "soon"}
    accepted = await http.post(api_path(asked, "/response"), json=given)
    assert accepted.status_code == 200
    checkpoint_id = accepted.json()["checkpoint_id"]
    await asked.result()

    settled = (await http.get(api_path(asked))).json()
    assert settled["state"] == "answered"
    assert settled["request"] is None
    assert [one["outcome"] for one in settled["answers"]] == ["refused", "accepted"]
    assert {key: settled["settled"][key] for key in ("responder", "comment", "checkpoint_id", "executor_id")} == {
        "responder": "Ada",
        "comment": "soon",
        "checkpoint_id": checkpoint_id,
        "executor_id": "desk",
    }
    assert settled["settled"]["response"]["customer"] == "Ada"
    assert (await http.get(f"/api/runs/{asked.run.id}/responses")).json() == settled["answers"]


async def test_of_many_answers_at_once_one_is_accepted_and_the_others_read_which(
    desk: Desk, http: httpx.AsyncClient
) -> None:
    asked = await desk.ask("text")
    answers = [{"response": f"answer {place}", "responder": f"person {place}"} for place in range(5)]
    given = await asyncio.gather(*(http.post(api_path(asked, "/response"), json=one) for one in answers))
    [winner] = [one for one, answer in zip(answers, given, strict=True) if answer.status_code == 200]
    late = [answer for answer in given if answer.status_code == 409]
    assert len(late) == 4, [answer.text for answer in given]
    for answer in late:
        assert answer.json()["detail"].startswith(f"Your answer came too late. {winner['responder']} answered at ")
        assert answer.json()["settled"]["response"] == winner["response"]
    assert await asked.result() == [winner["response"]]


async def test_the_same_answer_again_by_the_same_person_is_the_same_acceptance(
    desk: Desk, http: httpx.AsyncClient
) -> None:
    asked = await desk.ask("bool")
    given = {"response": True, "responder": "Ada"}
    first, again = [(await http.post(api_path(asked, "/response"), json=given)).json() for _ in range(2)]
    assert first == again
    other = await http.post(api_path(asked, "/response"), json={"response": True, "responder": "Bob"})
    assert other.status_code == 409
    assert other.json()["detail"].startswith("The same answer was given before yours. Ada answered at ")


async def test_any_workflow_id_is_a_part_of_a_path(desk: Desk, http: httpx.AsyncClient) -> None:
    asked = await desk.ask("bool", id="../a/b c%2F%?#;é漢<script>'\"\\")
    page = await http.get(asked.path)
    assert page.status_code == 200
    assert (await http.get(api_path(asked))).json()["workflow_id"] == asked.run.id
    assert (await http.post(api_path(asked, "/response"), json={"response": False})).status_code == 200


HOSTILE: list[tuple[bytes, int]] = [
    (b'{"response": NaN}', 422),
    (b'{"response": true, "approver": "Eve"}', 422),
    (b"{}", 422),
    (b"[" * 100_000, 400),
    (b'{"response": "\xff"}', 400),
    (b'{"response": {"$": "pickle", "data": "gASVBAAAAAAAAABLAC4="}}', 422),
    (b'{"response": ' + b"[" * 400 + b"]" * 400 + b"}", 422),
    (b'{"response": "' + b"x" * 3_000_000 + b'"}', 413),
]


async def test_a_hostile_answer_is_refused_and_the_request_still_waits(desk: Desk, http: httpx.AsyncClient) -> None:
    asked = await desk.ask("bool")
    as_json = {"content-type": "application/json"}
    given = [await http.post(api_path(asked, "/response"), content=body, headers=as_json) for body, _ in HOSTILE]
    assert [one.status_code for one in given] == [status for _, status in HOSTILE]
    assert (await http.get(api_path(asked))).json()["state"] == "pending"


async def test_a_post_that_is_no_json_is_refused(desk: Desk, http: httpx.AsyncClient) -> None:
    asked = await desk.ask("bool")
    sent = await http.post(
        api_path(asked, "/response"), content=b'{"response": true}', headers={"content-type": "text/plain"}
    )
    assert sent.status_code == 422
    assert (await http.get(api_path(asked))).json()["state"] == "pending"


async def test_what_there_is_not_is_said(desk: Desk, http: httpx.AsyncClient) -> None:
    asked = await desk.ask("bool")
    unknown_request = await http.get("/api" + request_path(asked.run.id, "none"))
    assert (unknown_request.status_code, "has no request 'none'" in unknown_request.text) == (404, True)
    unknown_run = await http.get(request_path("no/such/run", "none"))
    assert unknown_run.status_code == 404
    assert "no run with workflow id &#39;no/such/run&#39;" in unknown_run.text


@workflow.defn(name="of-another-team", sandboxed=False)
class OfAnotherTeam:
    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)


async def test_a_workflow_of_another_team_is_no_run_to_show(
    client: Client, http: httpx.AsyncClient, task_queue: str
) -> None:
    async with Worker(client, task_queue=task_queue, workflows=[OfAnotherTeam]):
        await until(lambda: pollers(client, task_queue))
        theirs = await client.start_workflow("of-another-team", id=f"theirs-{uuid4()}", task_queue=task_queue)
        answer = await http.get(request_path(theirs.id, "r"))
        assert answer.status_code == 404
        assert "is it one of this adapter?" in answer.text
        await theirs.terminate()


async def test_without_a_worker_it_says_so_at_once(client: Client, http: httpx.AsyncClient, task_queue: str) -> None:
    run = await client.start_workflow("desk", id=f"alone-{uuid4()}", task_queue=task_queue)
    for answer in (
        await http.get(request_path(run.id, "r")),
        await http.post(f"/api{request_path(run.id, 'r')}/response", json={"response": True}),
    ):
        assert answer.status_code == 503
        assert "No worker serves task queue" in answer.text
    await run.terminate()


async def test_the_list_can_be_narrowed_by_workflow_and_age(desk: Desk, http: httpx.AsyncClient) -> None:
    asked = await desk.ask("bool")
    link = f'href="{asked.path}"'
    assert link in (await http.get("/", params={"workflow": "desk"})).text
    assert link not in (await http.get("/", params={"workflow": "another"})).text
    assert link not in (await http.get("/", params={"age": "1h"})).text
    assert (await http.get("/api/requests", params={"older_than": "PT1H"})).json()["requests"] == []
    assert (await http.get("/api/requests", params={"older_than": "an hour"})).status_code == 422


async def test_the_graph_is_there_as_svg_as_text_and_as_json(desk: Desk, http: httpx.AsyncClient) -> None:
    asked = await desk.ask("bool")
    run = f"/api/runs/{part(asked.run.id)}"
    drawn, text, plain = [await http.get(f"{run}/graph{form}") for form in (".svg", ".mmd", "")]
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert drawn.text in (await http.get(asked.path)).text
    assert text.text.startswith("flowchart TD")
    states = {one["executor_id"]: one["state"] for one in plain.json()["executors"]}
    assert states == {"desk": "waiting", "file": "idle"}


async def test_large_data_is_shown_with_the_store_and_its_size_without(
    desk: Desk, client: Client, http: httpx.AsyncClient
) -> None:
    sentence = "All of it is in order. "
    asked = await desk.ask("bool", details=sentence * 20_000)
    assert sentence in (await http.get(asked.path)).text
    async with inbox_of(Runs(client)) as without_store:
        page = (await without_store.get(asked.path)).text
    assert sentence not in page
    assert "bytes, which are in the workers' checkpoint store" in page


async def test_the_person_whom_the_proxy_names_answers_whoever_is_typed(desk: Desk, client: Client) -> None:
    first, second = await desk.ask("bool"), await desk.ask("bool")
    guard = Guard(user_header="X-Forwarded-User")
    async with inbox_of(Runs(client), guard, **{"X-Forwarded-User": "Ada"}) as http:
        assert 'name="responder"' not in (await http.get(first.path)).text
        await http.post(first.path, data={"response": "true", "responder": "Eve"})
        await http.post(api_path(second, "/response"), json={"response": True, "responder": "Eve"})
    for asked in (first, second):
        assert [who for _, who, _ in await asked.trail()] == ["Ada"]


async def test_a_form_is_only_read_as_a_browser_sends_it(desk: Desk, http: httpx.AsyncClient) -> None:
    asked = await desk.ask("bool")
    for body in (b"response=%FF", b"&".join(b"a=1" for _ in range(6000)), "é=ü".encode()):
        assert (await http.post(asked.path, content=body)).status_code == 400
    assert (await http.get(api_path(asked))).json()["state"] == "pending"


async def test_the_api_is_described_and_its_models_are_the_shapes_of_the_queries(http: httpx.AsyncClient) -> None:
    described = (await http.get("/api/openapi.json")).json()
    assert "/api/runs/{workflow_id}/requests/{request_id}/response" in described["paths"]
    assert not [path for path in described["paths"] if not path.startswith("/api/")]
    shapes: list[tuple[Any, Any]] = [(api.Pending, wire.PendingRequest), (api.Answer, wire.ReadableResponded)]
    for model, shape in shapes:
        of_shape = {one.name for one in msgspec.structs.fields(shape)} - {"fingerprint"}  # which is the engine's own
        assert set(model.model_fields) == of_shape
