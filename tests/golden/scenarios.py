"""The scenarios whose histories are kept: everything that changes which commands a run gives to Temporal.

Supersteps, failures, checkpoints and what else a run does by itself are here; what people do is in `people`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest

from tests.golden.continuing import CONTINUING
from tests.golden.people import PEOPLE
from tests.golden.stage import ONCE, OPEN, QUICKLY, Scenario, Stage, Taken, ended, until, waiting
from tests.support import agents, graphs, nested, wrappers
from tests.support.faulty import FaultyStore
from tests.support.graphs import Add, Report
from tests.support.recovering import filling_child
from tests.support.scripted import Script, asking, flaky_between, steps

# --- supersteps ---------------------------------------------------------------------------------------------


def plain(build: Callable[[], Workflow], message: Any, *responses: Any, **options: Any) -> Callable[[Stage], Taken]:
    """Return a scenario that starts a graph, answers its requests in order, and waits for the end."""
    return lambda stage: stage.answered(build, message, *responses, **options)


async def working(stage: Stage) -> Taken:
    script = Script()
    script.hold("two")
    async with stage.serving(steps(script, "one", "two", "three")) as durable:
        run = await durable.start(1, id=stage.name)
        await script.entered("two")
        yield OPEN, run
        script.release("two")
        await ended(run)
        yield "", run


async def side_by_side(stage: Stage) -> Taken:
    """Siblings end in another order than they began."""
    script = Script()
    ids = ("first", "second", "third")
    for id in ids:
        script.hold(id)

    def build() -> Workflow:
        start, branches = Add("start"), [_step(script, id) for id in ids]
        builder = WorkflowBuilder(name="side by side", start_executor=start).add_fan_out_edges(start, branches)
        return builder.add_fan_in_edges(branches, Report("join")).build()

    async with stage.serving(build) as durable:
        run = await durable.start(1, id=stage.name)
        for done, id in enumerate(reversed(ids), 1):
            await script.entered(id)
            script.release(id)
            await _finished_activities(run, done)
            if id == "third":
                yield OPEN, run
        await ended(run)
        yield "", run


def _step(script: Script, id: str) -> Executor:
    class Step(Executor):
        @handler
        async def step(self, value: int, ctx: WorkflowContext[int]) -> None:
            await script.enter(id)
            await ctx.send_message(value)

    return Step(id=id)


async def _finished_activities(run: Any, count: int) -> None:
    """Await until so many activities are done beside the executor that comes first."""

    async def done() -> bool:
        history = await run.handle.fetch_history()
        completed = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
        return sum(event.event_type == completed for event in history.events) > count

    await until(done)


def two_branches() -> Workflow:
    """Messages of two sources in one superstep, to an executor each."""
    start, left, right = Add("start"), Add("left"), Add("right")
    builder = WorkflowBuilder(name="two-branches", start_executor=start).add_fan_out_edges(start, [left, right])
    return builder.add_edge(left, Report("after left")).add_edge(right, Report("after right")).build()


# --- failures -----------------------------------------------------------------------------------------------


def flaky(failures: int) -> Callable[[Stage], Taken]:
    """Return a scenario of a run beside whose steady executor another fails so many times, of three."""

    async def play(stage: Stage) -> Taken:
        build = flaky_between(Script(), failures, lambda: ConnectionError("the bank is away"))
        async with stage.serving(build, default_activity_options=QUICKLY) as durable:
            run = await durable.start(1, id=stage.name)
            await ended(run)
            yield "", run

    return play


async def operator(stage: Stage) -> Taken:
    build = flaky_between(Script(), 2, lambda: ConnectionError("the bank is away"))
    async with stage.serving(build, default_activity_options=ONCE, on_failure="wait") as durable:
        run = await durable.start(1, id=stage.name)
        await _stuck(run)
        yield OPEN, run
        await run.retry("flaky")
        await _stuck(run)
        await run.handle.signal("retry", args=["flaky"])
        await ended(run)
        yield "", run


async def _stuck(run: Any) -> None:
    async def is_stuck() -> bool:
        status = await run.status()
        return bool(status.failed_executors) and not status.unmirrored_checkpoints

    await until(is_stuck)


async def refused_input(stage: Stage) -> Taken:
    async with stage.serving(graphs.chain) as durable:
        run = await durable.start({"no": "number"}, id=stage.name)
        await ended(run)
        yield "", run


async def cancelled_at_work(stage: Stage) -> Taken:
    script = Script()
    script.hold("two")
    async with stage.serving(steps(script, "one", "two")) as durable:
        run = await durable.start(1, id=stage.name)
        await script.entered("two")
        await run.handle.cancel()
        await ended(run)
        yield "", run


async def cancelled_at_rest(stage: Stage) -> Taken:
    async with stage.serving(graphs.ask_once) as durable:
        run = await durable.start(1, id=stage.name)
        await waiting(run)
        await run.handle.cancel()
        await ended(run)
        yield "", run


async def graph_changed(stage: Stage) -> Taken:
    """The workers have another graph of that name for a while, and then the run's own again."""

    def other() -> Workflow:
        ask, more, last = graphs.Ask(id="ask"), Report("more"), Report("last")
        return WorkflowBuilder(name="ask-once", start_executor=ask).add_edge(ask, last).add_edge(ask, more).build()

    async with stage.serving(graphs.ask_once) as durable:
        run = await durable.start(1, id=stage.name)
        [request] = await waiting(run)
    async with stage.serving(other):
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        await until(lambda: _has(run, EventType.EVENT_TYPE_TIMER_STARTED))
        yield OPEN, run
    async with stage.serving(graphs.ask_once):
        await ended(run)
        yield "", run


