"""A blob store that counts what is written."""

from __future__ import annotations

from typing import Any

from temporal_adapter.store import BlobStore


class CountingStore(BlobStore):
    """Counts the bytes of the objects that are really written."""

    def __init__(self, url: str = "memory://") -> None:
        super().__init__(url)
        self._written: dict[str, int] = {}

    async def _write(self, name: str, data: bytes, mode: Any) -> bool:
        written = await super()._write(name, data, mode)
        if written:
            self._written[name] = len(data)
        return written

    def take(self) -> dict[str, int]:
        """Return the objects written since the last call, with their bytes."""
        taken, self._written = self._written, {}
        return taken
