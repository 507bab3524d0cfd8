"""Pruning beside runs that went on as new Temporal runs: all links of a run are one run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from agent_framework import Workflow, WorkflowBuilder, WorkflowEvent
from temporalio.client import Client

from temporal_adapter import BlobStore, DurableRun, continuation
from temporal_adapter.host import context
from temporal_adapter.recovery import verify
from temporal_adapter.retention import STATES, Pruned, prune
from tests.support.graphs import Ask, Report, chain
from tests.support.links import links_of
from tests.support.recovering import Gather
from tests.support.running import pending, serving
from workers.dev_server import NAMESPACE, dev_server


def gathering_long_then_asking() -> Workflow:
    """Holds more than a snapshot may carry, in more supersteps than are kept of an open run; then asks."""
    executors = [*(Gather(id=f"gather {number}") for number in range(12)), Ask(id="ask"), Report("last")]
    return WorkflowBuilder(name="gathering-longer", start_executor=executors[0]).add_chain(executors).build()


@pytest.fixture(autouse=True)
def links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs go on as new Temporal runs at each chance, and take everything through the blob store."""
    monkeypatch.setattr(context, "DEFAULT_CONTINUES_AFTER", 1)
    monkeypatch.setattr(continuation, "_TAIL_BYTES", 0)
    monkeypatch.setattr(continuation, "_CARRIED_BYTES", 0)
    monkeypatch.setattr(continuation, "_OPENING", 0)
    monkeypatch.setattr(continuation, "_PER_PART", 0)


@pytest.fixture
async def alone() -> AsyncIterator[Client]:
    """A client of a server without other runs: what their histories mention would stay, and equal content is one."""
    async with dev_server() as started:
        yield await Client.connect(started.address, namespace=NAMESPACE)


async def pruned(client: Client, store: BlobStore, **policy: Any) -> Pruned:
    """Prune for real, in two days, when all that is there is old."""
    present = datetime.now(timezone.utc)
    in_two_days = present + timedelta(days=2)
    return await prune(client, store, older_than=timedelta(0), clock=lambda: in_two_days, dry_run=False, **policy)


async def test_an_open_run_keeps_its_last_checkpoints_over_links_and_all_of_its_events(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, gathering_long_then_asking, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)
        told = [event.type async for event in run_events(durable.get_run(task_queue), 30)]
        ids = [one.checkpoint_id for one in await run.checkpoints()]

    report = await pruned(client, store, states=STATES)

    [workflow] = report.workflows
    assert workflow.states == ("open",)
    assert [one.checkpoint_id for one in workflow.kept] == ids[-10:]
    assert workflow.deleted == tuple(ids[:-10])
    assert len(await links_of(client, task_queue)) > 10
    async with serving(client, task_queue, gathering_long_then_asking, store=store) as durable:
        run = durable.get_run(task_queue)
        assert [event.type async for event in run_events(run, len(told))] == told
        [request] = await pending(run)
        await run.respond(request.request_id, True)
        assert (await run.result()).get_outputs()
    after = await verify(client, task_queue, store)
    assert {one.checkpoint_id for one in after.differences if one.kind == "missing" and not one.place} == {*ids[:-10]}
    # What a link carried over that has no checkpoint left has gone with these: it was read, and is in history.
    lost = [one.place for one in after.differences if one.kind.startswith("value")]
    assert [place for place in lost if not place.startswith("part ")] == []


async def run_events(run: DurableRun, count: int) -> AsyncIterator[WorkflowEvent[Any]]:
    """Yield the first so many events of a run that may be open."""
    async for event in run.events():
        yield event
        count -= 1
        if not count:
            return


async def test_the_events_of_a_run_that_is_over_stay_as_long_as_its_last_checkpoint_and_then_all_goes(
    alone: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(alone, task_queue, chain, store=store) as durable:
        run = await durable.start(1, id=task_queue)
        result = await run.result()
        events = [event.type async for event in run.events()]

        report = await pruned(alone, store, keep_last=1)

        [workflow] = report.workflows
        assert (workflow.states, len(workflow.kept)) == (("completed",), 1)
        assert [event.type async for event in run.events()] == events
        assert (await run.result()).get_outputs() == result.get_outputs()
    everything = await pruned(alone, store)
    assert everything.values.objects > 0
    assert [name for name in await store.list(alone.namespace) if "/values/" in name or "/runs/" in name] == []