async def _has(run: Any, event_type: Any) -> bool:
    return any(event.event_type == event_type for event in (await run.handle.fetch_history()).events)


# --- checkpoints and the store ------------------------------------------------------------------------------


def store_trouble(*held: str) -> Callable[[Stage], Taken]:
    """Return a scenario in which the store cannot be written from when these steps are entered until they are over."""

    async def play(stage: Stage) -> Taken:
        script, store = Script(), FaultyStore()
        for one in held:
            script.hold(one)
        build = flaky_between(script, 0, RuntimeError) if len(held) > 1 else steps(script, "one", *held, "three")
        async with stage.serving(build, store=store) as durable:
            run = await durable.start(1, id=stage.name)
            for one in held:
                await script.entered(one)
            store.away = True
            for one in held:
                script.release(one)
            await until(lambda: _in_trouble(run))
            if len(held) == 1:
                yield OPEN, run
            store.away = False
            await ended(run)
            yield "", run

    return play


async def _in_trouble(run: Any) -> bool:
    status = await run.status()
    return bool(status.unmirrored_checkpoints and status.mirror_error)


async def response_in_trouble(stage: Stage) -> Taken:
    """A response is accepted, and its checkpoint follows when the store is back."""
    script, store = Script(), FaultyStore()
    script.hold("ask answered")
    async with stage.serving(asking(script), store=store) as durable:
        run = await durable.start(1, id=stage.name)
        [request] = await waiting(run)
        store.away = True
        await run.respond(request.request_id, True)
        await until(lambda: _in_trouble(run))
        store.away = False
        script.release("ask answered")
        await ended(run)
        yield "", run


class Fill(Executor):
    """Adds two texts to the shared state."""

    def __init__(self, id: str, size: int) -> None:
        super().__init__(id=id)
        self._size = size

    @handler
    async def fill(self, value: int, ctx: WorkflowContext[int]) -> None:
        for half in ("first", "second"):
            ctx.set_state(f"{self.id} {half}", "x" * self._size)
        await ctx.send_message(value)


def wide() -> Workflow:
    """A superstep of deliveries that hold more than a workflow task may, before which a commit comes."""
    start, fills = Add("start"), [Fill(f"fill {place}", 2900) for place in range(4)]
    seconds = [Add(f"second {place}") for place in range(3)]
    builder = WorkflowBuilder(name="wide", start_executor=start).add_fan_out_edges(start, fills)
    for one in fills:
        builder.add_fan_out_edges(one, seconds)
    return builder.build()


# --- from checkpoints ---------------------------------------------------------------------------------------


