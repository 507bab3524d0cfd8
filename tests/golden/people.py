"""Scenarios of what people and services tell runs: responses, cancellations, sessions, deadlines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler

from temporal_adapter import Deadline, InputRefused, Reminder, ResponseRefused
from tests.golden.stage import ONCE, OPEN, Scenario, Stage, Taken, ended, until, waiting, warned
from tests.support import agents, graphs, nested
from tests.support.graphs import Add, Question, Report
from tests.support.scripted import Script, asker, asking_beside_work

SECOND = timedelta(seconds=1)

# --- responses ----------------------------------------------------------------------------------------------


def three_ask() -> Workflow:
    """Three requests at once, and a fan-in of the answers."""
    start, asks = Add("start"), [graphs.Ask(id=id) for id in ("a", "b", "c")]
    builder = WorkflowBuilder(name="three-ask", start_executor=start).add_fan_out_edges(start, asks)
    return builder.add_fan_in_edges(asks, Report("join")).build()


def many_ask() -> Workflow:
    start, asks = Add("start"), [graphs.Ask(id=f"ask-{number}") for number in range(8)]
    return WorkflowBuilder(name="many-ask", start_executor=start).add_fan_out_edges(start, asks).build()


async def by_signal(stage: Stage) -> Taken:
    async with stage.serving(graphs.ask_once) as durable:
        run = await durable.start(1, id=stage.name)
        [request] = await waiting(run)
        yield OPEN, run
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        await ended(run)
        yield "", run


async def refused(stage: Stage) -> Taken:
    """Responses of a wrong type, to an unknown request, and to one that has been answered."""
    async with stage.serving(graphs.ask_twice) as durable:
        run = await durable.start(1, id=stage.name)
        [left, right] = await waiting(run, 2)
        for request_id, response in ((left.request_id, "perhaps"), ("unknown", True)):
            with contextlib.suppress(ResponseRefused):
                await run.respond(request_id, response)
        await run.handle.signal("respond", {"request_id": right.request_id, "response": "perhaps"})
        await run.respond(left.request_id, True)
        with contextlib.suppress(ResponseRefused):
            await run.respond(left.request_id, False)
        await waiting(run)
        await run.respond(right.request_id, False)
        await ended(run)
        yield "", run


async def in_odd_order(stage: Stage) -> Taken:
    """The last request is answered first, two come in one update, one of them for the second time."""
    async with stage.serving(three_ask) as durable:
        run = await durable.start(1, id=stage.name)
        [a, b, c] = await waiting(run, 3)
        await run.respond(c.request_id, False)
        await waiting(run, 2)
        yield OPEN, run
        both = [{"request_id": one.request_id, "response": True} for one in (b, c, a)]
        with contextlib.suppress(Exception):
            await run.handle.execute_update("respond", both)
        await ended(run)
        yield "", run


async def at_once(stage: Stage) -> Taken:
    """Updates and signals come within moments: right, wrong, twice, and cancellations."""
    async with stage.serving(many_ask) as durable:
        run = await durable.start(1, id=stage.name)
        [first, second, third, fourth, *more] = [one.request_id for one in await waiting(run, 8)]
        told = [
            run.respond(first, True),
            run.respond(second, "perhaps"),
            run.handle.signal("respond", {"request_id": second, "response": True}),
            run.respond(third, True),
            run.respond(third, True),
            run.handle.signal("cancel_requests", {"request_ids": [fourth, third]}),
            run.cancel_pending_requests([fourth]),
            *(run.respond(one, True) for one in more),
        ]
        await asyncio.gather(*told, return_exceptions=True)
        await ended(run)
        yield "", run


async def beside_work(stage: Stage) -> Taken:
    """A response, and one to a request that nobody made, come while another branch works."""
    script = Script()
    script.hold("work")
    async with stage.serving(asking_beside_work(script)) as durable:
        run = await durable.start(1, id=stage.name)
        await script.entered("work")
        [request] = await until(run.pending_requests)
        with contextlib.suppress(ResponseRefused):
            await run.respond("unknown", True)
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        await _judged(run, 1)
        yield OPEN, run
        script.release("work")
        await ended(run)
        yield "", run


async def _judged(run: Any, count: int) -> None:
    """Await until responses were judged so many times."""

    async def judged() -> bool:
        events = (await run.handle.fetch_history()).events
        types = {one.event_id: one.activity_task_scheduled_event_attributes.activity_type.name for one in events}
        begun = [event_id for event_id, name in types.items() if name.endswith(":respond")]
        ended = [one.activity_task_completed_event_attributes.scheduled_event_id for one in events]
        return sum(one in ended for one in begun) >= count

    await until(judged)


async def bad_signals(stage: Stage) -> Taken:
    deep: Any = "bottom"
    for _ in range(200):
        deep = [deep]
    async with stage.serving(graphs.ask_once) as durable:
        run = await durable.start(1, id=stage.name)
        [request] = await waiting(run)
        await run.handle.signal("respond", args=[])
        await run.handle.signal("respond", args=[{"request_id": "a", "response": 1}, "more"])
        await run.handle.signal("respond", args=[deep])
        await run.handle.signal("answer", args=[1])
        await run.handle.signal("cancel_requests", args=[7])
        await run.handle.signal("retry", args=["nobody"])
        await warned(run, 6)
        await run.respond(request.request_id, True)
        await ended(run)
        yield "", run


# --- cancelled requests -------------------------------------------------------------------------------------


async def cancelled_requests(stage: Stage) -> Taken:
    """One request is cancelled by an update, one by a signal, and one is answered."""
    async with stage.serving(three_ask) as durable:
        run = await durable.start(1, id=stage.name)
        [a, b, c] = await waiting(run, 3)
        await run.cancel_pending_requests([b.request_id])
        await waiting(run, 2)
        await run.handle.signal("cancel_requests", {"request_ids": [a.request_id]})
        await waiting(run)
        await run.respond(c.request_id, True)
        await ended(run)
        yield "", run


async def cancelled_beside_work(stage: Stage) -> Taken:
    script = Script()
    script.hold("work")
    async with stage.serving(asking_beside_work(script)) as durable:
        run = await durable.start(1, id=stage.name)
        await script.entered("work")
        [request] = await until(run.pending_requests)
        await run.cancel_pending_requests([request.request_id])
        script.release("work")
        await ended(run)
        yield "", run


async def cancelled_in_sub_workflows(stage: Stage) -> Taken:
    async with stage.serving(nested.two_at_once) as durable:
        run = await durable.start(1, id=stage.name)
        requests = await waiting(run, 2)
        await run.cancel_pending_requests([one.request_id for one in requests])
        await ended(run)
        yield "", run


# --- sessions -----------------------------------------------------------------------------------------------


class Ledger(Executor):
    """Adds up what it is given; asks before it takes more than 100, and raises below zero."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.total = 0

    @handler
    async def add(self, amount: int, ctx: WorkflowContext[None, Any]) -> None:
        if amount < 0:
            raise ValueError("less than nothing")
        if amount > 100:
            await ctx.request_info(Question(text="?", amount=amount), bool)
        else:
            self.total += amount
            await ctx.yield_output(self.total)

    @response_handler
    async def decided(self, question: Question, yes: bool, ctx: WorkflowContext[None, Any]) -> None:
        self.total += int(question.amount) if yes else 0
        await ctx.yield_output(self.total)


