"""A query sees all that happened, also when the run has to be replayed to answer it.

A replay that stops short of the last result in history would show a run before its input was refused, or a request as
pending that was answered.
"""

from __future__ import annotations

import pytest
from agent_framework import WorkflowRunState
from temporalio.client import Client, WorkflowFailureError

from temporal_adapter import ResponseRefused
from tests.support.graphs import chain
from tests.support.running import pending, serving
from tests.support.scripted import Script, asking


async def test_an_answered_request_is_not_pending(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("ask answered")
    async with serving(client, task_queue, asking(script), max_cached_workflows=0) as durable:
        run = await durable.start(7)
        [request] = await pending(run)
        accepted = await run.respond(request.request_id, True)
        await script.entered("ask answered")

        requests, checkpoints = await run.pending_requests(), await run.checkpoints()

        script.release("ask answered")
        await run.result()
    assert requests == []
    assert checkpoints[-1].checkpoint_id == accepted.checkpoint_id


async def test_a_refusal_shows_in_the_events(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script()), max_cached_workflows=0) as durable:
        run = await durable.start(7)
        [request] = await pending(run)
        offset = (await run.status()).events
        with pytest.raises(ResponseRefused):
            await run.respond(request.request_id, "maybe")

        events = (await run.status()).events

        await run.handle.terminate("seen enough")
    assert events == offset + 1


async def test_an_input_that_was_refused_shows_a_failed_run(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain, max_cached_workflows=0) as durable:
        run = await durable.start("no number")
        with pytest.raises(WorkflowFailureError):
            await run.result()

        assert (await run.status()).state is WorkflowRunState.FAILED
