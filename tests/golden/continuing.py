"""Scenarios of runs that go on as new Temporal runs of the same workflow id: the history of each link is kept."""

from __future__ import annotations

from typing import Any

from temporal_adapter import BlobStore, Deadline
from tests.golden.people import SECOND, ledger
from tests.golden.stage import OPEN, QUICKLY, Scenario, Stage, Taken, ended, until, waiting
from tests.support import agents, graphs, nested
from tests.support.scripted import Script, flaky_between

SINCE = "0.2.0"
SOON = {"continue_as_new_after": 10}  # history events


async def loop(stage: Stage) -> Taken:
    async with stage.serving(graphs.loop, **SOON) as durable:
        run = await durable.start(0, id=stage.name)
        await ended(run)
        yield "", run


async def at_rest(stage: Stage) -> Taken:
    """An operator asks for it while requests wait, of which one is answered before and one after."""
    async with stage.serving(graphs.ask_twice) as durable:
        run = await durable.start(1, id=stage.name)
        [left, right] = await waiting(run, 2)
        await run.respond(left.request_id, True)
        await waiting(run)
        await _asked_to_leave(stage, run)
        yield OPEN, run
        await run.respond(right.request_id, True)
        await ended(run)
        yield "", run


async def _asked_to_leave(stage: Stage, run: Any) -> None:
    """Have the run go on as a new one, and wait until that rests."""
    before = (await run.handle.describe()).run_id
    await run.handle.signal("continue_as_new")

    async def left() -> bool:
        return (await stage.client.get_workflow_handle(run.id).describe()).run_id != before

    await until(left)
    await waiting(run)


async def in_a_session(stage: Stage) -> Taken:
    async with stage.serving(ledger, **SOON) as durable:
        session = durable.session(stage.name)
        for amount in (1, 2):
            await session.run(amount)
        yield "idle.open", session.durable_run
        [request] = (await session.run(500)).get_request_info_events()
        await session.run(responses={request.request_id: True})
        await session.reset()
        await session.run(3)
        await session.close()
        yield "", session.durable_run


async def with_a_deadline(stage: Stage) -> Taken:
    """What is left of a deadline is kept in the next link."""
    deadline = Deadline(expire_after=3 * SECOND, on_expiry="default", default=True)
    async with stage.serving(graphs.ask_once, deadlines=[deadline]) as durable:
        run = await durable.start(1, id=stage.name)
        await waiting(run)
        await _asked_to_leave(stage, run)
        await ended(run)
        yield "", run


async def in_a_sub_workflow(stage: Stage) -> Taken:
    async with stage.serving(nested.propagates, **SOON) as durable:
        run = await durable.start(1, id=stage.name)
        [request] = await waiting(run)
        yield OPEN, run
        await run.respond(request.request_id, True)
        await ended(run)
        yield "", run


async def streaming(stage: Stage) -> Taken:
    async with stage.serving(agents.one_agent(agents.slowly("one ", "two ")), **SOON) as durable:
        session = durable.session(stage.name)
        for _ in range(2):
            async for _ in session.run("count", stream=True):
                pass
        await session.close()
        yield "", session.durable_run


async def before_an_operator(stage: Stage) -> Taken:
    """An executor fails in a later link, and is retried there."""
    build = flaky_between(Script(), 3, lambda: ConnectionError("the bank is away"))
    async with stage.serving(build, default_activity_options=QUICKLY, on_failure="wait", **SOON) as durable:
        run = await durable.start(1, id=stage.name)

        async def failed() -> bool:
            status = await run.status()
            return bool(status.failed_executors) and not status.unmirrored_checkpoints

        await until(failed)
        await run.retry()
        await ended(run)
        yield "", run


async def moved(stage: Stage) -> Taken:
    """A run that waits is moved to a newer build of the workers."""
    from tests.support.deployments import make_current  # which earlier commits do not have

    store, deployment = BlobStore("memory://"), stage.name

    def options(build_id: str) -> dict[str, Any]:
        return {"store": store, "deployment_name": deployment, "build_id": build_id, "move_waiting_runs": True}

    async with stage.serving(graphs.ask_once, **options("1")) as durable:
        await make_current(stage.client, deployment, "1")
        run = await durable.start(1, id=stage.name)
        await waiting(run)
        async with stage.serving(graphs.ask_once, **options("2")):
            await make_current(stage.client, deployment, "2")
            await _asked_to_leave(stage, run)
            [request] = await waiting(run)
            await run.respond(request.request_id, True)
            await ended(run)
            yield "", run


async def migrated(stage: Stage) -> Taken:
    """A run that waits meets another graph, and a function that carries it over."""

    def wider() -> Any:
        return (
            graphs.WorkflowBuilder(name="ask-once", start_executor=(ask := graphs.Ask(id="ask")))
            .add_fan_out_edges(ask, [graphs.Report("last"), graphs.Report("more")])
            .build()
        )

    store = BlobStore("memory://")
    async with stage.serving(graphs.ask_once, store=store) as durable:
        run = await durable.start(1, id=stage.name)
        [request] = await waiting(run)
    async with stage.serving(wider, store=store, on_graph_change=lambda checkpoint, workflow: checkpoint):
        await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
        await ended(run)
        yield "", run


CONTINUING = [
    Scenario("goes on in a loop", loop, SINCE),
    Scenario("goes on at rest", at_rest, SINCE),
    Scenario("goes on in a session", in_a_session, SINCE),
    Scenario("goes on with a deadline", with_a_deadline, SINCE),
    Scenario("goes on with a sub-workflow", in_a_sub_workflow, SINCE),
    Scenario("goes on while it streams", streaming, SINCE),
    Scenario("goes on before an operator", before_an_operator, SINCE),
    Scenario("moved to another build", moved, SINCE),
    Scenario("migrated", migrated, SINCE),
]
