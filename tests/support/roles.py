"""Workers that take tasks of one kind only, so that a test decides which of two things a run learns first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from agent_framework import Workflow
from temporalio.client import Client
from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    Worker,
    WorkerTuner,
)

from temporal_adapter import AgentFrameworkPlugin, BlobStore

from .running import with_plugin


class _None(CustomSlotSupplier):
    """No slot, ever."""

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        await asyncio.Event().wait()  # until the worker goes, which cancels it
        raise AssertionError

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        pass

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        pass


@asynccontextmanager
async def deciding_or_acting(
    client: Client,
    task_queue: str,
    factory: Callable[[], Workflow],
    *,
    store: BlobStore,
    only: Literal["workflows", "activities"],
    **plugin_options: Any,
) -> AsyncIterator[None]:
    """A worker runs while the block is open that takes workflow tasks only, or activities only."""
    some = FixedSizeSlotSupplier(10)
    tuner = WorkerTuner.create_composite(
        workflow_supplier=some if only == "workflows" else _None(),
        activity_supplier=some if only == "activities" else _None(),
        local_activity_supplier=some,
        nexus_supplier=some,
    )
    plugin = AgentFrameworkPlugin([factory], checkpoint_store=store, **plugin_options)
    # Without a cache there is no queue of the worker's own, in which the server would leave tasks for a while.
    async with Worker(with_plugin(client, plugin), task_queue=task_queue, tuner=tuner, max_cached_workflows=0):
        yield
