"""The Temporal runs that one run went on as, one after another."""

from __future__ import annotations

from collections.abc import Iterable

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from temporal_adapter import workflow_type

from .histories import count, has_begun, scheduled


async def links_of(client: Client, workflow_id: str) -> list[WorkflowHistory]:
    """Return the histories of all links of the last run of a workflow id, oldest first."""
    links: list[WorkflowHistory] = []
    run_id: str | None = None
    while True:
        history = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
        links.insert(0, history)
        run_id = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
        if not run_id:
            return links


async def rests_in_a_new_link(client: Client, workflow_id: str) -> bool:
    """Whether a run that leaves at each chance has done so at rest: its last link has taken over, and nothing more."""
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    own = [one.activity_type.name.partition(":")[2] for one in scheduled(history)]
    ended = count(history, EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)
    over = history.events[-1].event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    return over and own[-1:] == ["carry_on"] and set(own) <= {"fetch", "carry_on"} and ended == len(own)


def is_left(history: WorkflowHistory) -> bool:
    """Whether the run goes on in another link."""
    return history.events[-1].event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW


async def replay_failures(histories: Iterable[WorkflowHistory]) -> list[Exception]:
    """Return why histories do not replay; nothing where all do."""
    failures: list[Exception] = []
    for history in filter(has_begun, histories):
        name = history.events[0].workflow_execution_started_event_attributes.workflow_type.name
        replayer = Replayer(workflows=[workflow_type(name)])
        result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
        if result.replay_failure is not None:
            failures.append(result.replay_failure)
    return failures
