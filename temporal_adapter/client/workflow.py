"""A MAF workflow that runs on Temporal, by its name."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Literal

from agent_framework import WorkflowInvocationKwargs
from temporalio.client import Client

from temporal_adapter import wire
from temporal_adapter.converter import ordered_json
from temporal_adapter.payload import Reader
from temporal_adapter.store import BlobStore, ValueStore
from temporal_adapter.values import client_codec

from .reading import EventReader, NoStore
from .run import DurableRun

Kwargs = Mapping[str, Any] | WorkflowInvocationKwargs


class DurableWorkflow:
    """Starts and finds runs of a MAF workflow.

    Args:
        client: A Temporal client. The plugin is not needed on it.
        name: The MAF workflow's name, which is the Temporal workflow type.
        task_queue: Of the workers that have the workflow.
        checkpoint_store: The store the workers use, as a URL, path or `BlobStore`. Needed to read payloads that were
            too large for history.
    """

    def __init__(
        self, client: Client, name: str, *, task_queue: str, checkpoint_store: str | BlobStore | None = None
    ) -> None:
        self._client = client
        self._name = name
        self._task_queue = task_queue
        self._codec = client_codec()
        values = NoStore() if checkpoint_store is None else ValueStore(BlobStore.of(checkpoint_store), client.namespace)
        self._reader = EventReader(Reader(self._codec, values))

    async def start(
        self,
        message: Any,
        *,
        stream: bool = False,
        id: str | None = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
        tools: None = None,
        on_failure: Literal["fail", "wait"] | None = None,
        **start_options: Any,
    ) -> DurableRun:
        """Start a run.

        Args:
            message: The input of the start executor: an object of a type it accepts, or JSON that can be coerced to
                one.
            stream: Whether the run streams, as in MAF's `Workflow.run(stream=True)`: agents answer in updates, and
                `DurableRun.stream` shows events while executors work. It costs the run history.
            id: The workflow id; one is made if absent.
            function_invocation_kwargs: For tool invocations of agents, as in MAF's `Workflow.run`: for all agents, or
                by executor id, or a `WorkflowInvocationKwargs`. They travel with the run, so they must be encodable.
            client_kwargs: For chat client calls of agents, likewise.
            tools: Not possible: a run's tools are functions of this process, and agents run in others.
            on_failure: What to do when an executor's last attempt fails: fail the run, or let it wait for
                `DurableRun.retry`. As the workers are configured if absent.
            start_options: Further arguments of `temporalio.client.Client.start_workflow`, such as `memo`,
                `id_conflict_policy` or `search_attributes`.

        Raises:
            EncodeError: The message or the kwargs cannot be sent; says why.
            ValueError: Tools are given; says what to do instead.
            temporalio.exceptions.WorkflowAlreadyStartedError: A run with this id is open.
        """
        if tools is not None:
            raise ValueError(wire.NO_TOOLS)
        options = wire.StartOptions(
            encoding="tagged",
            function_invocation_kwargs=self._encoded("function_invocation_kwargs", function_invocation_kwargs),
            client_kwargs=self._encoded("client_kwargs", client_kwargs),
            on_failure=on_failure,
            stream=stream,
        )
        handle = await self._client.start_workflow(
            self._name,
            args=[ordered_json(self._codec.encode(message, "message")), ordered_json(wire.dump(options))],
            id=id or f"{self._name}-{uuid.uuid4()}",
            task_queue=self._task_queue,
            **start_options,
        )
        return self._run(handle)

    def _encoded(self, name: str, kwargs: Kwargs | None) -> Any:
        return None if kwargs is None else self._codec.encode(kwargs, name)

    def get_run(self, id: str) -> DurableRun:
        """Return the run with a workflow id, without asking whether there is one."""
        return self._run(self._client.get_workflow_handle(id))

    def _run(self, handle: Any) -> DurableRun:
        return DurableRun(handle, self._name, self._task_queue, self._reader)
