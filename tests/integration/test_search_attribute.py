"""The search attribute by which runs that wait for people are found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer

from temporal_adapter import ConfigurationError, workflow_type
from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE
from tests.support.graphs import ask_twice
from tests.support.running import pending, serving, until


@pytest.fixture
async def with_attribute(client: Client) -> Client:
    """A client whose namespace has the attribute."""
    request = AddSearchAttributesRequest(
        namespace=client.namespace,
        search_attributes={PENDING_REQUESTS_ATTRIBUTE: IndexedValueType.INDEXED_VALUE_TYPE_INT},
    )
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
    return client


async def test_runs_that_wait_are_found_by_how_many_requests_wait(with_attribute: Client, task_queue: str) -> None:
    async def found(query: str) -> Sequence[str]:
        where = f"TaskQueue = '{task_queue}' and {PENDING_REQUESTS_ATTRIBUTE} {query}"
        return [one.id async for one in with_attribute.list_workflows(where)]

    async with serving(with_attribute, task_queue, ask_twice, search_attributes=True) as durable:
        run, other = await durable.start(1), await durable.start(2)
        left, right = await pending(run, 2)
        await until(lambda: found("= 2"))
        await run.respond(left.request_id, True)
        await until(lambda: found("= 1"))
        assert await found("= 1") == [run.id]
        await run.respond(right.request_id, True)
        await run.result()
        await until(lambda: found("= 0"))
        await other.handle.terminate("seen enough")

        history = await run.handle.fetch_history()
    assert 1 <= upserts(history) <= 4
    await Replayer(workflows=[workflow_type("ask-twice")]).replay_workflow(history)


async def test_a_worker_that_is_to_keep_what_the_namespace_lacks_says_so_and_does_not_serve(server: str) -> None:
    admin = await Client.connect(server)
    request = RegisterNamespaceRequest(
        namespace="without-attribute", workflow_execution_retention_period=Duration(seconds=86_400)
    )
    await admin.workflow_service.register_namespace(request)
    client = await Client.connect(server, namespace="without-attribute")

    with pytest.raises(ConfigurationError, match="search-attribute create --namespace without-attribute"):
        async with serving(client, "without-attribute", ask_twice, search_attributes=True):
            await asyncio.Event().wait()


def upserts(history: WorkflowHistory) -> int:
    """Return how often a run has set the attribute."""
    changes = [one.upsert_workflow_search_attributes_event_attributes.search_attributes for one in history.events]
    return sum(PENDING_REQUESTS_ATTRIBUTE in one.indexed_fields for one in changes)


async def test_a_run_without_it_has_no_event_of_it(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, ask_twice) as durable:
        run = await durable.start(1)
        await pending(run, 2)
        history = await run.handle.fetch_history()
        await run.handle.terminate("seen enough")
    assert upserts(history) == 0
