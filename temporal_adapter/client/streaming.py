"""Following a streaming run: what executors show while they work, and what of it became true, as one sequence.

`LiveMerge` is the rule by which the two become one; `read_live` gets the live batches. Neither asks for durable events.
"""

from __future__ import annotations

import base64
import logging
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from agent_framework import WorkflowEvent, WorkflowEventSource, WorkflowRunResult
from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowHandle
from temporalio.common import QueryRejectCondition
from temporalio.contrib.workflow_streams import PollInput, PollResult

from temporal_adapter import wire
from temporal_adapter.wire.names import STREAM_ENCODING, STREAM_POLL, STREAM_TOPIC

from .reading import run_result

logger = logging.getLogger(__name__)

_LARGEST_BATCH = 16 * 1024 * 1024  # bytes of JSON

_OWN = WorkflowEventSource.FRAMEWORK.value


class AttemptAbandoned(WorkflowEvent[str]):
    """Some events that `DurableRun.stream` yielded are void: the attempt that showed them came to nothing.

    It is a MAF event of type `warning`, whose `data` says what happened. If the executor is retried, its events follow
    anew, from `executor_invoked` on.

    Attributes:
        executor_id: Whose attempt it was.
        attempt: Temporal's number of the attempt, from 1.
        events: The void events, the very objects that were yielded, in order.
    """

    def __init__(self, executor_id: str, attempt: int, events: list[WorkflowEvent[Any]]) -> None:
        super().__init__(
            "warning",
            f"Attempt {attempt} of executor {executor_id!r} came to nothing; {len(events)} events of it are void.",
            executor_id=executor_id,
            origin=WorkflowEventSource.FRAMEWORK,
        )
        self.attempt = attempt
        self.events = events


def what_counts(events: Sequence[WorkflowEvent[Any]]) -> WorkflowRunResult:
    """Return MAF's result over events that were streamed, without those that are void."""
    return run_result(without_void(events))


def without_void(events: Sequence[WorkflowEvent[Any]]) -> list[WorkflowEvent[Any]]:
    """Return streamed events without those that are void, and without what says that they are."""
    void = {id(one) for event in events if isinstance(event, AttemptAbandoned) for one in (event, *event.events)}
    return [event for event in events if id(event) not in void]


@dataclass(slots=True)
class _View:
    """What was shown of an attempt that has no result yet."""

    rank: str
    attempt: int
    shown: list[WorkflowEvent[Any]] = field(default_factory=list[WorkflowEvent[Any]])


class LiveMerge:
    """Merges live batches into the durable events, so that each event of an attempt that counts comes once, in order.

    An executor has one attempt that counts at a time, and later ones have higher ranks. What was shown of it is a
    prefix of what its result holds, since batches have no gaps. Batches must be read before the durable events that
    are merged before them: then a delivery that these do not hold was still running.

    Args:
        read: Decodes an event.
    """

    def __init__(self, read: Callable[[wire.Event], Awaitable[WorkflowEvent[Any]]]) -> None:
        self._read = read
        self._views: dict[str, _View] = {}
        self._settled: dict[str, str] = {}  # executor -> rank up to which its attempts are over
        self._shown = 0  # how many of the next durable events were shown before

    async def live(self, batch: wire.LiveBatch) -> AsyncIterator[WorkflowEvent[Any]]:
        """Yield what a live batch shows."""
        executor_id = batch.executor_id
        view = self._views.get(executor_id)
        if batch.rank <= self._settled.get(executor_id, "") or (view is not None and batch.rank < view.rank):
            return  # over; perhaps an attempt that timed out and does not know it
        if view is not None and (batch.rank > view.rank or batch.abandoned):
            yield self._abandon(executor_id)
            view = None
        if batch.abandoned:
            self._settled[executor_id] = batch.rank
            return
        view = view or _View(batch.rank, batch.attempt)
        known = len(view.shown) - batch.position
        if known < 0:
            return  # what came before is lost: the durable events will show it all, in order
        self._views[executor_id] = view
        for event in batch.events[known:]:
            try:
                shown = await self._read(event)
            except Exception as error:  # should it be in the result, the durable event raises it
                logger.warning("A live event of executor %r cannot be read: %s", executor_id, error)
                return
            view.shown.append(shown)
            yield shown

    async def durable(self, event: wire.Event) -> AsyncIterator[WorkflowEvent[Any]]:
        """Yield what a durable event adds."""
        executor_id = event.executor_id or ""
        if event.type == "executor_invoked" and event.origin == _OWN:
            view = self._views.get(executor_id)
            if view is not None and view.rank != event.attempt:
                yield self._abandon(executor_id)
            self._settled[executor_id] = event.attempt or self._settled.get(executor_id, "")
            counts = self._views.pop(executor_id, None)
            self._shown = 0 if counts is None else len(counts.shown)
        elif event.type in ("executor_completed", "executor_failed") and event.origin == _OWN:
            self._shown = 0
        elif event.type == "failed" or event.state == "CANCELLED":
            for abandoned in self.close():
                yield abandoned
        if self._shown and event.type != "status":  # a status is the run's own, between those of an executor
            self._shown -= 1
        else:
            yield await self._read(event)

    def close(self) -> list[WorkflowEvent[Any]]:
        """The run is over: return what is to be said of attempts that have no result."""
        return [self._abandon(executor_id) for executor_id in list(self._views)]

    def _abandon(self, executor_id: str) -> AttemptAbandoned:
        view = self._views.pop(executor_id)
        return AttemptAbandoned(executor_id, view.attempt, view.shown)


async def read_live(handle: WorkflowHandle[Any, Any], offset: int) -> tuple[list[wire.LiveBatch], int]:
    """Return the live batches from an offset on that the run still has, and the offset of the next. Costs no history.

    Raises:
        temporalio.client.WorkflowQueryFailedError: The run does not stream.
    """
    batches: list[wire.LiveBatch] = []
    while True:
        result: PollResult = await handle.query(
            STREAM_POLL,
            PollInput(topics=[STREAM_TOPIC], from_offset=offset),
            result_type=PollResult,
            reject_condition=QueryRejectCondition.NONE,
        )
        if result.next_offset < offset:  # the run was reset, and has a new stream
            offset = 0
            continue
        batches += [batch for item in result.items if (batch := live_batch(item.data)) is not None]
        offset = result.next_offset
        if not result.more_ready:
            return batches, offset


def live_batch(data: str) -> wire.LiveBatch | None:
    """Return the batch in an item of a run's stream; None for what is none, since anybody can publish there."""
    try:
        payload = Payload.FromString(base64.b64decode(data))
        if payload.metadata.get("encoding") != STREAM_ENCODING:
            return None
        text = zlib.decompressobj().decompress(payload.data, _LARGEST_BATCH)
        return wire.load(wire.LiveBatch, msgspec.json.decode(text))
    except (ValueError, DecodeError, zlib.error):
        return None
