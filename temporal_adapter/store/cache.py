"""A cache of bytes with a byte limit. It knows nothing of what the bytes mean."""

from __future__ import annotations

import threading
from collections import OrderedDict


class ByteCache:
    """Least recently used entries go first. Safe to use from several threads (and so event loops).

    Args:
        limit: Bytes to hold at most, counting contents only. An entry above it is not kept; 0 turns the cache off.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes held now."""
        return self._size

    def get(self, key: str) -> bytes | None:
        """Return an entry, or None."""
        with self._lock:
            data = self._entries.get(key)
            if data is not None:
                self._entries.move_to_end(key)
            return data

    def put(self, key: str, data: bytes) -> None:
        """Keep an entry, in place of an older one under the key."""
        with self._lock:
            self._size -= len(self._entries.pop(key, b""))
            if len(data) > self._limit:
                return
            self._entries[key] = data
            self._size += len(data)
            while self._size > self._limit:
                _, dropped = self._entries.popitem(last=False)
                self._size -= len(dropped)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._size = 0
