"""docs/schema.json: as the code has it, and true of what a real run answers."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from temporalio.client import Client

from temporal_adapter import DurableRun
from temporal_adapter.wire.json_schema import schema
from tests.support.graphs import ask_once, ask_twice, chain
from tests.support.nested import propagates
from tests.support.running import pending, serving

FILE = Path(__file__).parents[3] / "docs" / "schema.json"
SCHEMA: dict[str, Any] = json.loads(FILE.read_text())


def closed(definitions: Any) -> Any:
    """Return a schema in which an object has no other keys than those named: what is answered now must be named."""
    if isinstance(definitions, list):
        return [closed(one) for one in definitions]
    if not isinstance(definitions, dict):
        return definitions
    inner = {key: closed(one) for key, one in definitions.items()}
    return {**inner, "additionalProperties": False} if isinstance(inner.get("properties"), dict) else inner


def validator(door: str, *, every_key: bool = False) -> Draft202012Validator:
    document = copy.deepcopy(SCHEMA)
    document["$ref"] = f"#/$defs/{door}"
    if every_key:
        document["$defs"] = {name: closed(one) for name, one in document["$defs"].items()}
    return Draft202012Validator(document)


def check(door: str, answer: Any) -> None:
    validator(door, every_key=True).validate(answer)


def test_the_file_is_what_the_code_says() -> None:
    assert schema() == SCHEMA, "python -m temporal_adapter.wire.json_schema > docs/schema.json"


def test_it_is_a_json_schema_whose_references_lead_somewhere() -> None:
    def references(one: Any) -> list[str]:
        if isinstance(one, dict):
            own = [one["$ref"]] if isinstance(one.get("$ref"), str) else []
            return own + [found for inner in one.values() for found in references(inner)]
        return [found for inner in one for found in references(inner)] if isinstance(one, list) else []

    Draft202012Validator.check_schema(SCHEMA)
    assert {one.removeprefix("#/$defs/") for one in references(SCHEMA)} <= SCHEMA["$defs"].keys()


async def asked(run: DurableRun) -> None:
    """Hold all that a run answers to queries against the schema."""
    for query in ("status", "graph", "checkpoints", "pending_requests", "responses", "outputs", "events"):
        check(f"query.{query}.answer", await run.handle.query(query))


@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_run_answers_is_as_the_schema_says(client: Client, task_queue: str, stream: bool) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        run = await durable.start(1, id=task_queue, stream=stream)
        left, right = await pending(run, 2)
        await asked(run)
        update = cast("Any", run.handle).execute_update

        response = {"request_id": left.request_id, "response": True, "responder": "Ada", "comment": "fine"}
        check("update.respond.argument", [response])
        check("update.respond.answer", await update("respond", [response]))
        cancellation = {"request_ids": [right.request_id], "responder": "Ada"}
        check("update.cancel_requests.argument", cancellation)
        check("update.cancel_requests.answer", await update("cancel_requests", cancellation))
        check("result", await run.handle.result())
        await asked(run)


async def test_what_a_run_with_a_sub_workflow_answers_is_as_the_schema_says(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, propagates) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)
        await asked(run)
        await run.handle.terminate()


async def test_what_a_session_takes_and_answers_is_as_the_schema_says(client: Client, task_queue: str) -> None:
    check("start.options", {"session": True})
    async with serving(client, task_queue, ask_once) as durable:
        session = durable.session(task_queue)
        check("update.run.argument", {"message": 1})
        await session.run(1)
        [request] = await session.durable_run.open_requests()
        given = {"responses": {request.request_id: True}}
        check("update.run.argument", given)
        check("update.run.answer", await cast("Any", session.durable_run.handle).execute_update("run", given))
        await asked(session.durable_run)
        await session.close()


@pytest.mark.parametrize(
    ("door", "wrong"),
    [
        ("query.status.answer", {"iteration": 1}),
        ("query.pending_requests.answer", {}),
        ("update.respond.argument", {"response": True}),
        ("update.respond.argument", []),
        ("update.cancel_requests.argument", {"request_ids": "all"}),
        ("start.options", {"on_failure": "hope"}),
        ("update.run.argument", {"responses": [1]}),
    ],
)
def test_what_is_wrong_does_not_pass(door: str, wrong: Any) -> None:
    assert not validator(door).is_valid(wrong)


async def test_what_the_schema_lets_pass_as_options_starts_a_run(client: Client, task_queue: str) -> None:
    options = {"on_failure": "wait", "stream": True, "session": False, "client_kwargs": {"region": "north"}}
    check("start.options", options)
    async with serving(client, task_queue, chain):
        handle = await client.start_workflow(
            "chain", args=[1, options], id=task_queue, task_queue=task_queue, result_type=dict[str, Any]
        )
        result = await handle.result()

    check("result", result)
    assert result["outputs"] == [["last", 12]]
