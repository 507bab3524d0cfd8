"""Many at once: a thousand requests in one run, and responses to two hundred runs; each is answered, and once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from temporalio.client import Client, WorkflowUpdateFailedError

from temporal_adapter import DurableRun
from tests.support.running import pending, serving, until
from tests.support.scripted import Script, asking

ASKERS, EACH = 10, 100


class Send(Executor):
    @handler
    async def send(self, message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message)


class Crowd(Executor):
    """Asks for so many numbers, and adds up what it is answered."""

    def __init__(self, id: str, count: int) -> None:
        super().__init__(id=id)
        self.count = count
        self.total = 0
        self.answers = 0

    @handler
    async def ask(self, message: int, ctx: WorkflowContext) -> None:
        for number in range(self.count):
            await ctx.request_info(f"{self.id} {number}", int)

    @response_handler
    async def answered(self, question: str, answer: int, ctx: WorkflowContext[None, int]) -> None:
        self.total += answer
        self.answers += 1
        if self.answers == self.count:
            await ctx.yield_output(self.total)


def crowds(askers: int, each: int) -> Callable[[], Workflow]:
    """Return a factory of a graph in which so many executors ask for so many numbers each."""

    def build() -> Workflow:
        start, crowd = Send("start"), [Crowd(f"crowd-{number}", each) for number in range(askers)]
        return WorkflowBuilder(name="crowds", start_executor=start).add_fan_out_edges(start, crowd).build()

    return build


async def test_a_thousand_requests_of_one_run_are_answered_in_batches_in_any_order(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, crowds(ASKERS, EACH)) as durable:
        run = await durable.start(1)
        requests = await pending(run, ASKERS * EACH)
        first = [request for request in requests if request.source_executor_id == "crowd-0"]
        rest = [request for request in requests if request.source_executor_id != "crowd-0"]
        random.Random(7).shuffle(rest)

        # When those of one executor are answered, it goes on while the others wait
        await respond(run, first[::-1])
        [output] = await until(lambda: run.handle.query("outputs"))

        # And those of the others are taken in any order, while answers are delivered
        batches = [rest[start : start + 150] for start in range(0, len(rest), 150)]
        accepted = [one for batch in batches for one in await respond(run, batch)]

        trail = [one.request_id for one in await run.responses()]
        left = await run.pending_requests()
        await run.handle.terminate("all are accepted; delivering the rest would take a minute")
    assert output == sum(range(EACH))
    assert accepted == [request.request_id for request in rest]
    assert trail == [request.request_id for request in [*first[::-1], *rest]]
    assert left == []


async def respond(run: DurableRun, requests: list[Any]) -> list[str]:
    """Answer each request with its number; return the ids of what was accepted."""
    answers = [{"request_id": one.request_id, "response": int(one.data.split()[1])} for one in requests]
    answer = await run.handle.execute_update("respond", answers)
    return [one["request_id"] for one in answer["responses"] if one["accepted"]]


async def test_a_thousand_answers_in_one_message_of_which_one_is_wrong(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, crowds(2, 500)) as durable:
        run = await durable.start(1)
        requests = await pending(run, 1000)
        answers: list[dict[str, Any]] = [{"request_id": one.request_id, "response": 1} for one in requests]
        answers[500]["response"] = "one"

        try:
            await run.handle.execute_update("respond", answers)
        except WorkflowUpdateFailedError as error:
            [fates] = error.cause.details  # type: ignore[union-attr]
        else:
            raise AssertionError("nothing was refused")

        refused = [one for one in fates["responses"] if not one["accepted"]]
        [left] = await run.pending_requests()
        await run.handle.terminate("all but one are accepted")
    assert [one["request_id"] for one in refused] == [left.request_id] == [answers[500]["request_id"]]
    assert "must be int" in refused[0]["reason"]


@pytest.mark.parametrize("count", [20, 200])
async def test_responses_to_many_runs_come_at_once(client: Client, task_queue: str, count: int) -> None:
    script = Script()
    async with serving(client, task_queue, asking(script)) as durable:
        runs = await asyncio.gather(*(durable.start(number) for number in range(count)))
        requests = [(await until(run.pending_requests))[0].request_id for run in runs]
        answers = [{"request_id": one, "response": number % 2 == 0} for number, one in enumerate(requests)]

        await asyncio.gather(*(map(send, range(count), runs, answers)))

        results = await asyncio.gather(*(run.handle.result() for run in runs))
    assert [one["outputs"] for one in results] == [[["last", f"0.5: {number % 2 == 0}"]] for number in range(count)]
    assert script.calls["ask answered"] == count


async def send(number: int, run: DurableRun, answer: dict[str, Any]) -> None:
    """Send an answer by signal or, every fourth, by update."""
    if number % 4:
        await run.handle.signal("respond", answer)
    else:
        await run.handle.execute_update("respond", answer)
