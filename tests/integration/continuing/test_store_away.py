"""The blob store is away just when a run is to go on as a new Temporal run."""

from __future__ import annotations

import pytest
from temporalio.client import Client

from temporal_adapter import continuation
from temporal_adapter.host import context
from tests.support.faulty import FaultyStore
from tests.support.graphs import answer_all, ask_twice
from tests.support.links import links_of, replay_failures
from tests.support.running import pending, serving, tells, until


async def test_people_are_answered_while_the_run_waits_for_the_store_and_it_goes_on_then(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "DEFAULT_CONTINUES_AFTER", 1_000_000)  # only when it is asked to
    monkeypatch.setattr(continuation, "_CARRIED_BYTES", 0)
    store = FaultyStore()
    async with serving(client, task_queue, ask_twice, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        first, second = await pending(run, 2)
        store.away = True
        await run.handle.signal("continue_as_new")
        await until(lambda: tells(run, "Going on as a new Temporal run waits, and is tried again: Checkpoint"))

        accepted = await run.respond(first.request_id, answer_all([first])[first.request_id])
        assert accepted.checkpoint_id is not None
        assert len(await links_of(client, task_queue)) == 1

        store.away = False
        await until(lambda: goes_on(client, task_queue))
        await run.respond(second.request_id, answer_all([second])[second.request_id])
        await run.result()
        assert [one.outcome for one in await run.responses()] == ["accepted", "accepted"]

    assert await replay_failures(await links_of(client, task_queue)) == []


async def goes_on(client: Client, workflow_id: str) -> bool:
    return len(await links_of(client, workflow_id)) == 2