def ledger() -> Workflow:
    return WorkflowBuilder(name="ledger", start_executor=Ledger("ledger")).build()


async def session(stage: Stage) -> Taken:
    """Inputs, one of which fails and one of which is refused, responses, a checkpoint, a reset, and the end."""
    async with stage.serving(ledger, default_activity_options=ONCE) as durable:
        session = durable.session(stage.name)
        run = session.durable_run
        await session.run(1)
        yield "idle.open", run
        with contextlib.suppress(ValueError):
            await session.run(-1)
        with contextlib.suppress(InputRefused):
            await session.run("one")
        [request] = (await session.run(500)).get_request_info_events()
        await waiting(run)
        yield "paused.open", run
        await session.run(responses={request.request_id: True}, function_invocation_kwargs={"by": "Ada"})
        [_, second, *_] = await run.checkpoints()
        await session.run(checkpoint_id=second.checkpoint_id)
        await session.reset()
        await session.run(2)
        await session.close()
        yield "", run


async def session_cancels(stage: Stage) -> Taken:
    """Requests are cancelled, answered by a signal, and left open at the end."""
    async with stage.serving(ledger) as durable:
        session = durable.session(stage.name)
        run = session.durable_run
        [request] = (await session.run(500)).get_request_info_events()
        await session.cancel_pending_requests([request.request_id])
        [request] = (await session.run(600)).get_request_info_events()
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        await until(lambda: _idle(run))
        await session.run(700)
        await session.close()
        yield "", run


async def _idle(run: Any) -> bool:
    return (await run.status()).state.value == "IDLE"


