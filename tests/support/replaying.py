"""Replaying the histories of runs."""

from __future__ import annotations

from temporalio.worker import Replayer

from temporal_adapter import DurableRun, workflow_type

from .histories import has_begun


async def assert_replays(*runs: DurableRun) -> None:
    """Assert that the histories of runs replay, wherever these stand."""
    for run in runs:
        history = await run.handle.fetch_history()
        if not has_begun(history):  # it has just gone on as a new Temporal run
            continue
        name = history.events[0].workflow_execution_started_event_attributes.workflow_type.name
        await Replayer(workflows=[workflow_type(name)]).replay_workflow(history)
