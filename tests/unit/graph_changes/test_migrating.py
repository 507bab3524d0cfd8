"""Checkpoints carried to a changed graph: MAF's own runner goes on from them as if the graph had always been so."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import (
    AgentExecutorResponse,
    AgentResponse,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowContext,
    WorkflowInvocationKwargs,
    WorkflowMessage,
    handler,
)

from temporal_adapter import BlobCheckpointStorage, BlobStore, migration, wire
from temporal_adapter.host.context import Stores
from temporal_adapter.host.migrate import MigrationRefused, migrated_record
from temporal_adapter.maf import EXECUTOR_STATE_KEY, edge_state_key
from temporal_adapter.pool import GraphPool
from temporal_adapter.store import RECORDED_RANK, CheckpointStore, ValueStore
from tests.support import renaming
from tests.support.graphs import Add, Report

NAMESPACE = "default"


class Shelf:
    """A store, with what in-process runs have left in it."""

    def __init__(self) -> None:
        self._blobs = BlobStore(f"memory://{uuid.uuid4()}")
        self._stores = Stores(ValueStore(self._blobs, NAMESPACE), CheckpointStore(self._blobs, NAMESPACE))

    def storage(self, workflow: Callable[[], Workflow]) -> BlobCheckpointStorage:
        return BlobCheckpointStorage(self._blobs, workflow=workflow, namespace=NAMESPACE)

    async def lineage(self, workflow: Callable[[], Workflow]) -> list[WorkflowCheckpoint]:
        return await self.storage(workflow).list_checkpoints(workflow_name=workflow().name)

    async def migrated(
        self, checkpoint_id: str, workflow: Callable[[], Workflow], function: migration.Migration
    ) -> WorkflowCheckpoint:
        """Carry a checkpoint to the graph that is built now, and return what is stored of it."""
        pool = GraphPool(workflow)
        graph = pool.build()
        header = wire.CheckpointHeader(
            checkpoint_id=str(uuid.uuid4()), iteration=0, timestamp="2026-01-01T00:00:00+00:00", kind="entry"
        )
        record = await migrated_record(graph, pool.build(), self._stores, function, checkpoint_id, header)
        await self._stores.checkpoints.commit(record, graph=graph.description(), workflow_id="", rank=RECORDED_RANK)
        return await self.storage(workflow).load(header.checkpoint_id)

    async def gone_on(self, checkpoint_id: str, workflow: Callable[[], Workflow]) -> list[Any]:
        """Go on in-process from a checkpoint, answering yes to everything; return the outputs."""
        return await run_on(workflow(), checkpoint_id=checkpoint_id, checkpoint_storage=self.storage(workflow))


async def run_on(workflow: Workflow, message: Any = None, **arguments: Any) -> list[Any]:
    """Run in-process to the end, answering yes to everything; return the outputs."""
    outputs: list[Any] = []
    if message is not None:
        arguments["message"] = message
    result = await workflow.run(**arguments)
    storage = arguments.get("checkpoint_storage")
    while True:
        outputs += result.get_outputs()
        asked = result.get_request_info_events()
        if not asked:
            return outputs
        result = await workflow.run(responses={one.request_id: True for one in asked}, checkpoint_storage=storage)


@pytest.fixture
async def shelf() -> Shelf:
    """A store with the lineage of a whole run on the graph of the release before."""
    shelf = Shelf()
    await run_on(renaming.before(), 1, checkpoint_storage=shelf.storage(renaming.before))
    return shelf


async def test_a_run_goes_on_from_each_of_its_checkpoints_after_all_its_executors_were_renamed(shelf: Shelf) -> None:
    lineage = await shelf.lineage(renaming.before)
    assert len(lineage) > 10
    for checkpoint in lineage:
        carried = await shelf.migrated(checkpoint.checkpoint_id, renaming.after, renaming.migrate)

        expected = await shelf.gone_on(checkpoint.checkpoint_id, renaming.before)
        assert await shelf.gone_on(carried.checkpoint_id, renaming.after) == expected, checkpoint.iteration_count


async def test_a_migrated_checkpoint_tells_where_it_comes_from(shelf: Shelf) -> None:
    *_, head = await shelf.lineage(renaming.before)

    carried = await shelf.migrated(head.checkpoint_id, renaming.after, renaming.migrate)

    assert carried.previous_checkpoint_id == head.checkpoint_id
    assert carried.iteration_count == head.iteration_count
    assert carried.graph_signature_hash == renaming.after().graph_signature_hash
    assert carried.metadata["migrated_from"] == {
        "checkpoint_id": head.checkpoint_id,
        "graph_signature": renaming.before().graph_signature_hash,
        "to_graph_signature": renaming.after().graph_signature_hash,
        "function": "tests.support.renaming:migrate",
    }
    assert (await shelf.lineage(renaming.after))[-1].checkpoint_id == carried.checkpoint_id


async def test_an_async_migration_is_awaited_and_may_add_shared_state_and_metadata(shelf: Shelf) -> None:
    *_, head = await shelf.lineage(renaming.before)

    async def migrate(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
        renaming.migrate(checkpoint, workflow)
        checkpoint.state["region"] = {"name": "north"}
        checkpoint.metadata["ticket"] = "OPS-7"
        migration.executor_state(checkpoint, "begin")["calls"].append(41)
        migration.sub_workflow(checkpoint, "around").state["inner"] = 3
        return checkpoint

    carried = await shelf.migrated(head.checkpoint_id, renaming.after, migrate)

    assert carried.state["region"] == {"name": "north"}
    assert carried.metadata["ticket"] == "OPS-7"
    assert carried.state[EXECUTOR_STATE_KEY]["begin"] == {"calls": [1, 41]}
    assert migration.sub_workflow(carried, "around").state["inner"] == 3


# --- what does not fit --------------------------------------------------------------------------------------


async def refused(shelf: Shelf, checkpoint: WorkflowCheckpoint, function: Any, to: Any = renaming.after) -> str:
    with pytest.raises(MigrationRefused) as raised:
        await shelf.migrated(checkpoint.checkpoint_id, to, function)
    return str(raised.value)


async def test_a_migration_that_raises_says_what_and_where(shelf: Shelf) -> None:
    [first, *_] = await shelf.lineage(renaming.before)

    def migrate(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
        raise LookupError("no such ledger")

    told = await refused(shelf, first, migrate)
    assert told.startswith("the migration raised LookupError: no such ledger (")
    assert "test_migrating.py:" in told


@pytest.mark.parametrize("made", [None, {}, "checkpoint"])
async def test_what_is_no_checkpoint_is_refused(shelf: Shelf, made: Any) -> None:
    [first, *_] = await shelf.lineage(renaming.before)
    told = await refused(shelf, first, lambda checkpoint, workflow: made)
    assert told == f"the migration returned {type(made).__name__}, and not a WorkflowCheckpoint"


async def test_what_is_left_of_executors_that_are_no_more_is_refused_and_named(shelf: Shelf) -> None:
    lineage = await shelf.lineage(renaming.before)
    buffered = next(one for one in lineage if one.state.get("_edge_state"))
    asking = next(one for one in lineage if one.pending_request_info_events)

    first = await refused(shelf, lineage[0], migration.unchanged)
    fan_in = await refused(shelf, buffered, _without_states)
    request = await refused(shelf, asking, _without_states)

    assert "a message (int) of 'internal:start' to 'start' that is in flight reaches no executor" in first
    assert "it has state of executor 'start', which the graph has not" in first
    assert "it has state of a sub-workflow 'wrap', which the graph has not" in first
    assert 'wait in the fan-in FanInEdgeGroup:[["longer","join"],["right","join"]], which the graph has not' in fan_in
    assert "was made by executor 'approve', which the graph has not" in request


def _without_states(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
    checkpoint.state[EXECUTOR_STATE_KEY] = {}
    checkpoint.messages = {}
    return checkpoint


async def test_a_state_that_its_executor_does_not_take_is_refused(shelf: Shelf) -> None:
    [first, *_] = await shelf.lineage(renaming.before)

    def migrate(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
        renaming.migrate(checkpoint, workflow)
        migration.executor_state(checkpoint, "begin").clear()
        migration.executor_state(checkpoint, "begin")["count"] = 1
        return checkpoint

    told = await refused(shelf, first, migrate)
    assert "the state of executor 'begin' is not taken by its on_checkpoint_restore: KeyError: 'calls' (" in told


async def test_what_cannot_be_stored_is_refused(shelf: Shelf) -> None:
    [first, *_] = await shelf.lineage(renaming.before)

    def migrate(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
        renaming.migrate(checkpoint, workflow)
        checkpoint.state["lock"] = object()
        return checkpoint

    assert "what the migration made cannot be stored: state['lock']" in await refused(shelf, first, migrate)


async def test_a_checkpoint_of_another_workflow_is_refused(shelf: Shelf) -> None:
    def other() -> Workflow:
        return WorkflowBuilder(name="other", start_executor=Add("start")).build()

    [first, *_] = await shelf.lineage(renaming.before)
    told = await refused(shelf, first, migration.unchanged, other)
    assert told == "it is of workflow 'renaming', and the graph is that of 'other'"


# --- executors that are new, and that are no more -----------------------------------------------------------


class Remembers(Executor):
    """Has a state before anything ran, another one each time it is built."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.session = str(uuid.uuid4())

    @handler
    async def remember(self, value: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(value)

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"session": self.session}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.session = state["session"]


