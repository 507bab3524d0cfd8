"""What `doctor` looks at, one after the other. Nothing here changes anything, but for the probe of the store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, GetSystemInfoRequest
from temporalio.client import Client
from temporalio.service import RPCError

from temporal_adapter.cli.checkpoints.opened import opened
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import DEFAULT_CHECKPOINT_STORE, StoreOptions
from temporal_adapter.cli.running import CliError
from temporal_adapter.connection import ConnectionFailed
from temporal_adapter.definitions import ConfigurationError, Definition, define
from temporal_adapter.loading import ObjectNotFound, described, find_factory
from temporal_adapter.search_attribute import attribute_type, creating_it
from temporal_adapter.store import StoreError
from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE

from .check import Check
from .worker_checks import of_workers


async def examined(
    options: StoreOptions, task_queues: Sequence[str], factories: Sequence[str]
) -> AsyncGenerator[Check, None]:
    """Yield what each check finds. Where the server does not answer, none that needs it follows."""
    definitions: list[Definition] = []
    for name in factories:
        yield _of_graph(name, definitions)
    yield await _of_store(options)
    try:
        client = await connected(options)
    except (ConnectionFailed, CliError) as error:
        yield Check("server", "problem", str(error))
        return
    yield await _of_server(client)
    yield await _of_namespace(client)
    yield await _of_search_attribute(client)
    async for check in of_workers(client, task_queues, [one.name for one in definitions]):
        yield check


def _of_graph(name: str, definitions: list[Definition]) -> Check:
    """Build a graph as a worker does, twice; add it to those that are valid."""
    subject = f"graph {name!r}"
    try:
        [definition] = define([find_factory(name)])
    except (ObjectNotFound, ConfigurationError) as error:
        return Check(subject, "problem", str(error))
    except Exception as error:  # whatever a user's factory raises
        return Check(subject, "problem", f"it cannot be built: {described(error)}")
    definitions.append(definition)
    count = len(definition.executor_paths)
    return Check(subject, "ok", f"workflow {definition.name!r}, of {count} executors.")


async def _of_store(options: StoreOptions) -> Check:
    subject, url = "checkpoint store", options.checkpoint_store
    try:
        await opened(options).blobs.probe()
    except CliError as error:
        if url == DEFAULT_CHECKPOINT_STORE:  # which is below the workers' directory, and need not be below this one
            fix = "Give the workers' store by --checkpoint-store or TEMPORAL_ADAPTER_CHECKPOINT_STORE."
            return Check(subject, "warning", f"there is none at {url} here, so it was not looked at.", fix)
        return Check(subject, "problem", str(error))
    except (StoreError, ConnectionFailed) as error:
        return Check(subject, "problem", str(error))
    return Check(subject, "ok", f"{url} can be written and read from here.")


async def _of_server(client: Client) -> Check:
    address = client.service_client.config.target_host
    try:
        info = await client.workflow_service.get_system_info(GetSystemInfoRequest())
    except RPCError as error:
        return Check("server", "warning", f"{address} answers, and does not say what it is: {error.message}.")
    return Check("server", "ok", f"{address} answers; its version is {info.server_version or 'not told'}.")


async def _of_namespace(client: Client) -> Check:
    subject = f"namespace {client.namespace!r}"
    try:
        described = await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace)
        )
    except RPCError as error:  # it was there a moment ago
        return Check(subject, "warning", f"it cannot be described: {error.message}.")
    days = described.config.workflow_execution_retention_ttl.seconds / 86400
    return Check(subject, "ok", f"it is there; days that it keeps runs which are over: {days:g}.")


async def _of_search_attribute(client: Client) -> Check:
    subject, name = "search attribute", PENDING_REQUESTS_ATTRIBUTE
    try:
        kind = await attribute_type(client)
    except RPCError as error:
        return Check(subject, "warning", f"whether there is {name} cannot be asked: {error.message}.")
    create = creating_it(client)
    if kind is None:
        detail = f"there is no {name}, so that lists of open requests ask each open run."
        return Check(
            subject, "warning", detail, f"To have it: {create}; and AgentFrameworkPlugin(search_attributes=True)."
        )
    if kind != "Int":
        detail = f"{name} is there, and its type is {kind}, not Int."
        return Check(subject, "problem", detail, f"Remove it, then: {create}")
    return Check(subject, "ok", f"{name} is there.")
