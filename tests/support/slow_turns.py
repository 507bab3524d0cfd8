"""Turns that take as long as a test wants: other results come before those of messages."""

from __future__ import annotations

import asyncio
import sys

import pytest

from temporal_adapter import wire
from temporal_adapter.host.context import Host, now


class SlowTurns:
    """To be made before the worker.

    Attributes:
        seconds: How long each turn takes that begins from now on.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.0) -> None:
        self.seconds = seconds
        monkeypatch.setattr(sys.modules["temporal_adapter.host.activities"], "_take_turn", self._take)

    async def _take(self, host: Host, data: wire.TakeTurn) -> wire.TurnTaken:
        await asyncio.sleep(self.seconds)
        return wire.TurnTaken(at=now())
