"""One run, as a client sees it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping
from typing import Any, TypeVar, cast

from agent_framework import WorkflowEvent, WorkflowInvocationKwargs, WorkflowRunResult, WorkflowRunState
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
)
from temporalio.common import QueryRejectCondition

from temporal_adapter import wire
from temporal_adapter.converter import ordered_json
from temporal_adapter.values import to_plain_json

from .errors import CancelRefused, NoWorker, ResponseRefused, RunClosed, explained
from .pages import all_items, events_from
from .raising import raised_again
from .reading import EventReader, run_result
from .streaming import LiveMerge, read_live
from .stuck import check_known
from .taken_up import once_taken_up
from .told import Accepted, Answered, CheckpointInfo, FailedExecutor, RunStatus
from .updates import update

logger = logging.getLogger(__name__)

ShapeT = TypeVar("ShapeT")

Kwargs = Mapping[str, Any] | WorkflowInvocationKwargs

_POLL_SECONDS = (0.05, 0.5)  # between looks for new events: at first, and at most
_STREAM_SECONDS = (0.05, 0.2)  # between looks for what a run streams: after news, and at most
_STUCK_SECONDS = 2.0  # between looks whether a run waits for a worker that knows it


class DurableRun:
    """A run of a MAF workflow on Temporal. Made by `DurableWorkflow`."""

    def __init__(
        self, handle: WorkflowHandle[Any, Any], name: str, task_queue: str | None, reader: EventReader
    ) -> None:
        self.handle = handle
        """Temporal's own handle, for all that Temporal offers (cancel, terminate, describe, fetch_history, ...)."""
        self._name = name
        self._task_queue = task_queue
        self._reader = reader

    @property
    def id(self) -> str:
        """The workflow id."""
        return self.handle.id

    async def result(self) -> WorkflowRunResult:
        """Wait for the run to end; return MAF's result over all its events, with typed payloads.

        Raises:
            Exception: What an executor or condition raised, of the very class where that can be imported here and made
                again of its `args` and plain attributes; a WorkflowFailureError is its cause (`__cause__`).
            temporalio.client.WorkflowFailureError: The run failed otherwise, was cancelled or terminated. The cause of
                a failure is an ApplicationError with the type name and message that the executor raised.
            UnknownWorkflow: The run waits for a worker that has its workflow.
            RunNotFound: There is no such run.
        """
        try:
            with self.explained():
                result = wire.load(wire.RunResult, await self.unless_stuck(self.handle.result()))
        except WorkflowFailureError as error:
            raised = raised_again(error.cause)
            if raised is None:
                raise
            raise raised from error
        if result.events is None:
            events, _ = await self._events_up_to_now(0)
        else:
            events = [one for event in result.events for one in await self._reader.each(event)]
        return run_result([await self._reader.event(event) for event in events])

    async def status(self) -> RunStatus:
        """Return where the run stands.

        Raises:
            RunNotFound: There is no such run.
            UnknownWorkflow: The run waits for a worker that has its workflow.
        """
        status = wire.load(wire.RunStatus, await self._query("status"))
        return RunStatus(
            state=WorkflowRunState(status.state),
            iteration=status.iteration,
            pending_requests=status.pending_requests,
            checkpoint_id=status.checkpoint_id,
            events=status.events,
            unmirrored_checkpoints=status.unmirrored_checkpoints,
            mirror_error=status.mirror_error,
            failed_executors=tuple(
                FailedExecutor(one.executor, one.error_type, one.message) for one in status.failed_executors
            ),
        )

    async def pending_requests(self) -> list[WorkflowEvent[Any]]:
        """Return the `request_info` events that wait for a response, in order of request.

        Raises:
            RunNotFound: There is no such run.
        """
        requests = await self._all_pages("requests", wire.Request)
        return [await self._reader.request(request) for request in requests]

    async def open_requests(self) -> list[wire.PendingRequest]:
        """Return the requests that wait for a response in plain JSON, with the JSON schema of the response.

        What is in the blob store comes as well where this client was told of that; else as `{"ref": ..., "size": ...}`.

        Raises:
            RunNotFound: There is no such run.
        """
        requests = await self._all_pages("pending_requests", wire.PendingRequest)
        if not any(_may_be_reference(part) for one in requests for part in (one.data, one.response_schema)):
            return requests
        typed = {one.request_id: one for one in await self._all_pages("requests", wire.Request)}
        return [
            await self._reader.readable(one, typed[one.request_id]) if one.request_id in typed else one
            for one in requests
        ]

    async def responses(self) -> list[Answered]:
        """Return the audit trail, in order: what became of each response, cancellation and expiry, and whose it was.

        It is kept for the life of the run; of refusals, the last thousand.

        Raises:
            RunNotFound: There is no such run.
        """
        return [
            Answered(
                request_id=one.request_id,
                outcome=one.outcome,
                executor_id=one.executor_id,
                source=one.source,
                response=None if one.response is None else await self._reader.value(one.response),
                responder=one.responder,
                comment=one.comment,
                at=one.at,
                checkpoint_id=one.checkpoint_id,
                reason=one.reason,
            )
            for one in await self._all_pages("recorded_responses", wire.Responded)
        ]

    async def graph(self) -> wire.GraphProgress:
        """Return the workflow's graph, with where the run stands in it.

        Raises:
            RunNotFound: There is no such run.
        """
        return wire.load(wire.GraphProgress, await self._query("graph"))

    async def _all_pages(self, query: str, shape: type[ShapeT]) -> list[ShapeT]:
        """Return what a query answers in pages, from its first item to its last."""
        return await all_items(self._query, query, shape, self._reader)

    async def respond(
        self, request_id: str, response: Any, *, responder: str | None = None, comment: str | None = None
    ) -> Accepted:
        """Answer a request, and wait until the answer is accepted and checkpointed.

        Args:
            request_id: Of the pending request.
            response: An object of the request's response type, or plain JSON that MAF can coerce to it.
            responder: Who answered, for the record.
            comment: Why, for the record.

        Raises:
            ResponseRefused: The response is unknown, ill-typed, late, or another than was accepted; says why. The
                request stays as it was.
            NoWorker: The run has ended, and no worker tells whether it had this response before.
            RunNotFound: There is no such run.
        """
        data = wire.Response(
            request_id=request_id, response=to_plain_json(response), responder=responder, comment=comment
        )
        try:
            with self.explained():
                answer = await update(self.handle, "respond", ordered_json(wire.dump(data)))
        except RunClosed as error:
            return await self._answered_before(data, error)
        fate = answer["responses"][0]
        return Accepted(fate["request_id"], fate.get("checkpoint_id"))

    async def cancel_pending_requests(
        self, request_ids: Collection[str], *, responder: str | None = None, comment: str | None = None
    ) -> list[str]:
        """Cancel requests that wait for a response, as MAF's `Workflow.cancel_pending_requests`: all of them, or none.

        They cannot be answered any more when this returns. Their executors are told as soon as the superstep under way
        is over; then the run goes on.

        Args:
            request_ids: Of the pending requests.
            responder: Who cancels, for the record.
            comment: Why, for the record.

        Returns:
            The ids of those that are cancelled: with a computer call, all that its executor waits for is.

        Raises:
            CancelRefused: One of them does not wait for a response; says which and why.
            RunNotFound: There is no such run.
        """
        asked = wire.CancelRequests(request_ids=list(request_ids), responder=responder, comment=comment)
        try:
            with self.explained():
                answer = await update(self.handle, "cancel_requests", ordered_json(wire.dump(asked)))
        except RunClosed as error:
            raise CancelRefused(str(error)) from error
        return answer["cancelled"]

    async def _answered_before(self, response: wire.Response, closed: RunClosed) -> Accepted:
        """Tell whoever answers a run that has ended what they would have been told before."""
        try:
            records = await self._all_pages("recorded_responses", wire.Responded)
        except NoWorker as error:  # it may have been accepted: nobody must be told that it was not
            raise NoWorker(
                f"{closed} A worker tells what became of request {response.request_id!r}, and none answers: {error} "
                "Send the response again then; the same one is not counted twice."
            ) from error
        except (LookupError, WorkflowQueryFailedError):
            records = []
        mine = [one for one in records if one.request_id == response.request_id and one.outcome != "refused"]
        if not mine:
            raise ResponseRefused(str(closed)) from closed
        if mine[-1].outcome != "accepted":
            by = wire.answered_by(mine[-1].source, mine[-1].responder, mine[-1].at)
            raise ResponseRefused(f"request {response.request_id!r} was {mine[-1].outcome} {by}.") from closed
        if mine[-1].fingerprint != wire.fingerprint(response.response):
            told = wire.answered_by(mine[-1].source, mine[-1].responder, mine[-1].at)
            raise ResponseRefused(wire.answered_otherwise(response.request_id, told)) from closed
        return Accepted(response.request_id, mine[-1].checkpoint_id)

    async def retry(self, *executors: str) -> list[str]:
        """Run failed executors of a run again that waits for an operator (`on_failure="wait"`).

        Args:
            executors: Their paths, as `status` tells them; all that failed if none is given.

        Returns:
            Those that are run again.

        Raises:
            RetryRefused: None of that name waits for a retry.
            RunNotFound: There is no such run, or it is closed.
        """
        with self.explained():
            return await update(self.handle, "retry", *executors)

    async def checkpoints(self) -> list[CheckpointInfo]:
        """Return the checkpoint lineage, oldest first.

        Raises:
            RunNotFound: There is no such run.
        """
        found = await self._all_pages("checkpoints", wire.CheckpointHeader)
        # A session that was restored to a checkpoint of an earlier Temporal run of its own tells of it again.
        headers = {header.checkpoint_id: header for header in reversed(found)}
        return [
            CheckpointInfo(
                header.checkpoint_id, header.previous_checkpoint_id, header.kind, header.iteration, header.timestamp
            )
            for header in reversed(headers.values())
        ]

    async def events(self, from_offset: int = 0) -> AsyncIterator[WorkflowEvent[Any]]:
        """Yield the run's events from an offset on, each once; follow the run while it lives and end with it.

        Costs no history: it asks by query, at most twenty times a second. While no worker serves the task queue it
        waits, and logs a warning.

        Raises:
            RunNotFound: There is no such run.
            UnknownWorkflow: The run waits for a worker that has its workflow.
        """
        offset, pause = from_offset, _POLL_SECONDS[0]
        while True:
            closed = await self._is_closed()  # before the look, so that nothing comes after the last one
            try:
                events, ended = await self._page(offset)
            except NoWorker as error:
                logger.warning("%s", error)
                continue
            for event in events:
                yield await self._reader.event(event)
            offset += len(events)
            if ended or (closed and not events):
                return
            pause = _POLL_SECONDS[0] if events else min(2 * pause, _POLL_SECONDS[1])
            await asyncio.sleep(pause)

    async def stream(self) -> AsyncIterator[WorkflowEvent[Any]]:
        """Yield the run's events while they happen: what `Workflow.run(message, stream=True)` yields in-process.

        For a run started with `stream=True`; of another, the events are the same as by `events`. It begins with all
        events so far, follows the run across pauses, and ends with it. Any number of subscribers may come, go and
        come again; the run does not notice.

        Each executor's events come in their order, each once, among those of executors that run beside it in any
        order. Those of an executor that still works (its updates, above all) are an early view: they count once its
        `executor_completed` has come. When its attempt fails or is lost, `AttemptAbandoned` comes instead, with the
        events that are void, and the next attempt's follow. Without the void ones, and `AttemptAbandoned` itself, the
        sequence holds exactly what `events` does.

        Costs no history: it asks by query, some ten times a second. While no worker serves the task queue it waits,
        and logs a warning. A subscriber that comes too late for the first of an executor's updates, or a run that has
        used up the history set aside for live batches, sees that executor's events when it has ended.

        Raises:
            RunNotFound: There is no such run.
            UnknownWorkflow: The run waits for a worker that has its workflow.
        """
        merge = LiveMerge(self._reader.event)
        offset, live_offset, pause = 0, 0, _STREAM_SECONDS[0]
        while True:
            closed = pause == _STREAM_SECONDS[1] and await self._is_closed()
            try:
                batches, next_live_offset = await self._live(live_offset)
                events, ended = await self._events_up_to_now(offset)
            except NoWorker as error:
                logger.warning("%s", error)
                continue
            offset, live_offset = offset + len(events), next_live_offset
            for event in events:
                async for shown in merge.durable(event):
                    yield shown
            if ended or (closed and not events):
                for abandoned in merge.close():
                    yield abandoned
                return
            for batch in batches:
                async for shown in merge.live(batch):
                    yield shown
            pause = _STREAM_SECONDS[0] if events or batches else min(2 * pause, _STREAM_SECONDS[1])
            await asyncio.sleep(pause)

    async def _live(self, offset: int | None) -> tuple[list[wire.LiveBatch], int | None]:
        """Return live batches and the offset of the next; None for a run that does not stream."""
        if offset is None:
            return [], None
        try:
            with self.explained():
                return await self.unless_stuck(read_live(self.handle, offset))
        except WorkflowQueryFailedError:
            return [], None

    async def events_between(self, offset: int, end: int) -> list[wire.Event]:
        """Return the events from an offset on, up to another, as shapes."""
        events: list[wire.Event] = []
        while offset + len(events) < end:
            more, _ = await self._page(offset + len(events))
            events += more
        return events[: end - offset]

    async def _events_up_to_now(self, offset: int) -> tuple[list[wire.Event], bool]:
        """Return all events from an offset on, and whether none will follow."""
        events: list[wire.Event] = []
        while True:
            more, ended = await self._page(offset + len(events))
            events += more
            if ended or not more:
                return events, ended

    async def _page(self, offset: int) -> tuple[list[wire.Event], bool]:
        """Return some events from an offset on, none at the end, and whether none will follow."""
        return await events_from(self._query, offset, self._reader)

    async def _is_closed(self) -> bool:
        with self.explained():
            return (await self.handle.describe()).status is not WorkflowExecutionStatus.RUNNING

    async def _query(self, name: str, *args: Any) -> Any:
        async def ask() -> Any:
            with self.explained():
                query = self.handle.query(name, args=args, reject_condition=QueryRejectCondition.NONE)
                return await self.unless_stuck(query)

        return await once_taken_up(ask, _POLL_SECONDS[0], check=self._may_be_taken_up)

    async def _may_be_taken_up(self) -> None:
        if await self._is_closed():
            raise RunClosed(
                f"The run {self.handle.id!r} was ended when it had gone on as a new Temporal run and not yet read "
                "what it carries: it can tell nothing. Checkpoints are in the blob store, and `resume` goes on there."
            )

    async def unless_stuck(self, answer: Coroutine[Any, Any, Any]) -> Any:
        """Wait for an answer that takes a worker; stop when the workers there are do not know the workflow."""
        waiting = asyncio.ensure_future(answer)
        try:
            while True:
                done, _ = await asyncio.wait({waiting}, timeout=_STUCK_SECONDS)
                if done:
                    return waiting.result()
                await check_known(self.handle, self._name, self._task_queue)
        finally:
            waiting.cancel()

    def explained(self) -> Any:
        """Return a context in which what Temporal raises says what to do."""
        return explained(self.id, self._name, self._task_queue)


def _may_be_reference(part: Any) -> bool:
    return isinstance(part, dict) and set(cast("dict[str, Any]", part)) == {"ref", "size"}
