"""A worker whose graph is another one than the run's: which activities refuse, how, and which do their work anyway."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from agent_framework import Workflow
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from temporal_adapter import BlobStore, Deadline, graph_changes, wire
from temporal_adapter.definitions import define
from temporal_adapter.host import Host, activities
from temporal_adapter.pool import GraphPool
from temporal_adapter.store import RECORDED_RANK, CheckpointStore
from tests.support import renaming
from tests.support.graphs import Question
from tests.support.renaming import after, before

RUN = GraphPool(before).build().description()
OPTIONS = wire.StartOptions()
HEADER = wire.CheckpointHeader(checkpoint_id="c1", iteration=1, timestamp="2026-01-01T00:00:00+00:00", kind="superstep")
REQUEST = wire.Request(
    request_id="r1",
    source_executor_id="approve",
    data=wire.Value(
        inline={
            "$": "model",
            "type": "tests.support.graphs:Question",
            "fields": {"text": "Will it do?", "amount": 1.0},
        },
        size=1,
    ),
    request_type="tests.support.graphs:Question",
    response_type="bool",
)
MESSAGE = wire.Message(source_id="internal:start", data=wire.Value(inline=1, size=1))
NO_CHANGES = wire.Snapshot(changes=wire.Changes())

# Everything that is done with the graph itself: what executors, routes, types and state are.
WITH_THE_GRAPH: dict[str, wire.DeliveryInput | wire.RespondInput | wire.ResolveKwargs | wire.SeedInput] = {
    "renaming/begin": wire.DeliveryInput(
        graph=RUN.signature,
        executor_id="begin",
        source_ids=["internal:begin"],
        messages=[MESSAGE],
        iteration=1,
        inline_budget=1000,
        snapshot=NO_CHANGES,
    ),
    "renaming:respond": wire.RespondInput(
        graph=RUN.signature, requests=[REQUEST], responses=[wire.Response(request_id="r1", response=True)]
    ),
    "renaming:kwargs": wire.ResolveKwargs(graph=RUN.signature, options=OPTIONS),
    "renaming:seed": wire.SeedInput(message=1, options=OPTIONS, further=True, graph=RUN.signature),
}


class Worker:
    """The activities of a worker that has the graph of the next release."""

    def __init__(self, build: Callable[[], Workflow] = after, **options: Any) -> None:
        [definition] = define([build])
        self.blobs = BlobStore(f"memory://{uuid.uuid4()}")
        host = Host(definition.name, GraphPool(definition.factory), self.blobs, **options)
        self._activities = {
            vars(one)["__temporal_activity_definition"].name: one for one in activities(host, definition.executor_paths)
        }

    async def do(self, activity_type: str, data: Any) -> Any:
        return await self.do_with(activity_type, wire.dump(data))

    async def do_with(self, activity_type: str, data: Any) -> Any:
        client: Any = SimpleNamespace(data_converter=DataConverter.default)
        done = await ActivityEnvironment(client).run(self._activities[activity_type], data)
        return json.loads(done.payload.data)

    async def refused(self, activity_type: str, data: Any) -> ApplicationError:
        with pytest.raises(ApplicationError) as raised:
            await self.do(activity_type, data)
        return raised.value

    @property
    def checkpoints(self) -> CheckpointStore:
        return CheckpointStore(self.blobs, "default")


@pytest.mark.parametrize("activity_type", WITH_THE_GRAPH)
async def test_what_is_done_with_the_graph_is_refused_and_tells_what_differs(activity_type: str) -> None:
    error = await Worker().refused(activity_type, WITH_THE_GRAPH[activity_type])

    assert (error.type, error.non_retryable) == ("GraphChanged", True)
    assert error.message.startswith("This worker's graph of workflow 'renaming' (signature ")
    told = graph_changes.told(RUN, error.details)
    assert told.startswith(
        "executors removed: 'start', 'left', 'right', 'longer', 'join' and 3 more; executors added: "
    )
    assert "'begin'" in told


@pytest.mark.parametrize(
    ("on_graph_change", "error_type"),
    [("wait", "GraphChanged"), ("fail", "GraphRefused"), (renaming.migrate, "GraphMigrates")],
)
@pytest.mark.parametrize("activity_type", WITH_THE_GRAPH)
async def test_the_error_says_what_the_run_is_to_do(activity_type: str, on_graph_change: Any, error_type: str) -> None:
    worker = Worker(on_graph_change=on_graph_change)

    error = await worker.refused(activity_type, WITH_THE_GRAPH[activity_type])

    assert error.type == error_type


async def test_a_first_input_makes_a_run_with_the_workers_graph() -> None:
    data = wire.SeedInput(message=1, options=OPTIONS)
    seeded = wire.load(wire.SeedResult, await Worker().do("renaming:seed", data))
    assert seeded.graph.executors == GraphPool(after).build().description().executors


async def test_a_further_input_of_a_run_of_an_earlier_release_is_taken_as_then() -> None:
    data = wire.SeedInput(message=1, options=OPTIONS, further=True)
    assert wire.load(wire.SeedResult, await Worker().do("renaming:seed", data)).message is not None


# --- what runs no executor ----------------------------------------------------------------------------------


def committing(base: wire.Base | None) -> wire.CommitInput:
    changes = wire.Changes(state={"key": wire.Value(inline=2, size=1)})
    header = wire.replace(HEADER, checkpoint_id="c2", previous_checkpoint_id="c1", iteration=2)
    record = wire.CheckpointRecord(header=header, snapshot=wire.Snapshot(base=base, changes=changes))
    ended = wire.Ended(state="failed", checkpoint_id="c2", at=HEADER.timestamp)
    return wire.CommitInput(graph=RUN.signature, records=[record], ended=ended)


@pytest.mark.parametrize("on_graph_change", ["wait", "fail", renaming.migrate])
async def test_a_checkpoint_is_written_as_one_of_the_runs_own_graph(on_graph_change: Any) -> None:
    worker = Worker(on_graph_change=on_graph_change)
    first = wire.CheckpointRecord(header=HEADER, snapshot=NO_CHANGES)
    base = await worker.checkpoints.commit(first, graph=RUN, workflow_id="test", rank=RECORDED_RANK)

    done = wire.load(wire.CommitResult, await worker.do("renaming:commit", committing(base)))

    assert done.records.base is not None
    written = await worker.checkpoints.load_by_id("c2")
    assert written is not None
    assert (written.graph_signature, written.executor_ids) == (RUN.signature, RUN.executors)
    assert written.outlines["wrap"].executor_ids == RUN.children["wrap"].executors
    assert written.state["key"].inline == 2
    [entry] = await worker.checkpoints.runs("renaming")
    assert entry.ended is not None


@pytest.mark.parametrize("on_graph_change", ["wait", "fail", renaming.migrate])
async def test_a_checkpoint_that_builds_on_none_waits_and_never_fails_the_run(on_graph_change: Any) -> None:
    error = await Worker(on_graph_change=on_graph_change).refused("renaming:commit", committing(None))
    assert error.type == "GraphChanged"


async def test_what_needs_no_checkpoint_is_noted_all_the_same() -> None:
    worker = Worker()
    ended = wire.Ended(state="cancelled", checkpoint_id="c1", at=HEADER.timestamp)
    stow = wire.Stow(path="wrap", snapshot=NO_CHANGES)

    data = wire.CommitInput(graph=RUN.signature, ended=ended, discard=["c9"], stow=[stow])
    done = wire.load(wire.CommitResult, await worker.do("renaming:commit", data))

    assert len(done.stowed) == 1
    [entry] = await worker.checkpoints.runs("renaming")
    assert entry.ended == ended


REMINDER = wire.NotifyInput(graph=RUN.signature, request=REQUEST, number=1)


async def test_people_are_reminded_whatever_the_graph() -> None:
    reminded: list[Any] = []

    async def notify(reminder: Any) -> None:
        reminded.append(reminder.request.data)

    await Worker(deadlines=[Deadline(remind_every=60, notify=notify)]).do("renaming:notify", REMINDER)

    assert reminded == [Question(text="Will it do?", amount=1.0)]


async def test_a_reminder_that_no_deadline_of_the_worker_is_for_is_refused_and_not_lost() -> None:
    assert (await Worker().refused("renaming:notify", REMINDER)).type == "GraphChanged"


# --- what only a newer release reads ------------------------------------------------------------------------


@pytest.mark.parametrize("activity_type", [*WITH_THE_GRAPH, "renaming:commit", "renaming:notify", "renaming:turn"])
async def test_an_input_of_a_newer_schema_waits_for_a_newer_worker(activity_type: str) -> None:
    with pytest.raises(ApplicationError) as raised:
        await Worker().do_with(activity_type, {"v": wire.SCHEMA_VERSION + 1})

    assert (raised.value.type, raised.value.non_retryable) == ("NewerSchema", True)
    assert "Upgrade this process to the release that wrote it, or a newer one." in raised.value.message
