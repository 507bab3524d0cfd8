"""Who serves a task queue, as the server knows it. Asks no worker anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

_RECENT = timedelta(seconds=90)  # an idle worker asks again each minute; the server remembers it for five


@dataclass(frozen=True, slots=True)
class Poller:
    """A worker that asks a task queue for work.

    Attributes:
        identity: As it calls itself, such as `4711@host`.
        last_seen: When it asked last.
    """

    identity: str
    last_seen: datetime


async def pollers(client: Client, task_queue: str, *, of_activities: bool = False) -> list[Poller]:
    """Return the workers that asked a task queue for work lately.

    One that has ended a moment ago may still be among them.

    Args:
        client: A Temporal client.
        task_queue: Its name. Any name is one: a queue that nobody ever used has no workers.
        of_activities: Whether to ask who runs activities, and not who runs workflows.

    Raises:
        temporalio.service.RPCError: The server refuses.
    """
    kind = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY if of_activities else TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace, task_queue=TaskQueue(name=task_queue), task_queue_type=kind
        )
    )
    seen = [Poller(one.identity, one.last_access_time.ToDatetime(tzinfo=timezone.utc)) for one in answer.pollers]
    now = max([datetime.now(timezone.utc), *(one.last_seen for one in seen)])  # whichever clock is ahead
    return [one for one in seen if now - one.last_seen < _RECENT]
