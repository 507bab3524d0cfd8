"""The shape of what an executor shows while it still works. It is in signals only; nothing is built on it."""

from __future__ import annotations

import msgspec

from .shapes import Event


class LiveBatch(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Events of an attempt that is still running: an early view, which only the attempt's result makes true."""

    executor_id: str
    rank: str  # of the attempt; a later attempt's sorts higher
    attempt: int  # Temporal's number, from 1
    position: int  # of the first event, among all events of the attempt
    events: list[Event] = []
    abandoned: bool = False  # the attempt has failed: what it showed is void
