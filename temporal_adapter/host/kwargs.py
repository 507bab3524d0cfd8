"""Run kwargs: what a run is given for the tools and chat clients of its agents, as MAF's `Workflow.run` takes them.

They become shared state, under keys and in a form that are MAF's to choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agent_framework import WorkflowEvent, WorkflowInvocationKwargs
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.nesting import Called, runs_elsewhere
from temporal_adapter.payload import Writer
from temporal_adapter.pool import BuiltGraph
from temporal_adapter.wire.names import RUN_REFUSED

from .context import Host, now


async def resolve_kwargs(host: Host, data: wire.ResolveKwargs) -> wire.ResolvedKwargs:
    """Return the shared state that kwargs become which come with responses.

    Raises:
        ApplicationError: MAF refuses them.
    """
    async with host.graph(data.graph) as graph:
        try:
            state = await _state(graph, data.options)
        except (ValueError, RuntimeError) as error:
            raise refused(graph, error) from error
        writer = Writer(graph.codec, host.stores().values)
        return wire.ResolvedKwargs(state=await writer.values(state, "state"), at=now())


def kwargs_of(graph: BuiltGraph, options: wire.StartOptions) -> dict[str, Any]:
    """Return the kwargs in a run's options, by the name of `Workflow.run`'s argument.

    Raises:
        DecodeError: They cannot be decoded.
        ApplicationError: They are no mapping.
    """
    return {name: _kwargs(graph, options, name) for name in ("function_invocation_kwargs", "client_kwargs")}


def refused(graph: BuiltGraph, error: Exception) -> ApplicationError:
    """Return the error for a run that MAF does not begin."""
    return ApplicationError(
        f"Workflow {graph.workflow.name!r} cannot be run so: {error}", type=RUN_REFUSED, non_retryable=True
    )


def _kwargs(graph: BuiltGraph, options: wire.StartOptions, name: str) -> Any:
    kwargs = getattr(options, name)
    if kwargs is not None and options.encoding == "tagged":
        kwargs = graph.input_codec.decode(kwargs)
    if kwargs is None or isinstance(kwargs, WorkflowInvocationKwargs):
        return kwargs
    if isinstance(kwargs, Mapping):
        return cast("Mapping[str, Any]", kwargs)
    raise ApplicationError(
        f"{name} of workflow {graph.workflow.name!r} must be a mapping, not {type(kwargs).__name__}: "
        "kwargs for all, or for each executor id.",
        type=RUN_REFUSED,
        non_retryable=True,
    )


async def _state(graph: BuiltGraph, options: wire.StartOptions) -> dict[str, Any]:
    """Let MAF go on from a response, which none of its executors is given, and return the state it goes on with."""
    workflow = graph.workflow
    request: WorkflowEvent[Any] = WorkflowEvent.request_info(
        request_id="kwargs", source_executor_id=workflow.start_executor_id, request_data="", response_type=str
    )
    async with runs_elsewhere(workflow, pending=[request]):
        try:
            await workflow.run(responses={request.request_id: ""}, **kwargs_of(graph, options))
        except Called as call:
            return call.state
    raise AssertionError("Workflow.run returned without a superstep")
