"""A blob store that a test takes away and gives back."""

from __future__ import annotations

from typing import Any

from temporal_adapter import BlobStore, StoreError


class FaultyStore(BlobStore):
    """Memory that cannot be written while it is away."""

    def __init__(self) -> None:
        super().__init__("memory://")
        self.away = False

    async def _write(self, name: str, data: bytes, mode: Any) -> bool:
        if self.away:
            raise StoreError("The blob store is away.")
        return await super()._write(name, data, mode)
