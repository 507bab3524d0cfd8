"""A MAF workflow that runs on Temporal, by its name."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from temporal_adapter import wire
from temporal_adapter.converter import ordered_json
from temporal_adapter.payload import Reader, Values
from temporal_adapter.store import BlobStore, CheckpointStore, ValueStore
from temporal_adapter.values import client_codec, to_plain_json

from .errors import ResumeRefused, RunNotFound
from .reading import EventReader, NoStore
from .restoring import check_resumable, options_of, restored_at
from .run import DurableRun, Kwargs
from .session import DurableSession

# A run of another lineage under a workflow id that had a run would mix the two.
_NEW_ID: dict[str, Any] = {"id_reuse_policy": WorkflowIDReusePolicy.REJECT_DUPLICATE}


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
        values: Values = NoStore()
        self._blobs: BlobStore | None = None
        if checkpoint_store is not None:
            self._blobs = BlobStore.of(checkpoint_store, client.data_converter.payload_codec)
            values = ValueStore(self._blobs, client.namespace)
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
            ValueError: Tools are given, or an empty id; says what to do instead.
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
            id=_given_or_made(id, self._name),
            task_queue=self._task_queue,
            **start_options,
        )
        return self._run(handle)

    async def start_or_attach(self, message: Any, *, id: str, **options: Any) -> DurableRun:
        """Start a run, unless its workflow id has or had one: return that then, and leave the message unused.

        For callers that may come twice with the same thing, such as a web request that is sent again: an id that
        follows from the thing (`f"expense-{report.number}"`) makes them find one run, whichever process takes them.

        Args:
            message: As `start`.
            id: The workflow id.
            options: Further ones of `start`.

        Raises:
            EncodeError: The message or the kwargs cannot be sent; says why.
        """
        policies: dict[str, Any] = {"id_conflict_policy": WorkflowIDConflictPolicy.USE_EXISTING, **_NEW_ID}
        try:
            run = await self.start(message, id=id, **{**policies, **options})
        except WorkflowAlreadyStartedError:  # it has ended
            return self.get_run(id)
        return self.get_run(run.id)  # the one that has the id, and not only this start of it

    def _encoded(self, name: str, kwargs: Kwargs | None) -> Any:
        return None if kwargs is None else self._codec.encode(kwargs, name)

    # --- from a checkpoint ----------------------------------------------------------------------------------

    async def resume(self, id: str, *, checkpoint_id: str | None = None, **start_options: Any) -> DurableRun:
        """Continue a run that failed, was cancelled, terminated or timed out, from its last checkpoint.

        The run goes on under the same workflow id, with the options it was started with. What its checkpoints hold is
        not run again: only the superstep that was not completed is, with all its executors and the same
        `idempotency_key()`. To run the failed executor alone again, start runs with `on_failure="wait"`.

        Args:
            id: The workflow id.
            checkpoint_id: Where to go on, if not at the last checkpoint. Needed when Temporal has the run no more; the
                options are the store's then.
            start_options: As `start`.

        Raises:
            ResumeRefused: The run is open or completed, or has no checkpoint; says what to do instead.
            RunNotFound: Temporal does not have the run, and no checkpoint is given.
        """
        run = self.get_run(id)
        try:
            with run.explained():
                description = await run.handle.describe()
        except RunNotFound:
            if checkpoint_id is None:
                raise
            restore = wire.Restore(verb="resume", checkpoint_id=checkpoint_id)
            return await self._restored(id, restore, start_options, await self._options_in_store(id))
        check_resumable(description)
        closed = self._run(self._client.get_workflow_handle(id, run_id=description.run_id))
        with closed.explained():
            options = await options_of(self._client, id, description.run_id)
        checkpoint_id = checkpoint_id or (await closed.status()).checkpoint_id or restored_at(options)
        if checkpoint_id is None:
            raise ResumeRefused(f"The run {id!r} ended before its first checkpoint. Start it again, with its input.")
        restore = wire.Restore(verb="resume", checkpoint_id=checkpoint_id)
        return await self._restored(id, restore, start_options, options)

    async def replay(
        self, checkpoint_id: str, *, id: str | None = None, until: str | None = None, **start_options: Any
    ) -> DurableRun:
        """Start a new run that repeats another from one of its checkpoints, with the same inputs and responses.

        From the entry checkpoint that is the whole run. Executors run again, side effects included. Responses are
        given at the places where the other run was given them: to the request of the same id, else to an equal request
        of the same executor, else to that executor's next one. Requests beyond these wait for people.

        Args:
            checkpoint_id: Where to begin.
            id: The workflow id of the new run, which has had none; one is made if absent.
            until: The last checkpoint whose responses are repeated; by default the end of the lineage.
            start_options: As `start`.
        """
        restore = wire.Restore(verb="replay", checkpoint_id=checkpoint_id, until=until)
        return await self._restored(id, restore, _NEW_ID | start_options)

    async def fork(
        self,
        checkpoint_id: str,
        *,
        id: str | None = None,
        responses: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        delete_state: Sequence[str] = (),
        reason: str | None = None,
        **start_options: Any,
    ) -> DurableRun:
        """Start a new run from a checkpoint, with other responses or another shared state.

        The first checkpoint of the fork has what was given, in its metadata too. Requests that are left open wait for
        people.

        Args:
            checkpoint_id: Where to begin.
            id: The workflow id of the new run, which has had none; one is made if absent.
            responses: By request id, for requests that are pending in the checkpoint, or whose response is in flight.
            state: Shared state to set.
            delete_state: Keys of shared state to delete.
            reason: For the record.
            start_options: As `start`.

        Raises:
            EncodeError: The state cannot be sent; says why.
        """
        restore = wire.Restore(
            verb="fork",
            checkpoint_id=checkpoint_id,
            responses={key: to_plain_json(response) for key, response in (responses or {}).items()},
            state={key: self._codec.encode(value, f"state[{key!r}]") for key, value in (state or {}).items()},
            deleted_state=list(delete_state),
            reason=reason,
        )
        return await self._restored(id, restore, _NEW_ID | start_options)

    async def _options_in_store(self, id: str) -> wire.StartOptions | None:
        """Return the options of the last run of a workflow id, where this client was told of the store."""
        if self._blobs is None:
            return None
        runs = await CheckpointStore(self._blobs, self._client.namespace, cache_bytes=0).runs(self._name, id)
        if not runs:
            return None
        last = runs[-1]
        return wire.StartOptions(on_failure=last.on_failure, stream=last.stream, session=last.session)

    async def _restored(
        self,
        id: str | None,
        restore: wire.Restore,
        start_options: Mapping[str, Any],
        of: wire.StartOptions | None = None,
    ) -> DurableRun:
        of = of or wire.StartOptions()
        options = wire.StartOptions(
            encoding="tagged", on_failure=of.on_failure, stream=of.stream, session=of.session, restore=restore
        )
        summary: dict[str, Any] = {"static_summary": f"{restore.verb} of checkpoint {restore.checkpoint_id}"}
        handle = await self._client.start_workflow(
            self._name,
            args=[None, ordered_json(wire.dump(options))],
            id=_given_or_made(id, f"{self._name}-{restore.verb}"),
            task_queue=self._task_queue,
            **(summary | dict(start_options)),
        )
        return self._run(handle)

    # --- by workflow id -------------------------------------------------------------------------------------

    def session(self, id: str) -> DurableSession:
        """Return the session with a workflow id, whether or not it has been opened yet."""
        run = self.get_run(id)
        return DurableSession(self._client, run, self._name, self._task_queue, self._codec, self._reader)

    def get_run(self, id: str) -> DurableRun:
        """Return the run with a workflow id, without asking whether there is one."""
        return self._run(self._client.get_workflow_handle(id))

    def _run(self, handle: Any) -> DurableRun:
        return DurableRun(handle, self._name, self._task_queue, self._reader)


def _given_or_made(id: str | None, beginning: str) -> str:
    """Return a workflow id. An empty one was meant to be one: by a retry it would start another run."""
    if id == "":
        raise ValueError("The workflow id is empty. Give one, or None to have one made.")
    return f"{beginning}-{uuid.uuid4()}" if id is None else id
