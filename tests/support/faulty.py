"""A blob store that a test takes away, or makes slow, and gives back."""

from __future__ import annotations

import asyncio
from typing import Any

from temporal_adapter import BlobStore, StoreError


class FaultyStore(BlobStore):
    """Memory that cannot be written while it is away.

    Attributes:
        away: Whether it is.
        seconds: How long a write takes.
    """

    def __init__(self) -> None:
        super().__init__("memory://")
        self.away = False
        self.seconds = 0.0

    async def _write(self, name: str, data: bytes, mode: Any) -> bool:
        if self.away:
            raise StoreError("The blob store is away.")
        await asyncio.sleep(self.seconds)
        return await super()._write(name, data, mode)
