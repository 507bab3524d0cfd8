"""Many people tell a run many things within moments: nothing is lost or counted twice, and its history replays."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from agent_framework import Workflow, WorkflowBuilder
from temporalio.client import Client

from temporal_adapter import CancelRefused, DurableRun, NoWorker, ResponseRefused, SessionRefused
from tests.support.graphs import Add, Ask, chain
from tests.support.links import links_of, replay_failures
from tests.support.running import pending, serving
from tests.support.slow_turns import SlowTurns

REQUESTS = 12
SECONDS = 3.0  # within which all of them are answered


def asks_many() -> Workflow:
    start, asking = Add("start"), [Ask(id=f"ask-{number}") for number in range(REQUESTS)]
    return WorkflowBuilder(name="asks-many", start_executor=start).add_fan_out_edges(start, asking).build()


async def by_update(run: DurableRun, request_id: str) -> None:
    await run.respond(request_id, True)


async def by_signal(run: DurableRun, request_id: str) -> None:
    await run.handle.signal("respond", {"request_id": request_id, "response": True})


async def cancels(run: DurableRun, request_id: str) -> None:
    await run.cancel_pending_requests([request_id])


async def wrong_first(run: DurableRun, request_id: str) -> None:
    with pytest.raises(ResponseRefused, match="bool"):
        await run.respond(request_id, {"a": 1})
    await run.respond(request_id, True)


async def wrong_signals_first(run: DurableRun, request_id: str) -> None:
    await run.handle.signal("respond", {"request_id": request_id, "response": {"a": 1}})
    await run.respond(request_id, True)


async def twice(run: DurableRun, request_id: str) -> None:
    first, second = await asyncio.gather(run.respond(request_id, True), run.respond(request_id, True))
    assert first == second


WAYS: list[Callable[[DurableRun, str], Awaitable[None]]] = [
    by_update,
    by_signal,
    cancels,
    wrong_first,
    wrong_signals_first,
    twice,
]


@pytest.mark.parametrize("cached", [0, 1000])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
async def test_all_that_comes_at_once_is_taken_once_and_replays(
    client: Client, task_queue: str, seed: int, cached: int
) -> None:
    chance = random.Random(seed)
    plans = [(chance.choice(WAYS), chance.random() * SECONDS) for _ in range(REQUESTS)]

    async with serving(client, task_queue, asks_many, max_cached_workflows=cached) as durable:
        run = await durable.start(1, id=task_queue)
        asked = [request.request_id for request in await pending(run, REQUESTS)]

        async def told(request_id: str, way: Callable[[DurableRun, str], Awaitable[None]], after: float) -> None:
            await asyncio.sleep(after)
            await way(run, request_id)

        async def looked_at() -> None:  # by a worker without a cache in a replay of what is in history just then
            for _ in range(15):
                await asyncio.sleep(chance.random() * 0.4)
                await run.status()
                await run.responses()

        await asyncio.gather(looked_at(), *(told(one, *plan) for one, plan in zip(asked, plans, strict=True)))
        await asyncio.wait_for(run.result(), 60)
        outcomes = Counter(one.request_id for one in await run.responses() if one.outcome != "refused")

    assert outcomes == dict.fromkeys(asked, 1)
    assert await replay_failures(await links_of(client, task_queue)) == []


def asks_itself() -> Workflow:
    return WorkflowBuilder(name="asks-itself", start_executor=Ask(id="ask")).build()


async def test_who_tells_a_run_something_in_its_last_superstep_is_answered(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = SlowTurns(monkeypatch)
    async with serving(client, task_queue, asks_itself) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        accepted = await run.respond(request.request_id, True)

        turns.seconds = 8.0  # the superstep, and so the run, is over before
        told = await asyncio.wait_for(
            asyncio.gather(
                run.respond(request.request_id, True),
                run.respond(request.request_id, False),
                run.cancel_pending_requests([request.request_id]),
                run.result(),
                return_exceptions=True,
            ),
            30,
        )

    again, otherwise, cancelled, _ = told
    assert again == accepted
    assert isinstance(otherwise, ResponseRefused), otherwise
    assert isinstance(cancelled, CancelRefused), cancelled
    assert await replay_failures(await links_of(client, task_queue)) == []


async def test_nobody_is_refused_because_no_worker_tells_what_was_accepted(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(client, task_queue, asks_itself) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        accepted = await run.respond(request.request_id, True)
        await run.result()

        async def nobody_answers(*_: object) -> None:
            raise NoWorker("No worker answered.")

        with monkeypatch.context() as patched:
            patched.setattr(run, "_all_pages", nobody_answers)
            with pytest.raises(NoWorker, match="the same one is not counted twice"):
                await run.respond(request.request_id, True)

        assert await run.respond(request.request_id, True) == accepted


@pytest.mark.parametrize("cached", [0, 1000])
async def test_inputs_of_a_session_that_come_at_once_are_taken_or_refused(
    client: Client, task_queue: str, cached: int
) -> None:
    async with serving(client, task_queue, chain, max_cached_workflows=cached) as durable:
        sessions = [durable.session(task_queue) for _ in range(8)]  # of callers that know nothing of each other
        told = await asyncio.gather(*(one.run(number) for number, one in enumerate(sessions)), return_exceptions=True)
        taken = [one for one in told if not isinstance(one, BaseException)]
        refused = [one for one in told if isinstance(one, SessionRefused)]

        again = await sessions[0].run(10)
        await sessions[0].close()

    assert len(taken) + len(refused) == 8, told
    assert taken
    assert again.get_outputs() == [("last", 21)]
    assert await replay_failures(await links_of(client, task_queue)) == []
