"""Sessions and waiting runs go on as new Temporal runs, and nobody who uses them notices."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from bench.soak_worker import clerk
from temporal_adapter.host import context
from tests.support.graphs import answer_all, ask_once, chain, loop
from tests.support.links import is_left, links_of, replay_failures
from tests.support.running import pending, serving, until
from tests.support.slow_turns import SlowTurns


@pytest.fixture(autouse=True)
def _each_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "DEFAULT_CONTINUES_AFTER", 1)


async def test_a_session_takes_its_inputs_one_after_another_over_many_links(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain) as durable:
        session = durable.session(task_queue)

        outputs = [(await session.run(number)).get_outputs() for number in range(4)]

        assert outputs == [[("last", number + 11)] for number in range(4)]
        await session.close()
        events = [event async for event in session.durable_run.events()]
    assert [event.data for event in events if event.type == "output"] == [one for some in outputs for one in some]
    links = await links_of(client, task_queue)
    assert len(links) > 4
    assert await replay_failures(links) == []


async def test_a_turn_goes_on_in_another_link_while_its_caller_waits(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, loop) as durable:
        session = durable.session(task_queue)

        turn = session.run(0, stream=True)
        shown = [event async for event in turn]
        result = await turn.get_final_response()

        again = await session.run(0)
        await session.close()
    assert [event.type for event in shown if event.type == "output"] == ["output"]
    assert result.get_outputs() == again.get_outputs()
    assert len(await links_of(client, task_queue)) > 4


async def test_inputs_that_come_while_the_session_goes_on_are_taken_once(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, clerk) as durable:
        session = durable.session(task_queue)

        async def ask_to_go_on() -> None:
            while True:
                await session.durable_run.handle.signal("continue_as_new")
                await asyncio.sleep(0.2)

        outputs = (await session.run(0)).get_outputs()
        asking = asyncio.ensure_future(ask_to_go_on())
        for number in range(1, 15):
            outputs += (await session.run(number)).get_outputs()
        asking.cancel()
        await session.close()

    assert outputs == [(number, number + 1) for number in range(15)]  # each input, and how many there were


async def test_a_request_that_was_asked_in_one_link_is_answered_in_another(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        await run.handle.signal("continue_as_new")
        before = (await links_of(client, task_queue))[0].run_id
        await until(lambda: _in_another_link(client, task_queue, before))

        [again] = await pending(run)
        [response] = answer_all([again]).values()
        accepted = await run.respond(request.request_id, response)

        assert (await run.respond(request.request_id, response)) == accepted
        assert [event.data for event in await run.result() if event.type == "output"]
        assert [one.outcome for one in await run.responses()] == ["accepted"]
        lineage = await run.checkpoints()
    assert [one.previous_checkpoint_id for one in lineage[1:]] == [one.checkpoint_id for one in lineage[:-1]]
    links = await links_of(client, task_queue)
    assert [is_left(link) for link in links] == [True] * (len(links) - 1) + [False]


async def test_many_answer_while_the_run_goes_on_and_on(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)
        [response] = answer_all([request]).values()

        answers = await asyncio.gather(
            *(run.handle.signal("continue_as_new") for _ in range(3)),
            *(run.respond(request.request_id, response) for _ in range(5)),
            run.handle.signal("respond", {"request_id": request.request_id, "response": {"other": 1}}),
            return_exceptions=True,
        )

        assert len({one for one in answers if one is not None}) == 1, answers
        await run.result()
        assert [one.outcome for one in await run.responses()].count("accepted") == 1


async def _in_another_link(client: Client, workflow_id: str, run_id: str) -> bool:
    return (await client.get_workflow_handle(workflow_id).describe()).run_id != run_id


async def test_a_stream_of_signals_does_not_hold_a_run_up_that_is_to_go_on(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes while it leaves is carried over, and a person's response among it counts."""

    SlowTurns(monkeypatch, 0.5)  # so that there is always a signal whose turn has not come
    async with serving(client, task_queue, ask_once) as durable:
        run = await durable.start(1, id=task_queue)
        [request] = await pending(run)

        async def stream() -> None:
            while True:
                await run.handle.signal("respond", {"request_id": "nobody-asked", "response": True})
                await asyncio.sleep(0.2)

        streams = [asyncio.create_task(stream()) for _ in range(2)]
        await until(lambda: goes_on(client, task_queue, 4))
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        result = await asyncio.wait_for(run.result(), 60)
        ended = await asyncio.gather(*streams, return_exceptions=True)
        told = await run.responses()

    assert result.get_outputs() == [("last", "ask: 1? True")]
    assert all(isinstance(one, RPCError) for one in ended), ended  # the run is over
    assert [one.outcome for one in told if one.request_id == request.request_id] == ["accepted"]
    assert {one.outcome for one in told if one.request_id == "nobody-asked"} == {"refused"}
    links = await links_of(client, task_queue)
    assert max(len(link.events) for link in links) < 1000
    assert await replay_failures(links) == []


async def goes_on(client: Client, workflow_id: str, links: int) -> bool:
    return len(await links_of(client, workflow_id)) >= links
