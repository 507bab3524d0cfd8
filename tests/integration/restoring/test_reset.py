"""`session.reset()`: pristine again, at every level of nesting, whatever the session was in the middle of."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, WorkflowRunState, handler
from temporalio.client import Client

from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableSession, ResponseRefused, SessionRefused
from tests.support import nested
from tests.support.graphs import ask_twice
from tests.support.histories import attempts
from tests.support.running import serving

from .test_sessions import ONCE, Gate, gate, ledger


class Route(Executor):
    """Sends even numbers to the left, odd ones to the right."""

    @handler
    async def send(self, value: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(value, target_id="right" if value % 2 else "left")


class Pass(Executor):
    @handler
    async def send(self, value: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(value)


class Join(Executor):
    @handler
    async def join(self, values: list[int], ctx: WorkflowContext[None, list[int]]) -> None:
        await ctx.yield_output(values)


def half_filled() -> Workflow:
    """A fan-in that one input fills only half."""
    route, left, right, join = Route(id="route"), Pass(id="left"), Pass(id="right"), Join(id="join")
    builder = WorkflowBuilder(name="half-filled", start_executor=route)
    return builder.add_fan_out_edges(route, [left, right]).add_fan_in_edges([left, right], join).build()


def session_of(durable: Any, task_queue: str) -> DurableSession:
    return durable.session(f"{task_queue}-session")


async def test_what_was_known_is_forgotten(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = session_of(durable, task_queue)
        first = [(await session.run(one)).get_outputs() for one in (1, 2)]

        await session.reset()

        assert [(await session.run(one)).get_outputs() for one in (1, 2)] == first


async def test_the_next_input_begins_a_new_lineage_whose_parents_are_all_stored(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, nested.three_levels, store=store) as durable:
        session = session_of(durable, task_queue)
        [request] = (await session.run(1)).get_request_info_events()
        await session.run(responses={request.request_id: True})
        await session.reset()
        await session.run(1)
        lineage = await session.durable_run.checkpoints()

    entries = [one for one in lineage if one.kind == "entry"]
    assert [one.previous_checkpoint_id for one in entries] == [None, None]
    storage = BlobCheckpointStorage(store, workflow=nested.three_levels())
    stored = {
        one.checkpoint_id: one for one in await storage.list_checkpoints(workflow_name=nested.three_levels().name)
    }
    assert set(stored) == {one.checkpoint_id for one in lineage}
    assert {one.previous_checkpoint_id for one in stored.values()} - {None} <= set(stored)
    for one in stored.values():
        assert [child.previous_checkpoint_id for child in _children(one.state)] == [None] * len(_children(one.state))


def _children(state: dict[str, Any]) -> list[Any]:
    """Return the checkpoints of sub-workflows, at every depth, in the state of a checkpoint."""
    found: list[Any] = []
    for own in state["_executor_state"].values():
        for value in own.values():
            if hasattr(value, "graph_signature_hash"):
                found += [value, *_children(value.state)]
    return found


@pytest.mark.parametrize("build", [nested.keeps_state, nested.three_levels, nested.two_at_once])
async def test_sub_workflows_are_as_built_at_every_depth(client: Client, task_queue: str, build: Any) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, build, store=store) as durable:
        session, pristine = session_of(durable, task_queue), durable.session(f"{task_queue}-pristine")
        for _ in range(2):
            await session.run(1)
            await session.reset()
        again, first = await session.run(1), await pristine.run(1)
        heads = [(await one.durable_run.status()).checkpoint_id for one in (session, pristine)]
        storage = BlobCheckpointStorage(store, workflow=build())
        of_session, of_pristine = [await storage.load(head or "") for head in heads]

    assert again.get_outputs() == first.get_outputs()
    assert [event.type for event in again] == [event.type for event in first]
    assert of_session.iteration_count == of_pristine.iteration_count
    assert [one.iteration_count for one in _children(of_session.state)] == [
        one.iteration_count for one in _children(of_pristine.state)
    ]


async def test_what_a_fan_in_had_buffered_is_gone(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, half_filled) as durable:
        session, unbroken = session_of(durable, task_queue), durable.session(f"{task_queue}-unbroken")
        await unbroken.run(2)
        assert (await unbroken.run(1)).get_outputs() == [[2, 1]]  # without a reset it is kept, as in MAF

        await session.run(2)
        await session.reset()
        assert (await session.run(1)).get_outputs() == []
        assert (await session.run(4)).get_outputs() == [[4, 1]]


async def test_pending_requests_are_gone_and_late_responses_are_told_why(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        session = session_of(durable, task_queue)
        late = (await session.run(1)).get_request_info_events()
        await session.reset()

        assert await session.durable_run.pending_requests() == []
        assert (await session.durable_run.status()).state is WorkflowRunState.IDLE
        with pytest.raises(ResponseRefused, match="the session was reset since the request was made"):
            await session.durable_run.respond(late[0].request_id, True)
        await session.run(1)
        with pytest.raises(ResponseRefused, match="the session was reset"):
            await session.durable_run.respond(late[1].request_id, True)


async def test_the_next_input_sees_no_event_or_message_of_before(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger, default_activity_options=ONCE) as durable:
        session, pristine = session_of(durable, task_queue), durable.session(f"{task_queue}-pristine")
        with pytest.raises(ValueError, match="less than nothing"):
            await session.run(-1)  # its message was never consumed
        await session.reset()

        again, first = await session.run(1), await pristine.run(1)

        assert [(event.type, event.executor_id) for event in again] == [
            (event.type, event.executor_id) for event in first
        ]
        assert again.get_outputs() == [(1, [1])]


async def test_a_reset_is_refused_while_a_superstep_runs_and_changes_nothing(client: Client, task_queue: str) -> None:
    Gate.opened, Gate.entered = asyncio.Event(), asyncio.Event()
    async with serving(client, task_queue, gate) as durable:
        session = session_of(durable, task_queue)
        running = asyncio.ensure_future(session.run(7))
        await Gate.entered.wait()

        with pytest.raises(SessionRefused, match="is running: wait until it is idle"):
            await session_of(durable, task_queue).reset()

        Gate.opened.set()
        assert (await running).get_outputs() == [7]
        kinds = [one.kind for one in await session.durable_run.checkpoints()]
        assert kinds == ["entry", "superstep"]


async def test_inputs_and_resets_at_once_never_mix(client: Client, task_queue: str) -> None:
    """Each of many callers either has its turn whole, or is refused: the totals show no half of one."""
    async with serving(client, task_queue, ledger) as durable:
        await session_of(durable, task_queue).run(1)

        async def attempt(place: int) -> Any:
            session = session_of(durable, task_queue)
            try:
                return await session.reset() if place % 2 else (await session.run(1)).get_outputs()
            except SessionRefused:
                return "refused"

        outcomes = [one for _ in range(3) for one in await asyncio.gather(*(attempt(place) for place in range(8)))]
        final = (await session_of(durable, task_queue).run(1)).get_outputs()
        lineage = await session_of(durable, task_queue).durable_run.checkpoints()

    runs = [one for one in outcomes if isinstance(one, list)]
    assert runs  # some had their turn
    for total, amounts in [*(one[0] for one in runs), final[0]]:
        assert total == len(amounts)
    resets = sum(one is None for one in outcomes)
    roots = [one for one in lineage if one.previous_checkpoint_id is None]
    assert 1 <= len(roots) <= resets + 1


async def test_a_session_is_reset_any_number_of_times(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = session_of(durable, task_queue)
        for _ in range(10):
            assert (await session.run(1)).get_outputs() == [(1, [1])]
            await session.reset()
            await session.reset()


class Stubborn(Executor):
    """Its save hook raises, and it has what cannot be copied or stored."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.lock = threading.Lock()
        self.socket_like = (one for one in ())
        self.seen = 0

    @handler
    async def count(self, value: int, ctx: WorkflowContext[None, int]) -> None:
        with self.lock:
            self.seen += value
        await ctx.yield_output(self.seen)

    async def on_checkpoint_save(self) -> dict[str, Any]:
        raise RuntimeError("cannot be saved")


async def test_an_executor_that_cannot_save_or_be_copied_runs_and_resets(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        return WorkflowBuilder(name="stubborn", start_executor=Stubborn("stubborn")).build()

    async with serving(client, task_queue, build, default_activity_options=ONCE) as durable:
        session = session_of(durable, task_queue)
        assert [(await session.run(one)).get_outputs() for one in (1, 2)] == [[1], [3]]
        await session.reset()
        assert [(await session.run(one)).get_outputs() for one in (1, 2)] == [[1], [3]]


async def test_a_session_that_is_never_reset_captures_nothing(client: Client, task_queue: str) -> None:
    """A turn makes the activities of a plain run, and none besides."""
    async with serving(client, task_queue, ledger) as durable:
        session, plain = session_of(durable, task_queue), await durable.start(1)
        await plain.result()
        await session.run(1)
        once = await session.durable_run.handle.fetch_history()
        await session.run(1)
        twice = await session.durable_run.handle.fetch_history()
        run = await plain.handle.fetch_history()

    assert attempts(once) == {**attempts(run), "ledger:turn": 1}
    assert attempts(twice) == {activity_type: 2 * count for activity_type, count in attempts(once).items()}
