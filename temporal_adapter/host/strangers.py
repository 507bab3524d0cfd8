"""Deliveries to executors that a worker does not have: the run's graph is another one, and the error says so.

Temporal's SDK would only say that there is no such activity, however the worker is told to meet a changed graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from temporalio import activity
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.wire.names import NEWER_SCHEMA, NOT_REGISTERED, parse_executor_activity_type

from .context import Host


def stranger_activity(hosts: Mapping[str, Host]) -> Any:
    """Return a dynamic activity, which Temporal calls for the activity types that a worker has not.

    Args:
        hosts: Those of the worker's workflows, by name.
    """

    async def run(args: Sequence[RawValue]) -> Any:
        activity_type = activity.info().activity_type
        host = _host_of(activity_type, hosts)
        if host is not None and args:
            signature = _signature(activity.payload_converter().from_payload(args[0].payload))
            async with host.pool.borrow() as graph:
                if graph.workflow.graph_signature_hash != signature:
                    raise host.other_graph(graph, signature)
        raise ApplicationError(  # as Temporal's SDK says it
            f"Activity function {activity_type} for workflow {activity.info().workflow_id} {NOT_REGISTERED}",
            type="NotFoundError",
        )

    return activity.defn(dynamic=True)(run)


def has_dynamic(activities: Sequence[Any]) -> bool:
    """Whether one of a worker's activities is dynamic; Temporal allows one."""
    definitions = [getattr(one, "__temporal_activity_definition", None) for one in activities]
    return any(one is not None and one.name is None for one in definitions)


def _host_of(activity_type: str, hosts: Mapping[str, Host]) -> Host | None:
    try:
        return hosts.get(parse_executor_activity_type(activity_type)[0])
    except ValueError:  # somebody else's
        return None


def _signature(data: Any) -> str:
    try:
        return wire.load(wire.DeliveryInput, data).graph
    except wire.NewerSchema as error:
        raise ApplicationError(str(error), type=NEWER_SCHEMA, non_retryable=True) from error