async def restored(stage: Stage) -> Taken:
    """A run that failed is resumed; another is replayed, and forked with another response."""
    failures = itertools.count()

    def build() -> Workflow:
        class Once(Executor):
            """Fails in the first run."""

            @handler
            async def take(self, value: str, ctx: WorkflowContext[None, str]) -> None:
                if not next(failures):
                    raise RuntimeError("not yet")
                await ctx.yield_output(value)

        ask, last = graphs.Ask(id="ask"), Once(id="last")
        return WorkflowBuilder(name="restored", start_executor=ask).add_edge(ask, last).build()

    async with stage.serving(build, default_activity_options=ONCE) as durable:
        run = await durable.start(1, id=stage.name)
        [request] = await waiting(run)
        await run.respond(request.request_id, True)
        await ended(run)
        [entry, paused, *_] = [one.checkpoint_id for one in await run.checkpoints()]
        resumed = await durable.resume(stage.name)
        await ended(resumed)
        yield "resumed", resumed
        replayed = await durable.replay(entry, id=f"{stage.name}-replayed")
        await ended(replayed)
        yield "replayed", replayed
        forked = await durable.fork(paused, id=f"{stage.name}-forked", state={"note": "forked"})
        [request] = await waiting(forked)
        yield "forked.open", forked
        await forked.respond(request.request_id, False)
        await ended(forked)
        yield "forked", forked
        answered = await durable.fork(paused, id=f"{stage.name}-answered", responses={request.request_id: False})
        await ended(answered)
        yield "forked with a response", answered


async def temporal_reset(stage: Stage) -> Taken:
    """An operator has Temporal reset a run to its second workflow task."""
    async with stage.serving(graphs.chain) as durable:
        run = await durable.start(1, id=stage.name)
        await ended(run)
        history = await run.handle.fetch_history()
        completed = [
            event.event_id
            for event in history.events
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
        ]
        await stage.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=stage.client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=stage.name),
                reason="again",
                workflow_task_finish_event_id=completed[1],
                request_id=stage.name,
            )
        )
        await ended(run)
        yield "", run


# --- streaming ----------------------------------------------------------------------------------------------


async def streaming(stage: Stage) -> Taken:
    build = agents.two_agents(agents.slowly("one ", "two ", "three"), agents.saying("uno"))
    async with stage.serving(build) as durable:
        run = await durable.start("count", id=stage.name, stream=True)

        async def follow() -> None:
            async for _ in run.stream():
                pass

        following = asyncio.create_task(follow())
        [request] = await waiting(run)
        yield OPEN, run
        await run.respond(request.request_id, True)
        await ended(run)
        await following
        yield "", run


SCENARIOS = [
    Scenario("chain", plain(graphs.chain, 1)),
    Scenario("fan-out and fan-in", plain(graphs.fan_out_fan_in, 1)),
    Scenario("uneven fan-in", plain(graphs.uneven_fan_in, 1)),
    Scenario("two branches", plain(two_branches, 1)),
    Scenario("condition", plain(graphs.async_condition, 1)),
    Scenario("switch-case", plain(graphs.switch_case, 50)),
    Scenario("loop without end", plain(graphs.endless_loop, 0)),
    Scenario("several messages", plain(graphs.several_messages, 3)),
    Scenario("working", working),
    Scenario("side by side", side_by_side),
    Scenario("retry of an activity", flaky(2)),
    Scenario("failure", flaky(9)),
    Scenario("failure that waits for an operator", operator),
    Scenario("refused input", refused_input),
    Scenario("cancelled at work", cancelled_at_work),
    Scenario("cancelled at rest", cancelled_at_rest),
    Scenario("graph changed", graph_changed),
    Scenario("store trouble", store_trouble("two")),
    Scenario("store trouble, side by side", store_trouble("steady", "flaky")),
    Scenario("store trouble at a response", response_in_trouble),
    Scenario("wide", plain(wide, 1)),
    Scenario("restored", restored),
    Scenario("reset by Temporal", temporal_reset),
    Scenario("streaming", streaming),
    Scenario("sub-workflow", plain(nested.messages, 1)),
    Scenario("sub-workflow pauses", plain(nested.propagates, 1, True)),
    Scenario("three levels", plain(nested.three_levels, 1, True, taken_open=False)),
    Scenario("two sub-workflows pause", plain(nested.two_at_once, 1, False, True)),
    Scenario("intercepted requests", plain(nested.intercepts, 8, True, taken_open=False)),
    Scenario("sub-workflow fails", plain(nested.fails, 1, default_activity_options=ONCE)),
    Scenario("sub-workflow fails, handled", plain(wrappers.catches, 1, default_activity_options=ONCE)),
    Scenario("sub-workflow is stowed", plain(filling_child(6), 1, True, taken_open=False)),
    *PEOPLE,
    *CONTINUING,
]
