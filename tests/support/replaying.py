"""Replaying the histories of runs."""

from __future__ import annotations

from temporalio.worker import Replayer

from temporal_adapter import DurableRun, workflow_type


async def assert_replays(*runs: DurableRun) -> None:
    """Assert that the histories of runs replay, wherever these stand."""
    for run in runs:
        history = await run.handle.fetch_history()
        name = history.events[0].workflow_execution_started_event_attributes.workflow_type.name
        await Replayer(workflows=[workflow_type(name)]).replay_workflow(history)
