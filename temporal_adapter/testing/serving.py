"""A worker for a test: in its own process and event loop, with the plugin that production has."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agent_framework import Workflow
from temporalio.client import Client
from temporalio.worker import Worker

from temporal_adapter.client import DurableWorkflow
from temporal_adapter.definitions import WorkflowSource, define
from temporal_adapter.plugin import AgentFrameworkPlugin
from temporal_adapter.store import BlobStore


@asynccontextmanager
async def agent_worker(
    client: Client,
    workflows: WorkflowSource | Sequence[WorkflowSource],
    *,
    checkpoint_store: str | BlobStore | None = None,
    worker_options: Mapping[str, Any] | None = None,
    **plugin_options: Any,
) -> AsyncGenerator[list[DurableWorkflow], None]:
    """A worker that has these workflows runs while the block is open; yields a `DurableWorkflow` for each, in order.

    It polls a task queue of its own, so that workers of other tests do not take its tasks.

    Args:
        client: Without the plugin.
        workflows: As for `AgentFrameworkPlugin`.
        checkpoint_store: Likewise; by default one in memory, for this worker alone.
        worker_options: Further ones of Temporal's `Worker`, such as `{"max_cached_workflows": 0}`.
        plugin_options: Further ones of `AgentFrameworkPlugin`, as production has them.

    Raises:
        ConfigurationError: A workflow or an option is not usable; the message says what to change.
    """
    sources = [workflows] if isinstance(workflows, Workflow) or callable(workflows) else list(workflows)
    store = BlobStore.of("memory://" if checkpoint_store is None else checkpoint_store)
    plugin = AgentFrameworkPlugin(sources, checkpoint_store=store, **plugin_options)
    names = [definition.name for definition in define(sources)]
    task_queue = f"{names[0]}-{uuid.uuid4().hex[:8]}"
    async with Worker(client, task_queue=task_queue, plugins=[plugin], **(worker_options or {})):
        yield [DurableWorkflow(client, name, task_queue=task_queue, checkpoint_store=store) for name in names]
