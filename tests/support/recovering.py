"""What tests of recovery share: what a store holds, what history says of a run, and graphs that keep much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agent_framework import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    executor,
    handler,
    response_handler,
)
from temporalio.client import Client

from temporal_adapter import BlobStore
from temporal_adapter.recovery import Expected, expected
from temporal_adapter.recovery.places import parts_of, same
from temporal_adapter.store import CheckpointStore, ValueStore
from tests.support.graphs import Add, Ask, Report


def checkpoints_of(client: Client, store: BlobStore) -> CheckpointStore:
    """Return the checkpoints of the client's namespace, without a cache: what it reads is what is there."""
    return CheckpointStore(store, client.namespace, cache_bytes=0)


def values_of(client: Client, store: BlobStore) -> ValueStore:
    """Return the values of the client's namespace, without a cache."""
    return ValueStore(store, client.namespace, cache_bytes=0)


async def from_history(client: Client, workflow_id: str, store: BlobStore | None = None) -> Expected:
    """Return what the store must have of a run; by default, said where there is no store at all."""
    store = store or BlobStore("memory://")
    return await expected(
        await client.get_workflow_handle(workflow_id).fetch_history(),
        checkpoints=checkpoints_of(client, store),
        values=values_of(client, store),
        data_converter=client.data_converter,
    )


async def assert_store_has(client: Client, store: BlobStore, wanted: Expected) -> None:
    """Assert that each checkpoint is in the store as expected, and that the index has them in the same order."""
    stored, values = checkpoints_of(client, store), values_of(client, store)
    for checkpoint in wanted.checkpoints:
        manifest = await stored.load_by_id(checkpoint.id)
        assert manifest is not None, f"checkpoint {checkpoint.id} is not in the store"
        there, expected_parts = parts_of(manifest), parts_of(checkpoint.manifest)
        assert there.keys() == expected_parts.keys()
        for place, part in expected_parts.items():
            assert await same(part, there[place], values), f"{checkpoint.id} at {place}: {part} != {there[place]}"
    listed = await stored.list_ids(wanted.run.workflow_name, wanted.run.workflow_id)
    assert listed == [checkpoint.id for checkpoint in wanted.checkpoints]


async def contents(store: BlobStore) -> dict[str, bytes]:
    """Return all objects of a store, by name."""
    return {name: await store.get(name) for name in await store.list("")}


class Gather(Executor):
    """Keeps much in the shared state, in small pieces, so that the run builds on stored checkpoints; passes on."""

    @handler
    async def gather(self, value: int, ctx: WorkflowContext[int]) -> None:
        for number in range(20):
            ctx.set_state(f"{self.id} {number}", f"{self.id} {value} {number} " + "x" * 500)
        await ctx.send_message(value + 1)


def gathering_then_asking() -> Workflow:
    """A run that holds more than a snapshot may carry when it asks, and goes on from that once it is answered."""
    first, second, ask, last = Gather(id="first"), Gather(id="second"), Ask(id="ask"), Report("last")
    builder = WorkflowBuilder(name="gathering-then-asking", start_executor=first)
    return builder.add_chain([first, second, ask, last]).build()


def reporting_at_length(size: int) -> Callable[[], Workflow]:
    """Return a factory of a graph that keeps one large text in the shared state, sends it on, and asks."""

    def build() -> Workflow:
        @executor(id="write")
        async def write(value: int, ctx: WorkflowContext[str]) -> None:
            ctx.set_state("report", f"report {value} " + "r" * size)
            ctx.set_state("title", "short")
            await ctx.send_message("m" * size)

        @executor(id="pass")
        async def passes(text: str, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(len(text))

        ask, last = Ask(id="ask"), Report("last")
        builder = WorkflowBuilder(name="reporting-at-length", start_executor=write)
        return builder.add_chain([write, passes, ask, last]).build()

    return build


def filling_child(rounds: int) -> Callable[[], Workflow]:
    """Return a factory of a graph whose sub-workflow changes so much at once that it is stowed; then it asks."""

    def build() -> Workflow:
        @executor(id="fill")
        async def fill(value: int, ctx: WorkflowContext[int, str]) -> None:
            ctx.set_state(f"round {value}", f"{value} " + "f" * 3000)
            await (ctx.send_message(value + 1) if value < rounds else ctx.yield_output(f"filled {value}"))

        @executor(id="turn")
        async def turn(value: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(value)

        inner = WorkflowBuilder(name="filling-child", start_executor=fill).add_edge(fill, turn).add_edge(turn, fill)
        wraps, ask = WorkflowExecutor(inner.build(), id="wraps"), AskText(id="ask")
        start = Add("start")
        builder = WorkflowBuilder(name="filling", start_executor=start).add_chain([start, wraps, ask])
        return builder.add_edge(ask, Report("last")).build()

    return build


class AskText(Executor):
    """Asks about a text, and passes the answer on."""

    @handler
    async def ask(self, value: str, ctx: WorkflowContext[str]) -> None:
        await ctx.request_info(value, bool)

    @response_handler
    async def answered(self, question: str, ok: bool, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(f"{question}: {ok}")


class LateStore(BlobStore):
    """Memory where one writer's object arrives late: when the test says so, whatever became of the writer by then."""

    def __init__(self) -> None:
        super().__init__("memory://")
        self.waiting = asyncio.Event()
        self._part, self._times = "", 0
        self._let = asyncio.Event()
        self._late: asyncio.Task[bool] | None = None

    def delays(self, part: str, nth: int) -> None:
        """Hold back the n-th object from now on that has this part in its name."""
        self._part, self._times = part, nth

    async def arrives(self) -> None:
        """Let the late object arrive."""
        assert self._late is not None
        self._let.set()
        await self._late

    async def _write(self, name: str, data: bytes, mode: Any) -> bool:
        if self._part and self._part in name:
            self._times -= 1
            if self._times == 0:
                self._late = asyncio.ensure_future(self._later(name, data, mode))
                self.waiting.set()
                return await asyncio.shield(self._late)
        return await super()._write(name, data, mode)

    async def _later(self, name: str, data: bytes, mode: Any) -> bool:
        await self._let.wait()
        return await super()._write(name, data, mode)