def short() -> Workflow:
    first, last = Add("first"), Report("last")
    return WorkflowBuilder(name="growing", start_executor=first).add_edge(first, last).build()


def grown() -> Workflow:
    first, between, last = Add("first"), Remembers("between"), Report("last")
    return WorkflowBuilder(name="growing", start_executor=first).add_chain([first, between, last]).build()


async def test_an_executor_that_is_new_begins_with_a_state_of_this_run_alone() -> None:
    shelf = Shelf()
    await run_on(short(), 1, checkpoint_storage=shelf.storage(short))
    entry, *_ = await shelf.lineage(short)

    carried = [await shelf.migrated(entry.checkpoint_id, grown, migration.unchanged) for _ in range(2)]

    sessions = {migration.executor_state(one, "between")["session"] for one in carried}
    assert len(sessions) == 2
    assert await shelf.gone_on(carried[0].checkpoint_id, grown) == [("last", 2)]


async def test_an_executor_that_is_no_more_is_removed_by_a_line_and_what_it_sent_is_not_lost_silently() -> None:
    shelf = Shelf()
    await run_on(grown(), 1, checkpoint_storage=shelf.storage(grown))
    entry, after_first, after_between, *_ = await shelf.lineage(grown)

    def migrate(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
        return migration.removed(checkpoint, "between")

    assert await shelf.gone_on((await shelf.migrated(entry.checkpoint_id, short, migrate)).checkpoint_id, short) == [
        ("last", 2)
    ]
    assert await shelf.gone_on(
        (await shelf.migrated(after_first.checkpoint_id, short, migrate)).checkpoint_id, short
    ) == [("last", 2)]
    told = await refused(shelf, after_between, migrate, short)
    assert (
        "a message (int) of 'between' that is in flight reaches no executor; take it out of checkpoint.messages" in told
    )


# --- helpers ------------------------------------------------------------------------------------------------


def test_a_fan_ins_key_is_that_of_the_renamed_graph() -> None:
    [old], [new] = (GraphPool(build).build().router.fan_ins for build in (renaming.before, renaming.after))
    assert edge_state_key(old, renaming.OUTER) == new


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"nobody": "x"}, "The checkpoint has no executor 'nobody'. There are: 'start', "),
        ({"start": "end"}, "Executor 'start' cannot be renamed to 'end': another executor is called so."),
        ({"start": "x", "end": "x"}, "Executor 'start' cannot be renamed to 'x': another executor is called so."),
    ],
)
async def test_a_renaming_that_cannot_be_is_refused(shelf: Shelf, names: dict[str, str], told: str) -> None:
    [first, *_] = await shelf.lineage(renaming.before)
    with pytest.raises(ValueError, match="executor") as raised:
        migration.renamed(first, names)
    assert str(raised.value).startswith(told)


