"""Showing what an executor does while it does it: its events, in batches, to the run's stream.

An early view, and no part of the outcome: what an attempt shows here is void unless the attempt's result is recorded.
So nothing here may fail or delay a delivery. Trouble is logged, and ends the early view of the attempt; the result
has everything.

A batch costs history a signal and a workflow task. Batches come `_FIRST` seconds after the first event, then at
intervals that grow with their number, up to what the workflow has room for; a delivery that is over before its first
batch is due costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from agent_framework import InProcRunnerContext, WorkflowEvent, WorkflowEventSource
from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.contrib.workflow_streams import WorkflowStreamClient
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter import wire
from temporal_adapter.engine.superstep import Delivery, events_of
from temporal_adapter.payload import Writer
from temporal_adapter.store import ValueStore
from temporal_adapter.values import Codec
from temporal_adapter.wire.names import STREAM_ENCODING, STREAM_TOPIC

from . import mirror
from .context import now
from .outcome import ResultTable, result_events

logger = logging.getLogger(__name__)

_FIRST = 0.1
_INTERVAL, _LONGEST_INTERVAL = 0.2, 5.0  # seconds between batches
_DOUBLED_EVERY = 100  # batches
_MOST_EVENTS = 250  # of a batch
_INLINE_BYTES = 64 * 1024  # of a batch, before compression; more goes to the blob store
_PATIENCE = 2.0  # seconds, for the last batch of a delivery

_FINAL = ("executor_completed", "executor_failed")
_HOPELESS = (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.FAILED_PRECONDITION)


def attempt(data: wire.DeliveryInput) -> str | None:
    """Return the rank of this attempt, if its run streams."""
    return None if data.stream is None else mirror.own_rank()


@asynccontextmanager
async def context(
    data: wire.DeliveryInput, codec: Codec, values: ValueStore
) -> AsyncGenerator[InProcRunnerContext, None]:
    """Lend the context to run an executor in. In a streaming run it says so, and shows its events live."""
    if data.stream is None:
        yield InProcRunnerContext()
        return
    # An executor around a sub-workflow runs anew after each run of that: what it shows is not to be seen twice.
    room = data.stream if data.nested is None else wire.LiveRoom(batches=0, bytes=0)
    publisher = _Publisher(data, room, codec, values)
    try:
        yield _LiveContext(publisher)
    except Exception:
        await publisher.end(abandoned=True)
        raise
    else:
        await publisher.end()
    finally:
        publisher.stop()


class _LiveContext(InProcRunnerContext):
    """MAF's context, in streaming mode, with somebody watching."""

    def __init__(self, publisher: _Publisher) -> None:
        super().__init__()
        self.set_streaming(True)
        self._publisher = publisher

    async def add_event(self, event: WorkflowEvent[Any]) -> None:
        await super().add_event(event)
        self._publisher.offer(event)


class _Publisher:
    """Publishes the events of one attempt: from the first on and without a gap, or else no longer."""

    def __init__(self, data: wire.DeliveryInput, room: wire.LiveRoom, codec: Codec, values: ValueStore) -> None:
        number = activity.info().attempt
        self._data = data
        self._batches, self._bytes = room.batches >> number, room.bytes >> number  # all attempts in all: the room
        self._codec = codec
        self._values = values
        self._rank = mirror.own_rank()
        self._number = number
        self._waiting: list[WorkflowEvent[Any]] = []
        self._news = asyncio.Event()
        self._position = 0  # of the first that waits
        self._sent = 0
        self._open = self._batches > 0
        self._task: asyncio.Task[None] | None = None
        self._client: WorkflowStreamClient | None = None

    def offer(self, event: WorkflowEvent[Any]) -> None:
        """Show an event, soon."""
        if event.type in _FINAL and event.origin is WorkflowEventSource.FRAMEWORK:
            return  # the result follows at once, or there is none
        if self._open:
            self._waiting.append(event)
            self._news.set()
            if self._task is None:
                self._task = asyncio.create_task(self._run())

    async def end(self, *, abandoned: bool = False) -> None:
        """The executor is done. Send what waits, if anything was sent; after a failure, say that it is void."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        if not self._open or not self._sent:
            return
        try:
            await asyncio.wait_for(self._void() if abandoned else self._flush(), _PATIENCE)
        except Exception as error:
            self._give_up(error)

    def stop(self) -> None:
        """Send nothing more by itself."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        await asyncio.sleep(_FIRST)
        while self._open:
            await self._news.wait()
            self._news.clear()
            await self._try_flush()
            await asyncio.sleep(min(_INTERVAL * 2 ** (self._sent / _DOUBLED_EVERY), _LONGEST_INTERVAL))

    async def _try_flush(self) -> None:
        try:
            await self._flush()
        except RPCError as error:
            if error.status in _HOPELESS:
                self._give_up(error)
            else:  # what was not sent is sent with the next batch
                logger.warning("Live events of executor %r are late: %s", self._data.executor_id, error)
                self._news.set()
        except Exception as error:
            self._give_up(error)

    async def _flush(self) -> None:
        if self._client is None:
            # Not run as a context, so that it sends when it is told to, and not at intervals of its own.
            self._client = WorkflowStreamClient.from_within_activity(max_retry_duration=timedelta(minutes=1))
        await self._client.flush()  # what an earlier try left
        due = self._position + len(self._waiting)  # what comes meanwhile is the next batch's
        while self._position < due and self._open:
            events = self._waiting[: min(_MOST_EVENTS, due - self._position)]
            batch = self._batch(events=await self._shapes(events))
            del self._waiting[: len(events)]
            self._position += len(events)
            await self._send(self._client, batch)

    async def _void(self) -> None:
        if self._client is not None:
            await self._send(self._client, self._batch(abandoned=True))

    def _batch(self, **what: Any) -> wire.LiveBatch:
        return wire.LiveBatch(
            executor_id=self._data.executor_id,
            rank=self._rank,
            attempt=self._number,
            position=self._position,
            **what,
        )

    async def _send(self, client: WorkflowStreamClient, batch: wire.LiveBatch) -> None:
        # Updates of an agent are much alike: a batch of them shrinks to a tenth.
        data = zlib.compress(wire.to_bytes(wire.dump(batch)))
        self._sent += 1
        self._bytes -= len(data) * 4 // 3  # as it travels
        self._open = self._sent < self._batches and self._bytes > 0
        client.topic(STREAM_TOPIC).publish(Payload(metadata={"encoding": STREAM_ENCODING}, data=data))
        await client.flush()

    async def _shapes(self, events: Sequence[WorkflowEvent[Any]]) -> list[wire.Event]:
        """Return events just as the result will show them."""
        data = self._data
        table = ResultTable(self._codec)
        writer = Writer(self._codec, self._values, inline_budget=_INLINE_BYTES)
        shown = await result_events(events, table, writer)
        values = [await writer.raw(encoded) for encoded in table.encoded]
        delivery = Delivery(data.executor_id, data.source_ids, data.messages, data.fan_in)
        return list(events_of(delivery, wire.DeliveryResult(events=shown, values=values, at=now())))

    def _give_up(self, error: Exception) -> None:
        self._open = False
        self._waiting.clear()
        logger.warning(
            "Executor %r goes on unseen: its events cannot be shown before it ends (%s: %s).",
            self._data.executor_id,
            type(error).__name__,
            error,
        )
