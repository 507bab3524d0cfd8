"""Agents in sessions and forks: conversations go on, and what was approved can be declined."""

from __future__ import annotations

from typing import Any

from temporalio.client import Client

from tests.support import reviews
from tests.support.assistants import paying, talking
from tests.support.running import pending, serving


def said(result: Any) -> list[str]:
    return [output.text for output in result.get_outputs()]


async def test_a_session_goes_on_with_the_conversation_as_maf_does(client: Client, task_queue: str) -> None:
    in_process = talking()
    expected = [said(await in_process.run(one)) for one in ("hello", "and again", "bye")]

    async with serving(client, task_queue, talking) as durable:
        session = durable.session(f"{task_queue}-session")
        assert [said(await session.run(one)) for one in ("hello", "and again", "bye")] == expected
        await session.reset()
        assert said(await session.run("hello")) == expected[0]


async def test_a_fork_declines_what_was_approved(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, paying) as durable:
        run = await durable.start("pay Ada")
        requests = await pending(run)
        pause = (await run.status()).checkpoint_id or ""
        await run.respond(requests[0].request_id, reviews.approve(requests)[requests[0].request_id])
        await run.result()

        fork = await durable.fork(pause, responses=reviews.reject(requests))

        assert "paid 5.0 to Ada" in str(said(await run.result()))
        assert "paid 5.0 to Ada" not in str(said(await fork.result()))
