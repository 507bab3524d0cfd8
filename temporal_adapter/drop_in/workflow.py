"""The object that is a MAF `Workflow`: MAF's own class, whose supersteps are a session's.

Of MAF's run, only the two places are replaced where the supersteps would begin: `_resolve_execution_mode`, which keeps
what the run was given, and `_run_workflow_with_tracing`, which has the session make a turn of it.
`tests/unit/test_drop_in.py` holds MAF to what is relied on here.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_framework import (
    CheckpointStorage,
    ContextProvider,
    Workflow,
    WorkflowCheckpointException,
    WorkflowEvent,
    WorkflowEventSource,
    WorkflowMessage,
    WorkflowRunResult,
    WorkflowRunState,
)
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.client import DurableRun, DurableSession, InputRefused, ResponseRefused, SessionRefused
from temporal_adapter.client.reading import EventReader, NoStore
from temporal_adapter.client.streaming import without_void
from temporal_adapter.maf import RunnerImpl, State
from temporal_adapter.payload import Reader
from temporal_adapter.store import BlobStore, ValueStore
from temporal_adapter.values import Codec, declared_types, type_name
from temporal_adapter.wire.names import CHECKPOINT_NOT_FOUND

from .agent import SessionAgent
from .checkpoints import Copies, SessionCheckpoints
from .context import SessionContext
from .view import Seen, SessionView

_PENDING = WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
_AT_REST = (WorkflowRunState.IDLE, _PENDING, WorkflowRunState.FAILED)
_NO_STORE = (
    "checkpoint_storage needs the place of the workers' checkpoints, to copy them from: durable(..., "
    "checkpoint_store=<the store the workers use>). Without it, the session can still be run with checkpoint_id alone."
)


def durable(
    workflow: Workflow,
    client: Client,
    *,
    task_queue: str,
    session_id: str | None = None,
    checkpoint_store: str | BlobStore | None = None,
    types: Iterable[type] = (),
) -> SessionWorkflow:
    """Return a MAF `Workflow` like the one given, which runs on Temporal, in a session.

    Nothing is sent to Temporal before its first run. Any number of processes may hold the same session.

    Args:
        workflow: A built workflow; workers of the task queue have one of the same graph. It is not changed.
        client: A Temporal client. The plugin is not needed on it.
        task_queue: Of the workers that have the workflow.
        session_id: The session's workflow id; one is made if absent.
        checkpoint_store: The store the workers use, as a URL, path or `BlobStore`. Needed to read payloads that were
            too large for history, and for `checkpoint_storage`: DevUI gives one with each run.
        types: Further classes that messages, responses and outputs may have, as for `AgentFrameworkPlugin`.

    Raises:
        ValueError: The session id is empty.
    """
    if session_id == "":
        raise ValueError("The session id is empty. Give one, or None to have one made.")
    session_id = f"{workflow.name}-session-{uuid.uuid4()}" if session_id is None else session_id
    blobs = None if checkpoint_store is None else BlobStore.of(checkpoint_store, client.data_converter.payload_codec)
    values = NoStore() if blobs is None else ValueStore(blobs, client.namespace)
    known = {**declared_types(workflow), **{type_name(one): one for one in types}}
    codec = Codec(known, unknown="plain")
    reader = EventReader(Reader(codec, values))
    run = DurableRun(client.get_workflow_handle(session_id), workflow.name, task_queue, reader)
    session = DurableSession(client, run, workflow.name, task_queue, codec.without_pickle(), reader)
    storage = None
    if blobs is not None:
        storage = SessionCheckpoints(
            blobs, workflow=workflow, namespace=client.namespace, workflow_id=session_id, types=types
        )
    return SessionWorkflow(workflow, session, SessionView(run, reader), storage)


@dataclass(frozen=True)
class _Given:
    """What a run was given, in place of what MAF would do with it."""

    message: Any
    responses: Mapping[str, Any] | None
    checkpoint_id: str | None
    storage: CheckpointStorage | None
    kwargs: Mapping[str, Any]
    stream: bool = False

    async def __call__(self) -> None:
        """Do nothing here."""


class SessionWorkflow(Workflow):
    """A MAF `Workflow` whose runs are turns of a session on Temporal. Made by `durable`.

    `run` in all its forms, `status`, `as_agent`, `cancel_pending_requests` and all else are MAF's. What differs, and
    why, is in `docs/differences.md` and `docs/drop-in.md`.

    Attributes:
        session: The session, with `reset`, `close`, and the Temporal run it is (`durable_run`).
    """

    def __init__(
        self,
        workflow: Workflow,
        session: DurableSession,
        view: SessionView,
        storage: SessionCheckpoints | None,
    ) -> None:
        vars(self).update(vars(workflow))  # name, id, graph and signature: what it was built with
        self.session = session
        self._view = view
        self._storage = storage
        self._last_checkpoint_id: str | None = None
        context = SessionContext(self._pending, storage)
        context.set_yield_output_classifier(self._output_designation.classify)
        self._runner_context = context
        self._runner = RunnerImpl(
            self.edge_groups,
            self.executors,
            State(),
            context,
            self.name,
            self.graph_signature_hash,
            max_iterations=self.max_iterations,
        )
        self._status = WorkflowRunState.IDLE
        self._active_run = None
        self._run_baseline_checkpoint_id = None
        self._restored_checkpoint_id = None

    async def refresh(self) -> WorkflowRunState:
        """Look at the session, which other processes may have run or answered; return the `status` it has now.

        `status` is what this object has last seen. Runs, `as_agent` and AG-UI look by themselves.
        """
        await self._pending()
        return self.status

    def get_last_checkpoint_id(self) -> str | None:
        """Return the head of the session's checkpoints, as last seen."""
        return self._last_checkpoint_id

    async def resolve_pause_checkpoint_id(
        self, request_ids: Collection[str], *, checkpoint_storage: CheckpointStorage | None = None, **options: Any
    ) -> str | None:
        """See base class. Without a storage to load it from, no id is told."""
        if checkpoint_storage is None and self._storage is None:
            return None
        return await super().resolve_pause_checkpoint_id(request_ids, checkpoint_storage=checkpoint_storage, **options)

    def as_agent(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        context_providers: Sequence[ContextProvider] | None = None,
        **kwargs: Any,
    ) -> SessionAgent:
        """See base class."""
        return SessionAgent(
            workflow=self,
            name=name if name is not None else self.name,
            description=description if description is not None else self.description,
            context_providers=context_providers,
            **kwargs,
        )

    async def cancel_pending_requests(
        self,
        request_ids: Collection[str],
        *,
        checkpoint_id: str | None = None,
        checkpoint_storage: CheckpointStorage | None = None,
        tools: Any = None,
        function_invocation_kwargs: Any = None,
        client_kwargs: Any = None,
    ) -> WorkflowRunResult:
        """See base class. Run kwargs stay those that the session has.

        Raises:
            SessionRefused: The session is at work.
        """
        _refuse_tools(tools)
        if not all(request_ids):
            raise ValueError("Pending workflow request IDs must be non-empty strings.")
        copies = await self._copies(checkpoint_storage)
        if checkpoint_id is not None:
            await self.run(checkpoint_id=checkpoint_id, checkpoint_storage=checkpoint_storage)
        before = await self._seen()
        wanted = [one for one in request_ids if one in before.requests]
        if not wanted:
            return self._finalize_events(_nothing_done(before.state))
        self._status = WorkflowRunState.IN_PROGRESS
        result = await self.session.cancel_pending_requests(wanted)
        self._status = result.get_final_state()
        await self._settle(copies)
        return result

    # --- what MAF's run asks for ------------------------------------------------------------------------------

    def _resolve_execution_mode(
        self,
        message: Any | None,
        responses: Mapping[str, Any] | None,
        checkpoint_id: str | None,
        checkpoint_storage: CheckpointStorage | None,
    ) -> _Given:
        data = message.data if isinstance(message, WorkflowMessage) else message
        return _Given(data, responses, checkpoint_id, checkpoint_storage, {})

    def _run_workflow_with_tracing(
        self,
        initial_executor_fn: Any = None,
        is_continuation: bool = False,
        streaming: bool = False,
        tools: Any = None,
        function_invocation_kwargs: Any = None,
        client_kwargs: Any = None,
    ) -> AsyncGenerator[WorkflowEvent, None]:
        assert isinstance(initial_executor_fn, _Given)
        _refuse_tools(tools)
        kwargs = {"function_invocation_kwargs": function_invocation_kwargs, "client_kwargs": client_kwargs}
        if initial_executor_fn.checkpoint_id is not None:
            kwargs = {}  # MAF sets them, and then restores over them
        return self._turn(replace(initial_executor_fn, stream=streaming, kwargs=kwargs))

    @staticmethod
    def _finalize_events(events: Sequence[WorkflowEvent], *, include_status_events: bool = False) -> WorkflowRunResult:
        counting = without_void(events)
        return Workflow._finalize_events(counting, include_status_events=include_status_events)

    # --- a turn -----------------------------------------------------------------------------------------------

    async def _turn(self, given: _Given) -> AsyncGenerator[WorkflowEvent, None]:
        """Have the session make a turn; yield its events, and raise what MAF would."""
        if given.responses is not None and not given.responses and given.checkpoint_id is None:
            for event in _nothing_done(self._status):
                yield event
            return
        copies = await self._copies(given.storage)
        await self._bring(given)
        before, self._status = self._status, WorkflowRunState.IN_PROGRESS
        stream = self.session.turn(
            given.message,
            responses=given.responses,
            checkpoint_id=given.checkpoint_id,
            stream=given.stream,
            **given.kwargs,
        )
        try:
            async for event in stream:
                if event.type == "status" and event.state is not None:
                    if event.state in _AT_REST:
                        await self._settle(copies)  # whoever is told of the rest finds the checkpoints
                    self._status = event.state
                yield event
        except (SessionRefused, ResponseRefused):
            self._status = before
            raise
        except InputRefused as error:
            raise _as_maf(error, given) from error

    async def _bring(self, given: _Given) -> None:
        """See that the workers' store has a checkpoint that is to be gone on from."""
        if given.checkpoint_id is None or given.storage is None or self._storage is None:
            return
        checkpoint = await given.storage.load(given.checkpoint_id)
        if given.storage is not self._storage and not await self._storage.has(given.checkpoint_id):
            await self._storage.save(checkpoint)

    async def _copies(self, target: CheckpointStorage | None) -> Copies | None:
        if target is None or target is self._storage:
            return None
        if self._storage is None:
            raise ValueError(_NO_STORE)
        return Copies(self.session.durable_run, await self._view.checkpoint_ids(), self._storage, target)

    async def _settle(self, copies: Copies | None) -> None:
        """The session is at rest: see where, and copy its checkpoints where they are wanted."""
        self._last_checkpoint_id = (await self._view.look()).checkpoint_id
        if copies is not None:
            await copies.take()

    async def _seen(self) -> Seen:
        seen = await self._view.look()
        if not self._is_run_active():  # else its events tell
            self._status, self._last_checkpoint_id = seen.state, seen.checkpoint_id
        return seen

    async def _pending(self) -> Mapping[str, WorkflowEvent[Any]]:
        return (await self._seen()).requests


def _nothing_done(state: WorkflowRunState) -> list[WorkflowEvent[Any]]:
    """Return what a run shows that had nothing to do."""
    own = WorkflowEventSource.FRAMEWORK
    states = (WorkflowRunState.IN_PROGRESS, state)
    return [
        WorkflowEvent("started", origin=own),
        *(WorkflowEvent("status", state=one, origin=own) for one in states),
    ]


def _refuse_tools(tools: Any) -> None:
    if tools:
        raise ValueError(wire.NO_TOOLS)


def _as_maf(error: InputRefused, given: _Given) -> Exception:
    """Return the error that MAF has for an input that was refused."""
    if given.checkpoint_id is None:
        return error
    cause = getattr(error.__cause__, "cause", None)
    if given.responses and not (isinstance(cause, ApplicationError) and cause.type == CHECKPOINT_NOT_FOUND):
        return ValueError(str(error))
    return WorkflowCheckpointException(str(error))