async def session_streams(stage: Stage) -> Taken:
    async with stage.serving(agents.one_agent(agents.slowly("one ", "two "))) as durable:
        session = durable.session(stage.name)
        async for _ in session.run("count", stream=True):
            pass
        await session.run("count")
        yield OPEN, session.durable_run
        await session.close()
        yield "", session.durable_run


async def session_is_cancelled(stage: Stage) -> Taken:
    async with stage.serving(ledger) as durable:
        session = durable.session(stage.name)
        await session.run(1)
        await session.durable_run.handle.cancel()
        await ended(session.durable_run)
        yield "", session.durable_run


# --- deadlines ----------------------------------------------------------------------------------------------


def expiring(on_expiry: Any, **terms: Any) -> Callable[[Stage], Taken]:
    """Return a scenario of a run whose request nobody answers."""

    async def play(stage: Stage) -> Taken:
        deadline = Deadline(expire_after=SECOND, on_expiry=on_expiry, **terms)
        async with stage.serving(graphs.ask_once, deadlines=[deadline]) as durable:
            run = await durable.start(1, id=stage.name)
            await ended(run)
            yield "", run

    return play


async def reminded(stage: Stage) -> Taken:
    """People are reminded, in vain at first, and answer one of two requests before their time."""
    reminders: list[int] = []

    async def notify(reminder: Reminder) -> None:
        reminders.append(reminder.number)
        if len(reminders) == 1:
            raise ConnectionError("the mail server is away")

    deadline = Deadline(
        notify=notify, remind_at_once=True, remind_every=1.5 * SECOND, expire_after=90 * SECOND, on_expiry="cancel"
    )
    async with stage.serving(graphs.ask_twice, deadlines=[deadline]) as durable:
        run = await durable.start(1, id=stage.name)
        [left, right] = await waiting(run, 2)

        async def twice() -> bool:
            return len(reminders) >= 5

        await until(twice)
        await run.respond(right.request_id, True)
        await waiting(run)
        yield OPEN, run
        await run.respond(left.request_id, True)
        await ended(run)
        yield "", run


# --- further options ----------------------------------------------------------------------------------------


async def counted(stage: Stage) -> Taken:
    """The run keeps the search attribute of its requests."""
    async with stage.serving(graphs.ask_twice, search_attributes=True) as durable:
        run = await durable.start(1, id=stage.name)
        [left, right] = await waiting(run, 2)
        await run.respond(left.request_id, True)
        await waiting(run)
        await run.respond(right.request_id, True)
        await ended(run)
        yield "", run


async def with_kwargs(stage: Stage) -> Taken:
    async with stage.serving(nested.sees_kwargs) as durable:
        run = await durable.start(1, id=stage.name, function_invocation_kwargs={"user": "Ada"})
        await ended(run)
        yield "", run


async def asks_again(stage: Stage) -> Taken:
    """Two requests of one executor are answered while the first answer is still worked on."""
    script = Script()

    def build() -> Workflow:
        ask = asker(script, "ask", (1.0, 2.0))
        return WorkflowBuilder(name="asks-twice", start_executor=ask).add_edge(ask, Report("last")).build()

    async with stage.serving(build) as durable:
        run = await durable.start(1, id=stage.name)
        [first, second] = await waiting(run, 2)
        script.hold("ask answered")
        await run.respond(first.request_id, True)
        await script.entered("ask answered")
        await run.handle.signal("respond", {"request_id": second.request_id, "response": True})
        await _judged(run, 2)
        script.release("ask answered")
        await ended(run)
        yield "", run


PEOPLE = [
    Scenario("response by update", lambda stage: stage.answered(graphs.ask_once, 1, True)),
    Scenario("response by signal", by_signal),
    Scenario("responses refused", refused),
    Scenario("responses in odd order", in_odd_order),
    Scenario("responses at once", at_once),
    Scenario("response beside work", beside_work),
    Scenario("response while one is worked on", asks_again),
    Scenario("bad signals", bad_signals),
    Scenario("requests cancelled", cancelled_requests),
    Scenario("request cancelled beside work", cancelled_beside_work),
    Scenario("requests of sub-workflows cancelled", cancelled_in_sub_workflows),
    Scenario("session", session),
    Scenario("session with cancelled requests", session_cancels),
    Scenario("session that streams", session_streams),
    Scenario("session cancelled", session_is_cancelled),
    Scenario("deadline fails", expiring("fail")),
    Scenario("deadline cancels", expiring("cancel")),
    Scenario("deadline answers", expiring("default", default=True)),
    Scenario("deadline reminds", reminded),
    Scenario("search attribute", counted),
    Scenario("run kwargs", with_kwargs),
]
