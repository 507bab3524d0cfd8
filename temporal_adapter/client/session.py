"""A session: a run that is kept open for many inputs. MAF's `Workflow.run`, again and again, with its state kept."""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from agent_framework import WorkflowRunResult
from temporalio.client import Client, WithStartWorkflowOperation, WorkflowUpdateFailedError
from temporalio.common import RawValue, WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.converter import ordered_json
from temporal_adapter.values import Codec, to_plain_json
from temporal_adapter.wire.names import (
    CHECKPOINT_NOT_FOUND,
    INPUT_NOT_HANDLED,
    RESTORE_REFUSED,
    RUN_REFUSED,
    SESSION_REFUSED,
)

from .errors import InputRefused, SessionRefused
from .raising import raised_again
from .reading import EventReader, run_result
from .run import DurableRun, Kwargs

_REFUSED_INPUT = (INPUT_NOT_HANDLED, RUN_REFUSED, CHECKPOINT_NOT_FOUND, RESTORE_REFUSED)
_MAFS_CONCURRENT = "Workflow is already running. Concurrent executions are not allowed."


class DurableSession:
    """A run kept open for many inputs, by its workflow id. Made by `DurableWorkflow.session`.

    It is opened by its first `run`, on whichever machine that is, and open until `close`.
    Between inputs it costs nothing.

    Attributes:
        durable_run: The Temporal run: its status, requests, checkpoints and events, and `respond`.
    """

    def __init__(
        self, client: Client, run: DurableRun, name: str, task_queue: str, codec: Codec, reader: EventReader
    ) -> None:
        self.durable_run = run
        self._client = client
        self._name = name
        self._task_queue = task_queue
        self._codec = codec
        self._reader = reader
        self._active = False

    @property
    def id(self) -> str:
        """The workflow id."""
        return self.durable_run.id

    def run(
        self,
        message: Any = None,
        *,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
    ) -> Awaitable[WorkflowRunResult]:
        """Give the session an input, or responses, or a checkpoint to go on from; wait until it is at rest again.

        The parameters and their rules are those of MAF's `Workflow.run`. Shared state and executors keep what they had
        after the input before. A failed input ends the turn, not the session.

        Args:
            message: The input of the start executor.
            responses: By request id: objects of the requests' response types, or JSON that can be coerced to them.
            checkpoint_id: A checkpoint of this workflow to go on from, of this session or another run; with responses,
                these are given to it.
            function_invocation_kwargs: As `DurableWorkflow.start`.
            client_kwargs: Likewise.

        Returns:
            MAF's result over the events of this turn.

        Raises:
            ValueError: At once: the parameters do not go together.
            RuntimeError: At once: a `run` of this object is under way.
            SessionRefused: The session is at work for another caller.
            InputRefused: No handler takes the input, or the session cannot go on from the checkpoint; says why.
            ResponseRefused: A response is refused; says why.
            Exception: What an executor raised, as `DurableRun.result`.
        """
        wire.check_run_arguments(message, responses, checkpoint_id)
        if self._active:
            raise RuntimeError(_MAFS_CONCURRENT)
        given = wire.SessionInput(
            encoding="tagged",
            message=None if message is None else self._codec.encode(message, "message"),
            responses=None if responses is None else {key: to_plain_json(one) for key, one in responses.items()},
            checkpoint_id=checkpoint_id,
            function_invocation_kwargs=self._encoded("function_invocation_kwargs", function_invocation_kwargs),
            client_kwargs=self._encoded("client_kwargs", client_kwargs),
        )
        self._active = True
        return self._turn(given)

    def _encoded(self, name: str, kwargs: Kwargs | None) -> Any:
        return None if kwargs is None else self._codec.encode(kwargs, name)

    async def _turn(self, given: wire.SessionInput) -> WorkflowRunResult:
        try:
            with self._refusals():
                answer = await self.durable_run.unless_stuck(self._start_and_run(ordered_json(wire.dump(given))))
            turn = wire.load(wire.Turn, answer)
            events = await self.durable_run.events_between(turn.first, turn.next)
        finally:
            self._active = False
        return run_result([await self._reader.event(event) for event in events])

    async def reset(self) -> None:
        """Put the session back to what it was before its first input.

        Every executor is as built, at every level of nesting; shared state, fan-in buffers, messages and pending
        requests are gone; the next input begins a new lineage of checkpoints. The old ones stay in the store.

        Raises:
            SessionRefused: The session is at work: nothing is changed.
            RunNotFound: It was never opened, or is closed.
        """
        await self._update("reset")

    async def close(self) -> None:
        """End the session, and wait until it is closed. Requests that wait for a response go with it.

        Raises:
            SessionRefused: The session is at work: it stays open.
            RunNotFound: It was never opened, or is closed.
        """
        await self._update("close")
        await self.durable_run.unless_stuck(self.durable_run.handle.result())

    async def _update(self, name: str) -> None:
        with self._refusals():
            # The SDK's overloads leave this one partly untyped.
            await self.durable_run.unless_stuck(cast("Any", self.durable_run.handle).execute_update(name))

    async def _start_and_run(self, given: RawValue) -> Any:
        """Send the update `run`, and open the session if it is not."""
        options = wire.StartOptions(encoding="tagged", session=True)
        start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
            self._name,
            args=[None, ordered_json(wire.dump(options))],
            id=self.id,
            task_queue=self._task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            static_summary="session",
        )
        client = cast("Any", self._client)  # likewise
        return await client.execute_update_with_start_workflow("run", given, start_workflow_operation=start)

    @contextmanager
    def _refusals(self) -> Generator[None, None, None]:
        """Turn what an update failed with into what went wrong."""
        try:
            with self.durable_run.explained():
                yield
        except WorkflowUpdateFailedError as error:
            cause = error.cause
            if isinstance(cause, ApplicationError) and cause.type == SESSION_REFUSED:
                raise SessionRefused(cause.message) from error
            if isinstance(cause, ApplicationError) and cause.type in _REFUSED_INPUT:
                raise InputRefused(cause.message) from error
            raised = raised_again(cause)
            if raised is None:
                raise
            raise raised from error
