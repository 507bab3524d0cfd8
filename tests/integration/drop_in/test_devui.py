"""DevUI's own package over a drop-in, by HTTP: a run word by word, a request, a killed worker, and the response."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.desk_worker import DeskWorker
from tests.support.http import events, started


async def shown(web: httpx.AsyncClient, entity_id: str, conversation: str, given: Any) -> list[dict[str, Any]]:
    """Run the workflow in a conversation, as DevUI's page does; return what the page is sent."""
    body = {"metadata": {"entity_id": entity_id}, "conversation": conversation, "input": given, "stream": True}
    return [event async for event in events(web, "/v1/responses", body)]


def responses(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what DevUI's page sends when a person has filled in its form."""
    return [{"type": "message", "content": [{"type": "workflow_hil_response", "responses": given}]}]


def kinds(seen: list[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in seen]


async def test_a_request_is_answered_after_the_loss_of_the_worker(desk_worker: DeskWorker, task_queue: str) -> None:
    async with started("tests.support.devui_server", *desk_worker.arguments, f"{task_queue}-session") as web:
        [entity] = (await web.get("/v1/entities")).json()["entities"]
        info = (await web.get(f"/v1/entities/{entity['id']}/info")).json()
        kept_as = {"entity_id": entity["id"], "type": "workflow_session"}
        conversation = (await web.post("/v1/conversations", json={"metadata": kept_as})).json()["id"]
        asked = await shown(web, entity["id"], conversation, "refund 30")
        [request] = [one for one in asked if one["type"] == "response.request_info.requested"]
        await desk_worker.kill()
        await desk_worker.start()
        answered = await shown(web, entity["id"], conversation, responses({request["request_id"]: "yes"}))
        [kept] = (await web.get("/v1/conversations", params=kept_as)).json()["data"]

    assert (entity["type"], info["name"]) == ("workflow", "desk")
    assert info["workflow_dump"]["start_executor_id"] == "reception"
    assert request["request_data"]["amount"] == 30
    assert request["response_schema"]["type"] == "string"
    deltas = [one["delta"] for one in asked if one["type"] == "response.output_text.delta"]
    assert deltas[:3] == ["Refunding ", "30", " soon."]
    assert "error" not in kinds(asked) + kinds(answered)
    assert kinds(answered)[-1] == "response.completed"
    assert "Paid back 30 in all." in str(answered)
    summary = kept["metadata"]["checkpoint_summary"]
    assert (summary["count"], summary["latest_iteration"], summary["has_pending_hil"]) == (6, 4, False)
