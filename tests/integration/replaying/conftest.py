"""Histories of a few runs, recorded once: what the tests of the gate replay, alter and damage."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import timedelta

import pytest
from agent_framework import Workflow
from temporalio.client import Client, WorkflowHistory
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from tests.support import nested
from tests.support.graphs import ask_once, fan_out_fan_in
from tests.support.running import pending, serving

ONCE = ActivityConfig(start_to_close_timeout=timedelta(minutes=5), retry_policy=RetryPolicy(maximum_attempts=1))


async def run(client: Client, build: Callable[[], Workflow], id: str, *, answer: bool = True) -> WorkflowHistory:
    """Run a graph, answer what it asks with yes if at all, and return its history."""
    async with serving(client, f"{id}-queue", build, default_activity_options=ONCE) as durable:
        started = await durable.start(1, id=id)
        if build is not fan_out_fan_in and build is not nested.fails:
            [request] = await pending(started)
            if answer:
                await started.respond(request.request_id, True)
        if answer:
            with contextlib.suppress(Exception):  # of the run that is to fail
                await started.result()
    return await started.handle.fetch_history()


@pytest.fixture(scope="session")
async def recorded(client: Client) -> dict[str, WorkflowHistory]:
    """By name: `fan`, out and in; `asked`, and answered by an update; `waiting` for that; `nested`; `failed`."""
    graphs = {"fan": fan_out_fan_in, "asked": ask_once, "waiting": ask_once, "nested": nested.propagates}
    graphs["failed"] = nested.fails
    ran = [run(client, build, f"replaying-{name}", answer=name != "waiting") for name, build in graphs.items()]
    return dict(zip(graphs, await asyncio.gather(*ran), strict=True))
