"""A run that a newer release has started, on workers of this one: it waits for a newer worker, and never fails."""

from __future__ import annotations

import pytest
from temporalio.client import Client

from temporal_adapter import wire
from temporal_adapter.wire import schema
from tests.support.graphs import chain
from tests.support.running import serving, until


async def test_a_run_whose_options_only_a_newer_release_reads_waits_for_that(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = wire.SCHEMA_VERSION + 1
    async with serving(client, task_queue, chain):
        handle = await client.start_workflow("chain", args=[1, {"v": newer}], id=task_queue, task_queue=task_queue)

        async def refusal() -> str | None:
            async for event in handle.fetch_history_events():
                if event.HasField("workflow_task_failed_event_attributes"):
                    return event.workflow_task_failed_event_attributes.failure.message
            return None

        told = await until(refusal)
        assert (
            f"StartOptions was written by a newer release of agent-framework-temporal (schema version {newer})" in told
        )

        # When the worker is upgraded
        monkeypatch.setattr(schema, "SCHEMA_VERSION", newer)
        assert (await handle.result())["outputs"]
