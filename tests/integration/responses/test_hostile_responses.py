"""Responses that strangers make up: each is refused with a reason, or taken as the data it is, and the run goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from pydantic import BaseModel
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.service import RPCError

from temporal_adapter import DurableRun, ResponseRefused
from tests.support.running import pending, serving


class Verdict(BaseModel):
    ok: bool
    remark: str = ""


class Asker(Executor):
    """Asks for a text, for anything, and for a verdict; tells what it was answered."""

    @handler
    async def ask(self, message: str, ctx: WorkflowContext) -> None:
        await ctx.request_info("text", str)
        await ctx.request_info("anything", dict)
        await ctx.request_info("verdict", Verdict)

    @response_handler
    async def text(self, asked: str, answer: str, ctx: WorkflowContext[None, Any]) -> None:
        await ctx.yield_output(answer)

    @response_handler
    async def anything(self, asked: str, answer: dict, ctx: WorkflowContext[None, Any]) -> None:
        await ctx.yield_output(answer)

    @response_handler
    async def verdict(self, asked: str, answer: Verdict, ctx: WorkflowContext[None, Any]) -> None:
        await ctx.yield_output(answer)


def build() -> Workflow:
    return WorkflowBuilder(name="asker", start_executor=Asker(id="asker")).build()


def json_payload(text: bytes) -> RawValue:
    """Return what says that it is JSON, whatever it is."""
    return RawValue(Payload(metadata={"encoding": b"json/plain"}, data=text))


def deep(levels: int) -> bytes:
    return b"[" * levels + b"1" + b"]" * levels


NOT_JSON: dict[str, RawValue] = {
    "bytes": RawValue(Payload(metadata={"encoding": b"binary/plain"}, data=b"\x00\xff")),
    "nothing": RawValue(Payload(metadata={"encoding": b"binary/null"})),
    "an unknown encoding": RawValue(Payload(metadata={"encoding": b"json/strange"}, data=b"{}")),
    "no encoding": RawValue(Payload(data=b"{}")),
    "protobuf": RawValue(
        Payload(metadata={"encoding": b"json/protobuf", "messageType": b"no.such.Message"}, data=b"{}")
    ),
    "broken JSON": json_payload(b'{"request_id": '),
    "no UTF-8": json_payload(b'"\xff\xfe"'),
    "a number of 5000 digits": json_payload(b"1" * 5000),
    "900 levels": json_payload(deep(900)),
    "100,000 levels": json_payload(deep(100_000)),
}


def about(request_id: str) -> dict[str, Any]:
    """Return responses to a request for a `Verdict`, none of which is one."""
    return {
        "pickle of ours": {"$": "pickle", "type": f"{__name__}:Verdict", "data": "gASVBQAAAAAAAACMAWGULg=="},
        "model of ours": {"$": "model", "type": f"{__name__}:Verdict", "fields": {"ok": True}},
        "pickle of MAF's": {"__pickled__": "gASVBQAAAAAAAACMAWGULg==", "__type__": f"{__name__}:Verdict"},
        "lone surrogates": {"ok": "\ud800", "\udfff": "\ud800"},
        "not a number": {"ok": float("nan")},
        "a long text": "x" * 1_000_000,
        "many": list(range(20_000)),
        "a number of 4000 digits": 10**4000,
        "140 levels": json.loads(deep(140)),
    }


@pytest.mark.parametrize("door", ["signal", "update"])
async def test_what_is_no_json_is_refused_and_the_run_goes_on(client: Client, task_queue: str, door: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        await pending(run, 3)

        for name, payload in NOT_JSON.items():
            if door == "signal":
                await run.handle.signal("respond", payload)
            else:
                with pytest.raises(WorkflowUpdateFailedError):
                    await run.handle.execute_update("respond", payload)
            assert await is_well(run), name

        await answer_all(run)


@pytest.mark.parametrize("door", ["signal", "update"])
async def test_what_is_no_verdict_is_refused_and_the_run_goes_on(client: Client, task_queue: str, door: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        verdict = by_data(await pending(run, 3))["verdict"]

        for name, response in about(verdict).items():
            body = {"request_id": verdict, "response": response}
            if door == "signal":
                await run.handle.signal("respond", body)
            else:
                with pytest.raises(WorkflowUpdateFailedError) as refused:
                    await run.handle.execute_update("respond", body)
                assert f"the response to request {verdict} must be" in str(refused.value.cause), name
            assert await is_well(run), name

        await answer_all(run)


WIDE = {
    "900,000 numbers": "[" + ",".join(["1"] * 900_000) + "]",
    "600,000 lists": "[" + ",".join(["[]"] * 600_000) + "]",
    "9,000 lists of 100 levels": "[" + ",".join(["[" * 100 + "]" * 100] * 9000) + "]",
}


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE)
async def test_what_would_take_long_to_look_at_is_refused_unread(client: Client, task_queue: str, text: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        verdict = by_data(await pending(run, 3))["verdict"]
        body = f'{{"request_id": "{verdict}", "response": {text}}}'

        await run.handle.signal("respond", json_payload(body.encode()))

        warning = await anext(event.data async for event in run.events() if event.type == "warning")
        assert warning.startswith("A respond signal was refused: The JSON has more than 100000 ")
        await answer_all(run)


async def test_what_looks_like_stored_values_is_data_where_any_dict_will_do(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        anything = by_data(await pending(run, 3))["anything"]
        given = {
            "$": "pickle",
            "type": "builtins:str",
            "data": "gASVBQAAAAAAAACMAWGULg==",
            "__pickled__": "gASVBQAAAAAAAACMAWGULg==",
            "__type__": "builtins:str",
            "nan": float("nan"),
            "lone": "\ud800",
            "big": 10**1000,
            "deep": json.loads(deep(100)),
        }

        await run.handle.execute_update("respond", {"request_id": anything, "response": given})

        outputs = await answer_all(run)
    assert json.dumps(given, sort_keys=True) in [
        json.dumps(one, sort_keys=True) for one in outputs if type(one) is dict
    ]


async def test_of_a_key_given_twice_the_last_counts(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        text = by_data(await pending(run, 3))["text"]

        body = f'{{"request_id": "x", "response": 1, "request_id": "{text}", "response": "last"}}'
        await run.handle.execute_update("respond", json_payload(body.encode()))

        assert "last" in await answer_all(run)


async def test_a_response_larger_than_temporal_takes_is_an_error_of_the_sender(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        text = by_data(await pending(run, 3))["text"]

        for send in (run.handle.signal, run.handle.execute_update):
            with pytest.raises(RPCError):
                await send("respond", {"request_id": text, "response": "x" * 10_000_000})
        with pytest.raises(RPCError):
            await run.respond(text, "x" * 10_000_000)

        assert await is_well(run)
        await answer_all(run)


async def test_responses_as_large_as_temporal_takes_are_taken(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        requests = by_data(await pending(run, 3))
        large = "x" * 1_900_000

        await run.handle.signal("respond", {"request_id": requests["text"], "response": large})
        await run.handle.signal("respond", {"request_id": requests["anything"], "response": {"key": large}})
        await run.handle.signal(
            "respond", {"request_id": requests["verdict"], "response": {"ok": True, "remark": large}}
        )

        outputs = (await run.result()).get_outputs()
    assert {type(one) for one in outputs} == {str, dict, Verdict}
    assert large in outputs


@pytest.mark.parametrize(("field", "most"), [("responder", 1000), ("comment", 10_000)])
async def test_a_long_name_or_comment_is_refused_by_length(
    client: Client, task_queue: str, field: str, most: int
) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        text = by_data(await pending(run, 3))["text"]

        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await run.handle.execute_update("respond", {"request_id": text, "response": "x", field: "x" * (most + 1)})
        await run.handle.execute_update("respond", {"request_id": text, "response": "x", field: "\ud800" * most})

        assert f"has {most + 1} characters; send at most {most}" in str(refused.value.cause)
        await answer_all(run)


async def test_a_refused_response_leaves_the_others_of_a_batch_alone(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        requests = by_data(await pending(run, 3))
        hostile = about(requests["verdict"])

        with pytest.raises(WorkflowUpdateFailedError):
            await run.handle.execute_update(
                "respond",
                [
                    *({"request_id": requests["verdict"], "response": one} for one in hostile.values()),
                    {"request_id": requests["text"], "response": "fine"},
                ],
            )

        assert list(by_data(await pending(run, 2))) == ["anything", "verdict"]
        assert "fine" in await answer_all(run)


async def test_a_client_is_told_by_an_exception(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start("go")
        verdict = by_data(await pending(run, 3))["verdict"]

        with pytest.raises(
            ResponseRefused, match=r"Its JSON schema: \{.*\"ok\": \{\"title\": \"Ok\", \"type\": \"boolean\"\}"
        ):
            await run.respond(verdict, {"okay": True})

        await answer_all(run)


def by_data(requests: list[Any]) -> dict[str, str]:
    """Return the ids of requests, by what they ask."""
    return {request.data: request.request_id for request in requests}


async def is_well(run: DurableRun) -> bool:
    """Whether the run answers, and no workflow task of it has failed."""
    await run.status()
    history = await run.handle.fetch_history()
    return not any(event.HasField("workflow_task_failed_event_attributes") for event in history.events)


async def answer_all(run: DurableRun) -> list[Any]:
    """Answer what is still asked; return the run's outputs."""
    answers = {"text": "yes", "anything": {"yes": True}, "verdict": {"ok": True}}
    for data, request_id in by_data(await run.pending_requests()).items():
        await run.respond(request_id, answers[data])
    outputs = (await run.result()).get_outputs()
    assert await is_well(run)
    return outputs
