"""A session: a run that is kept open for many inputs. MAF's `Workflow.run`, again and again, with its state kept."""

from __future__ import annotations

import asyncio
import uuid
import weakref
from collections.abc import AsyncGenerator, Awaitable, Collection, Generator, Mapping
from contextlib import aclosing, contextmanager, suppress
from typing import Any, Literal, cast, overload

from agent_framework import ResponseStream, WorkflowEvent, WorkflowException, WorkflowRunResult
from temporalio.client import Client, WithStartWorkflowOperation, WorkflowUpdateFailedError
from temporalio.common import RawValue, WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

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
from .reading import EventReader
from .run import DurableRun, Kwargs
from .streaming import what_counts
from .turns import AT_REST, Turn
from .updates import answered, update

_REFUSED_INPUT = (INPUT_NOT_HANDLED, RUN_REFUSED, CHECKPOINT_NOT_FOUND, RESTORE_REFUSED)
_LOOK_SECONDS = 0.1  # between looks whether a session is at rest
_MAFS_CONCURRENT = "Workflow is already running; concurrent runs are not allowed on the same instance."


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
        self._active: weakref.ref[Any] | None = None  # to the stream of the turn under way

    @property
    def id(self) -> str:
        """The workflow id."""
        return self.durable_run.id

    @overload
    def run(
        self,
        message: Any = None,
        *,
        stream: Literal[False] = False,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
    ) -> Awaitable[WorkflowRunResult]: ...

    @overload
    def run(
        self,
        message: Any = None,
        *,
        stream: Literal[True],
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
    ) -> ResponseStream[WorkflowEvent[Any], WorkflowRunResult]: ...

    def run(
        self,
        message: Any = None,
        *,
        stream: bool = False,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
    ) -> Awaitable[WorkflowRunResult] | ResponseStream[WorkflowEvent[Any], WorkflowRunResult]:
        """Give the session an input, or responses, or a checkpoint to go on from; wait until it is at rest again.

        The parameters and their rules are those of MAF's `Workflow.run`. Shared state and executors keep what they had
        after the input before. A failed input ends the turn, not the session.

        Args:
            message: The input of the start executor.
            stream: Whether agents answer in updates, and the events are had while they happen. They come as from
                `DurableRun.stream`: `AttemptAbandoned` says of which that they are void. Whoever leaves the stream
                leaves the turn to go on by itself.
            responses: By request id: objects of the requests' response types, or JSON that can be coerced to them.
            checkpoint_id: A checkpoint of this workflow to go on from, of this session or another run; with responses,
                these are given to it.
            function_invocation_kwargs: As `DurableWorkflow.start`; with responses, in place of those before.
            client_kwargs: Likewise.

        Returns:
            MAF's result over the events of this turn, or a stream of the events that ends with it.

        Raises:
            ValueError: At once: the parameters do not go together.
            WorkflowException: At once: a `run` of this object is under way.
            SessionRefused: The session is at work for another caller.
            InputRefused: No handler takes the input, or the session cannot go on from the checkpoint; says why.
            ResponseRefused: A response is refused; says why.
            Exception: What an executor raised, as `DurableRun.result`.
        """
        turn = self.turn(
            message,
            stream=stream,
            responses=responses,
            checkpoint_id=checkpoint_id,
            function_invocation_kwargs=function_invocation_kwargs,
            client_kwargs=client_kwargs,
        )
        return turn if stream else turn.get_final_response()

    def turn(
        self,
        message: Any = None,
        *,
        stream: bool = False,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
    ) -> ResponseStream[WorkflowEvent[Any], WorkflowRunResult]:
        """As `run`, and a stream of events in either case; with `stream=False`, they come when the turn is over.

        A turn that fails shows its events first, and raises then.
        """
        wire.check_run_arguments(message, responses, checkpoint_id)
        if self._active is not None and self._active() is not None:
            raise WorkflowException(_MAFS_CONCURRENT)
        given = wire.SessionInput(
            encoding="tagged",
            message=None if message is None else self._codec.encode(message, "message"),
            responses=None if responses is None else {key: to_plain_json(one) for key, one in responses.items()},
            checkpoint_id=checkpoint_id,
            stream=stream,
            function_invocation_kwargs=self._encoded("function_invocation_kwargs", function_invocation_kwargs),
            client_kwargs=self._encoded("client_kwargs", client_kwargs),
        )
        events: ResponseStream[WorkflowEvent[Any], WorkflowRunResult] = ResponseStream(
            self._turn(given), finalizer=what_counts
        )
        self._active = weakref.ref(events)  # as MAF does it: a stream that nobody holds is no run
        return events

    def _encoded(self, name: str, kwargs: Kwargs | None) -> Any:
        return None if kwargs is None else self._codec.encode(kwargs, name)

    async def _turn(self, given: wire.SessionInput) -> AsyncGenerator[WorkflowEvent[Any], None]:
        own, update_id = self._active, str(uuid.uuid4())
        data = ordered_json(wire.dump(given))
        handle = self.durable_run.handle
        sent = self.durable_run.unless_stuck(answered(handle, lambda: self._start_and_run(data, update_id)))
        turn = Turn(self.durable_run, sent, update_id, self._reader)
        try:
            with self._refusals():
                async with aclosing(turn.live_events() if given.stream else turn.events()) as events:
                    async for event in events:
                        yield event
        finally:
            turn.leave()
            if self._active is own:
                self._active = None

    async def cancel_pending_requests(
        self, request_ids: Collection[str], *, responder: str | None = None, comment: str | None = None
    ) -> WorkflowRunResult:
        """Cancel requests that wait for a response, and wait until the session is at rest again.

        Args:
            request_ids: Of the pending requests.
            responder: Who cancels, for the record.
            comment: Why, for the record.

        Returns:
            MAF's result over the events that followed.

        Raises:
            CancelRefused: One of them does not wait for a response; says which and why.
            RunNotFound: The session was never opened, or is closed.
        """
        run = self.durable_run
        offset = (await run.status()).events
        await run.cancel_pending_requests(request_ids, responder=responder, comment=comment)
        while True:
            events = await run.events_between(offset, (await run.status()).events)
            rest = next((place for place, event in enumerate(events) if event.state in AT_REST), None)
            if rest is not None:
                return what_counts([await self._reader.event(event) for event in events[: rest + 1]])
            await asyncio.sleep(_LOOK_SECONDS)

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
            await self.durable_run.unless_stuck(update(self.durable_run.handle, name))

    async def _start_and_run(self, given: RawValue, update_id: str) -> Any:
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
        client = cast("Any", self._client)  # the SDK's overloads leave this one partly untyped
        try:
            return await client.execute_update_with_start_workflow(
                "run", given, id=update_id, start_workflow_operation=start
            )
        except RPCError:
            with suppress(RPCError):  # it is in this future, too, which Python would complain of
                await start.workflow_handle()
            raise

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
