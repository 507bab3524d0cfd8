"""Deadlines of requests: reminders, and what happens when nobody answers. Time is the time-skipping test server's."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowRunState
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from temporal_adapter import (
    BlobCheckpointStorage,
    BlobStore,
    ConfigurationError,
    Deadline,
    DurableRun,
    Reminder,
    ResponseRefused,
    workflow_type,
)
from temporal_adapter.plugin import AgentFrameworkPlugin
from tests.support.graphs import Add, Ask, Question, ask_once, ask_twice
from tests.support.running import failure_of, pending, serving, until

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ASKS = "ask-once/ask"


@pytest.fixture(scope="module")
async def skipping() -> AsyncIterator[Client]:
    """A client of a server whose time flies while nothing is to be done."""
    program = Path(sys.executable).with_name("temporal-test-server")
    async with await WorkflowEnvironment.start_time_skipping(test_server_existing_path=str(program)) as environment:
        yield environment.client


class Reminded:
    """Collects reminders."""

    def __init__(self, failures: int = 0) -> None:
        self.reminders: list[Reminder] = []
        self.failures = failures

    async def __call__(self, reminder: Reminder) -> None:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the mail server is away")
        self.reminders.append(reminder)


def forty_ask() -> Workflow:
    start, asking = Add("start"), [Ask(id=f"ask-{number}") for number in range(40)]
    return WorkflowBuilder(name="forty ask", start_executor=start).add_fan_out_edges(start, asking).build()


async def history_replays(run: DurableRun, name: str) -> None:
    await Replayer(workflows=[workflow_type(name)]).replay_workflow(await run.handle.fetch_history())


async def test_people_are_reminded_every_so_often_until_the_request_expires(skipping: Client, task_queue: str) -> None:
    reminded = Reminded()
    deadline = Deadline(executor=ASKS, notify=reminded, remind_every=DAY, expire_after=3.5 * DAY)
    link = "https://approvals.example/runs/{workflow_id}/requests/{request_id}"
    async with serving(skipping, task_queue, ask_once, deadlines=[deadline], request_link=link) as durable:
        run = await durable.start(1, id=f"{task_queue}/42")
        failure = await failure_of(run)
        [expired] = await run.responses()

    assert (failure.type, "had no response until it expired" in failure.message) == ("RequestExpired", True)
    [first, second, third] = reminded.reminders
    assert [one.number for one in (first, second, third)] == [1, 2, 3]
    assert isinstance(first.request.data, Question)
    assert first.workflow_id == f"{task_queue}/42"
    quoted = f"{task_queue}%2F42"
    assert first.link == f"https://approvals.example/runs/{quoted}/requests/{first.request.request_id}"
    assert first.expires_at is not None
    assert first.expires_at - first.asked_at == 3.5 * DAY
    assert (expired.outcome, expired.source, expired.executor_id) == ("expired", "deadline", "ask")
    assert datetime.fromisoformat(str(expired.at)) == first.expires_at
    await history_replays(run, "ask-once")


async def test_a_default_answers_for_people_and_is_marked(skipping: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    deadline = Deadline(request_type=Question, expire_after=2 * DAY, on_expiry="default", default=False)
    async with serving(skipping, task_queue, ask_once, store=store, deadlines=[deadline]) as durable:
        run = await durable.start(1)
        result = await run.result()
        [answered] = await run.responses()

    assert result.get_outputs() == [("last", "ask: 1? False")]
    assert (answered.outcome, answered.source, answered.response) == ("accepted", "deadline", False)
    checkpoint = await BlobCheckpointStorage(store, workflow=ask_once()).load(str(answered.checkpoint_id))
    assert [one["source"] for one in checkpoint.metadata["responses"]] == ["deadline"]
    await history_replays(run, "ask-once")


async def test_an_expired_request_is_cancelled_where_that_is_wanted(skipping: Client, task_queue: str) -> None:
    deadline = Deadline(expire_after=HOUR, on_expiry="cancel")
    async with serving(skipping, task_queue, ask_once, deadlines=[deadline]) as durable:
        run = await durable.start(1)
        result = await run.result()
        [cancelled] = await run.responses()

    assert result.get_final_state() is WorkflowRunState.IDLE
    assert result.get_outputs() == []
    assert (cancelled.outcome, cancelled.source) == ("cancelled", "deadline")
    await history_replays(run, "ask-once")


async def test_an_answer_in_time_ends_reminders_and_expiry(skipping: Client, task_queue: str) -> None:
    reminded = Reminded()
    deadline = Deadline(executor="ask-twice/left", notify=reminded, remind_every=DAY, expire_after=10 * DAY)
    slow = Deadline(executor="ask-twice/right", expire_after=30 * DAY, on_expiry="default", default=True)
    async with serving(skipping, task_queue, ask_twice, deadlines=[deadline, slow]) as durable:
        run = await durable.start(1)

        async def answer_after_two() -> None:
            [left, _] = await pending(run, 2)
            await until(lambda: _told(reminded, 2))
            await run.respond(left.request_id, False)

        answering = asyncio.ensure_future(answer_after_two())
        result = await run.result()  # time flies only while somebody waits for a result
        await answering
        answered = await run.responses()

    assert result.get_outputs() == [("join", ["left: 2? False", "right: 2? True"])]
    assert len(reminded.reminders) < 10
    assert {one.request.source_executor_id for one in reminded.reminders} == {"left"}
    assert [one.source for one in answered] == ["person", "deadline"]
    await history_replays(run, "ask-twice")


async def test_a_reminder_that_cannot_be_sent_is_tried_again_and_given_up_and_fails_nothing(
    skipping: Client, task_queue: str
) -> None:
    reminded = Reminded(failures=7)  # five attempts of the first, two of the second
    deadline = Deadline(
        notify=reminded,
        remind_every=DAY,
        remind_at_once=True,
        expire_after=2.5 * DAY,
        on_expiry="default",
        default=True,
    )
    async with serving(skipping, task_queue, ask_once, deadlines=[deadline]) as durable:
        run = await durable.start(1)
        result = await run.result()
        warnings = [event.data async for event in run.events() if event.type == "warning"]

    assert result.get_outputs() == [("last", "ask: 1? True")]
    assert [one.number for one in reminded.reminders] == [2, 3]
    [warning] = warnings
    assert "Nobody could be reminded of request" in warning
    assert "the mail server is away" in warning
    await history_replays(run, "ask-once")


async def test_a_default_that_the_request_does_not_take_is_told_of_at_once_and_fails_the_run_in_the_end(
    skipping: Client, task_queue: str
) -> None:
    deadline = Deadline(expire_after=DAY, on_expiry="default", default="perhaps")
    async with serving(skipping, task_queue, ask_once, deadlines=[deadline]) as durable:
        run = await durable.start(1)
        failure = await failure_of(run)
        warnings = [event.data async for event in run.events() if event.type == "warning"]
        [refused] = await run.responses()

    assert failure.type == "RequestExpired"
    assert "The default of its deadline is refused: the response to request" in failure.message
    at_once, in_the_end = warnings
    assert at_once.startswith("The default of the request's deadline will be refused, and the run fail of it: ")
    assert in_the_end.startswith(f"The default of the deadline of request {refused.request_id!r} was refused: ")
    assert all('must be bool; the JSON value "perhaps" is not' in one for one in warnings)
    assert (refused.outcome, refused.source) == ("refused", "deadline")


async def test_many_requests_that_expire_together_are_answered_together(client: Client, task_queue: str) -> None:
    deadline = Deadline(expire_after=timedelta(seconds=3), on_expiry="default", default=True)
    async with serving(client, task_queue, forty_ask, deadlines=[deadline]) as durable:
        run = await durable.start(1)
        await run.result()
        answered = await run.responses()
        events = (await run.handle.fetch_history()).events

    assert [one.source for one in answered] == ["deadline"] * 40
    assert sum(event.HasField("timer_fired_event_attributes") for event in events) <= 8


async def test_open_requests_tell_when_they_expire_and_how_often_people_were_reminded(
    client: Client, task_queue: str
) -> None:
    reminded = Reminded()
    deadline = Deadline(notify=reminded, remind_every=DAY, remind_at_once=True, expire_after=DAY, on_expiry="cancel")
    async with serving(client, task_queue, ask_once, deadlines=[deadline]) as durable:
        run = await durable.start(1)
        await pending(run)
        await until(lambda: _told(reminded, 1))
        [request] = await run.open_requests()
        await run.respond(request.request_id, True)
        await run.result()
        events = (await run.handle.fetch_history()).events

    asked, expires = map(datetime.fromisoformat, map(str, (request.asked_at, request.expires_at)))
    assert expires - asked == DAY
    assert (request.on_expiry, request.reminders) == ("cancel", 1)
    assert request.response_schema == {"type": "boolean"}
    timers = Counter(
        kind
        for event in events
        for kind in ("started", "fired", "canceled")
        if event.HasField(f"timer_{kind}_event_attributes")
    )
    assert timers == {"started": 2, "fired": 1, "canceled": 1}


async def test_a_run_that_failed_for_an_expired_request_can_be_resumed_and_answered(
    skipping: Client, task_queue: str
) -> None:
    deadline = Deadline(expire_after=DAY)
    async with serving(skipping, task_queue, ask_once, deadlines=[deadline]) as durable:
        run = await durable.start(1, id=f"{task_queue}-resumed")
        assert (await failure_of(run)).type == "RequestExpired"

        again = await durable.resume(run.id)
        [request] = await pending(again)
        await again.respond(request.request_id, True)
        result = await again.result()

    assert result.get_outputs() == [("last", "ask: 1? True")]


async def test_a_session_goes_on_without_the_request_that_expired(client: Client, task_queue: str) -> None:
    deadline = Deadline(expire_after=timedelta(seconds=1))  # real: a test server that skips time has no such updates
    async with serving(client, task_queue, ask_once, deadlines=[deadline]) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(1)).get_request_info_events()
        run = session.durable_run
        await until(lambda: _has_failed(run))

        with pytest.raises(ResponseRefused, match="has expired"):
            await run.respond(request.request_id, True)
        assert await run.pending_requests() == []
        again = await session.run(2)
        assert len(again.get_request_info_events()) == 1
        await session.close()


@pytest.mark.parametrize(
    ("deadline", "problem"),
    [
        (
            Deadline(executor="ask-once/nobody", expire_after=DAY),
            "no executor is called 'ask-once/nobody'",
        ),
        (Deadline(), "it does nothing"),
        (Deadline(expire_after=timedelta()), "expire_after must be a timedelta above zero"),
        (Deadline(remind_every=DAY), "reminders take both"),
        (Deadline(notify=Reminded(), expire_after=DAY), "reminders take both"),
        (Deadline(notify=print, remind_every=DAY), "notify must be an async function"),  # type: ignore[arg-type]
        (Deadline(expire_after=DAY, on_expiry="explode"), "on_expiry must be one of"),  # type: ignore[arg-type]
        (Deadline(remind_every=DAY, notify=Reminded(), on_expiry="cancel"), "takes expire_after"),
        (Deadline(expire_after=DAY, default=True), "a default is given with on_expiry='default' only"),
        (Deadline(expire_after=DAY, on_expiry="default", default=object()), "the default cannot be sent"),
        (Deadline(expire_after=DAY, on_expiry="default", default="?" * 20_000), "the default has 20002 bytes in JSON"),
        ("tomorrow", "must be a Deadline"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_deadline_that_cannot_be_kept_is_refused_when_the_worker_starts(deadline: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem.replace("(", r"\(")):
        AgentFrameworkPlugin([ask_once], deadlines=[deadline])


def test_a_link_that_cannot_be_filled_in_is_refused_when_the_worker_starts() -> None:
    with pytest.raises(ConfigurationError, match=r"request_link 'https://x/\{run\}' cannot be filled in"):
        AgentFrameworkPlugin([ask_once], request_link="https://x/{run}")


async def _told(reminded: Reminded, count: int) -> bool:
    return len(reminded.reminders) >= count


async def _has_failed(run: DurableRun) -> bool:
    return (await run.status()).state is WorkflowRunState.FAILED
