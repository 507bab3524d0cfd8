"""The workflow's side of streaming: live batches, kept for a while for those who follow the run by query.

Made only for runs that asked for it and for sessions, whose inputs may: other runs have no handler, event or memory of
it. Nothing here decides anything about the run or reads a batch: the results of activities are the truth, and this is
an early view of them.

The handlers are those of `temporalio.contrib.workflow_streams`: activities publish by its signal. Subscribers should
ask by its query, which costs no history, and not by its update, of which a run takes 2,000.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, cast

from temporalio import workflow
from temporalio.contrib.workflow_streams import PublishInput, WorkflowStream, WorkflowStreamState

from temporal_adapter import wire
from temporal_adapter.wire.names import STREAM_OFFSET, STREAM_PUBLISH

_KEPT_BATCHES, _KEPT_BYTES = 512, 1024 * 1024
"""Of the log: a subscriber that comes later than this sees a delivery when it has ended."""

_EVENTS_LIMIT, _BYTES_LIMIT = 8_000, 16 * 1024 * 1024
"""Length of history up to which batches are published: far from Temporal's limits (51,200 events, 50 MiB), and, since
each batch is one event at least, from 10,000 signals."""

_EVENTS_PER_BATCH = 4  # the signal, and a workflow task of its own


def asks_for_stream(options: Any) -> bool:
    """Whether a run's options, as they came and not yet checked, ask for streaming."""
    return _says(options, "stream")


def may_stream(options: Any) -> bool:
    """Whether a run streams now and then: a session does when one of its inputs asks for it."""
    return _says(options, "stream") or _says(options, "session")


def _says(options: Any, key: str) -> bool:
    return isinstance(options, Mapping) and cast("Mapping[str, Any]", options).get(key) is True


class StreamLog:
    """The live batches of one run.

    Args:
        offset: Where the first one will be in the stream: those before it were of earlier Temporal runs.
    """

    def __init__(self, offset: int = 0) -> None:
        before = WorkflowStreamState(base_offset=offset) if offset else None
        self._stream = WorkflowStream(before)  # insists on being made in an __init__
        self._publish = cast("Callable[[PublishInput], None]", workflow.get_signal_handler(STREAM_PUBLISH))  # pyright: ignore[reportUnknownMemberType]
        self._offset = cast("Callable[[], int]", workflow.get_query_handler(STREAM_OFFSET))  # pyright: ignore[reportUnknownMemberType]
        self._kept: deque[tuple[int, int]] = deque()  # where each batch ends in the stream, and its size
        self._bytes = 0
        workflow.set_signal_handler(STREAM_PUBLISH, self._on_publish)  # pyright: ignore[reportUnknownMemberType]

    @property
    def offset(self) -> int:
        """Where the next batch will be in the stream."""
        return self._offset()

    def room(self, deliveries: int) -> wire.LiveRoom:
        """Return what each of so many deliveries that run side by side may publish."""
        info = workflow.info()
        events = max(0, _EVENTS_LIMIT - info.get_current_history_length())
        size = max(0, _BYTES_LIMIT - info.get_current_history_size())
        share = max(1, deliveries)
        return wire.LiveRoom(batches=events // _EVENTS_PER_BATCH // share, bytes=size // share)

    def close(self) -> None:
        """The run ends: let go of subscribers that wait by update, since the run would wait for them."""
        self._stream.detach_pollers()

    def _on_publish(self, payload: PublishInput) -> None:
        before = self._offset()
        try:
            self._publish(payload)
        except Exception as error:  # anybody can send this signal, and an error here would stop the run for good
            workflow.logger.warning("A live batch was ignored: %s", error)
        after = self._offset()
        if after > before:
            self._keep(after, sum(len(entry.data) + len(entry.topic) for entry in payload.items))

    def _keep(self, offset: int, size: int) -> None:
        self._kept.append((offset, size))
        self._bytes += size
        while len(self._kept) > _KEPT_BATCHES or self._bytes > _KEPT_BYTES:
            end, dropped = self._kept.popleft()
            self._bytes -= dropped
            self._stream.truncate(end)
