"""Worker Versioning for tests: workers of a build, which build is current, and on which one a run is.

A deployment's name is the task queue's, so that tests share a server and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from agent_framework import Workflow
from temporalio.api.deployment.v1 import WorkerDeploymentInfo
from temporalio.api.enums.v1 import TaskQueueType, VersioningBehavior, WorkerDeploymentVersionStatus
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeWorkerDeploymentRequest,
    SetWorkerDeploymentCurrentVersionRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter import BlobStore, DurableWorkflow
from workers.dev_server import temporal_program

from .running import serving, until

_KINDS = (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
_PINNED = VersioningBehavior.VERSIONING_BEHAVIOR_PINNED


@asynccontextmanager
async def build(
    client: Client,
    task_queue: str,
    build_id: str,
    factory: Callable[[], Workflow],
    *,
    store: BlobStore,
    current: bool = True,
    **plugin_options: Any,
) -> AsyncIterator[DurableWorkflow]:
    """A worker of a build runs while the block is open; the build is made current, unless told otherwise."""
    options = {"deployment_name": task_queue, "build_id": build_id, **plugin_options}
    async with serving(client, task_queue, factory, store=store, **options) as durable:
        if current:
            await make_current(client, task_queue, build_id)
        yield durable


async def make_current(client: Client, deployment: str, build_id: str) -> None:
    """Have new runs begin on a build, as soon as the server knows it: some time after its first worker polls.

    Returns once they do.
    """
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=deployment, build_id=build_id, identity="tests"
    )

    async def accepted() -> bool:
        try:
            await client.workflow_service.set_worker_deployment_current_version(request)
        except RPCError as error:
            if error.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.FAILED_PRECONDITION):
                raise
            return False
        return True

    await until(accepted)
    await until_current(client, deployment, build_id)


async def until_current(client: Client, deployment: str, build_id: str) -> None:
    """Wait until the task queue goes by it that a build is current: it goes on as before for a moment.

    The deployment's own `routing_config_update_state` does not tell: it may stay in progress for minutes.
    """

    async def known() -> bool:
        return all([await _current_on_queue(client, deployment, kind) == build_id for kind in _KINDS])

    await until(known)


async def _current_on_queue(client: Client, task_queue: str, kind: TaskQueueType.ValueType) -> str:
    """Return the current build as a task queue has it; empty if it has none, or cannot tell at the moment."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=task_queue), task_queue_type=kind
    )
    try:
        answer = await client.workflow_service.describe_task_queue(request)
    except RPCError as error:
        if error.status is RPCStatusCode.CANCELLED:  # the server loads the queue anew, since a build became current
            return ""
        raise
    return answer.versioning_info.current_deployment_version.build_id


async def deployment_info(client: Client, deployment: str) -> WorkerDeploymentInfo:
    """Return what the server knows of a deployment."""
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=deployment)
    return (await client.workflow_service.describe_worker_deployment(request)).worker_deployment_info


async def status_of(client: Client, deployment: str, build_id: str) -> str:
    """Return the status of a build: `CURRENT`, `DRAINING`, `DRAINED`, ..."""
    summaries = (await deployment_info(client, deployment)).version_summaries
    [found] = [one for one in summaries if one.deployment_version.build_id == build_id]
    return WorkerDeploymentVersionStatus.Name(found.status).removeprefix("WORKER_DEPLOYMENT_VERSION_STATUS_")


async def temporal(client: Client, *words: str) -> str:
    """Run a command of Temporal's own command line; return what it prints."""
    to = ["--address", client.service_client.config.target_host, "--namespace", client.namespace]
    process = await asyncio.create_subprocess_exec(
        temporal_program(), *words, *to, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


async def build_of(client: Client, workflow_id: str) -> str:
    """Return the build that the last Temporal run of a workflow id is on, once a worker has taken it."""

    async def known() -> str | None:
        description = await client.get_workflow_handle(workflow_id).describe()
        info = description.raw_description.workflow_execution_info.versioning_info
        # One that has just moved is said to be on the build that it came from, and not to be pinned.
        begun = info.behavior == _PINNED or not info.continue_as_new_initial_versioning_behavior
        return info.deployment_version.build_id if begun else None

    return await until(known)
