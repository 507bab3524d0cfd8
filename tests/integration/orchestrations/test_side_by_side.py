"""Runs of one orchestration at the same time on one worker: none hears what is said in another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent_framework import Workflow
from agent_framework_orchestrations import GroupChatBuilder, GroupChatState
from temporalio.client import Client

from temporal_adapter import DurableRun
from tests.support import chat
from tests.support.differential import run_in_process
from tests.support.running import serving

TOPICS = [f"Topic {number}." for number in range(6)]


class Meeting:
    """Where the agents of all runs meet: none goes on before as many runs are under way as are awaited."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._topics: set[str] = set()
        self._all_there = asyncio.Event()

    async def attend(self, topic: str) -> None:
        """Wait until all runs are under way."""
        self._topics.add(topic)
        if len(self._topics) == self._runs:
            self._all_there.set()
        await asyncio.wait_for(self._all_there.wait(), 90)


def meeting_chat(meeting: Meeting) -> Callable[[], Workflow]:
    """Return a factory of a group chat whose manager lets nobody speak before all runs are under way."""

    async def select(state: GroupChatState) -> str:
        await meeting.attend(state.conversation[0].text)
        return list(state.participants)[state.current_round % len(state.participants)]

    def build() -> Workflow:
        agents = [chat.agent(name) for name in ("writer", "critic")]
        builder = GroupChatBuilder(
            name="meeting", participants=agents, selection_func=select, max_rounds=3, output_from="all"
        )
        return builder.build()

    return build


async def test_six_chats_at_once_on_one_worker_each_do_the_same_as_alone_in_process(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, meeting_chat(Meeting(len(TOPICS)))) as durable:
        runs = [await durable.start(topic, id=f"{task_queue}-{topic}") for topic in TOPICS]
        said = [await _said(run) for run in runs]

    alone = [await run_in_process(meeting_chat(Meeting(1)), topic) for topic in TOPICS]
    assert said == [[output.text for output in run.outputs] for run in alone]
    assert len({str(one) for one in said}) == len(TOPICS)


async def _said(run: DurableRun) -> list[str]:
    return [output.text for output in (await run.result()).get_outputs()]
