"""The build of the workers that a run is on, and the one that is current: Worker Versioning, as the server knows it."""

from __future__ import annotations

from dataclasses import dataclass

from temporalio.api.enums.v1 import VersioningBehavior
from temporalio.api.workflow.v1 import WorkflowExecutionVersioningInfo
from temporalio.api.workflowservice.v1 import DescribeWorkerDeploymentRequest
from temporalio.client import Client, WorkflowExecutionDescription


@dataclass(frozen=True, slots=True)
class Placement:
    """Where Worker Versioning has a run.

    Attributes:
        deployment: Name of the worker deployment; None of a run that is on workers without versioning, or on none yet.
        build_id: Of the workers that have the run; None likewise.
        pinned: Whether it stays on that build when another becomes current.
        overridden: Whether an operator pinned it by hand (`temporal workflow update-options`).
    """

    deployment: str | None
    build_id: str | None
    pinned: bool
    overridden: bool


def placement(description: WorkflowExecutionDescription) -> Placement:
    """Return where a run is, as Temporal describes it."""
    info = description.raw_description.workflow_execution_info.versioning_info
    version = info.deployment_version
    if not version.build_id:
        return Placement(None, None, False, _is_pinned_by_hand(info))
    pinned = info.behavior == VersioningBehavior.VERSIONING_BEHAVIOR_PINNED
    return Placement(version.deployment_name, version.build_id, pinned, _is_pinned_by_hand(info))


def _is_pinned_by_hand(info: WorkflowExecutionVersioningInfo) -> bool:
    return info.HasField("versioning_override") and info.versioning_override.HasField("pinned")


async def current_build(client: Client, deployment: str) -> str | None:
    """Return the build of a deployment on which new runs begin; None if they begin on workers without versioning.

    Raises:
        temporalio.service.RPCError: The server refuses, or has no such deployment.
    """
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=deployment)
    answer = await client.workflow_service.describe_worker_deployment(request)
    return answer.worker_deployment_info.routing_config.current_deployment_version.build_id or None