async def test_two_executors_may_change_places(shelf: Shelf) -> None:
    [first, *_] = await shelf.lineage(renaming.before)
    swapped = migration.renamed(first, {"start": "end", "end": "start"})
    assert list(swapped.messages) == ["internal:end"]


async def test_a_sub_workflow_that_is_not_there_is_refused_with_those_there_are(shelf: Shelf) -> None:
    [first, *_] = await shelf.lineage(renaming.before)
    with pytest.raises(ValueError, match=r"no sub-workflow of an executor 'start'. There are: 'wrap'."):
        migration.sub_workflow(first, "start")


KWARGS_KEYS = ["_workflow_run_kwargs", "_resolved_workflow_run_kwargs", "_routed_workflow_run_kwargs"]


async def kwargs_in_state(build: Callable[[], Workflow], given: Any) -> tuple[WorkflowCheckpoint, dict[str, Any]]:
    shelf = Shelf()
    await build().run(1, checkpoint_storage=shelf.storage(build), function_invocation_kwargs=given)
    *_, head = await shelf.lineage(build)
    return head, {key: head.state[key] for key in KWARGS_KEYS}


@pytest.mark.parametrize("explicit", [False, True], ids=["by-id", "explicit"])
async def test_run_kwargs_of_a_renamed_executor_are_those_it_would_have_been_given(explicit: bool) -> None:
    def given(id: str) -> Any:
        return WorkflowInvocationKwargs({"all": 1}, {id: {"one": 2}}) if explicit else {id: {"one": 2}}

    head, _ = await kwargs_in_state(renaming.before, given("start"))
    _, expected = await kwargs_in_state(renaming.after, given("begin"))

    migration.renamed(head, renaming.OUTER)

    assert {key: head.state[key] for key in KWARGS_KEYS} == expected


def test_an_agents_answer_in_flight_is_of_the_agent_under_its_new_name() -> None:
    answer = AgentExecutorResponse("writer", AgentResponse(messages=[]), full_conversation=[])
    checkpoint = WorkflowCheckpoint(
        workflow_name="agents",
        graph_signature_hash="s",
        messages={"writer": [WorkflowMessage(data=answer, source_id="writer")]},
        state={EXECUTOR_STATE_KEY: {"writer": {}}},
    )

    [message] = migration.renamed(checkpoint, {"writer": "author"}).messages["author"]

    assert (message.source_id, message.data.executor_id) == ("author", "author")
