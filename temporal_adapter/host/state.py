"""Shared state for one delivery: MAF's `State` over values that are decoded when they are read.

A delivery of a run with a thousand keys that reads one decodes one. What it writes is known key by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from temporal_adapter import wire
from temporal_adapter.maf import State
from temporal_adapter.values import Codec


class _Committed(MutableMapping[str, Any]):
    """Committed values: encoded until first read, with the keys that were written or deleted since."""

    def __init__(self, encoded: Mapping[str, Any], codec: Codec) -> None:
        self._encoded = dict(encoded)
        self._decoded: dict[str, Any] = {}
        self._codec = codec
        self.written: dict[str, bool] = {}  # key -> still there, in order of first write

    def __getitem__(self, key: str) -> Any:
        if key not in self._decoded:
            self._decoded[key] = self._codec.decode(self._encoded[key])
        return self._decoded[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._encoded.setdefault(key, None)
        self._decoded[key] = value
        self.written[key] = True

    def __delitem__(self, key: str) -> None:
        del self._encoded[key]
        self._decoded.pop(key, None)
        self.written[key] = False

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._encoded))

    def __len__(self) -> int:
        return len(self._encoded)

    def __contains__(self, key: object) -> bool:
        return key in self._encoded


class SharedState(State):
    """The state that an executor's context shows."""

    def __init__(self, encoded: Mapping[str, Any], codec: Codec) -> None:
        super().__init__()
        self._values = _Committed(encoded, codec)
        self._committed = self._values  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue]
        self._codec = codec
        self._before = encoded
        self._read: set[str] = set()
        self._written_unread: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of a value."""
        self._read.add(key)
        return super().get(key, default)

    def has(self, key: str) -> bool:
        """Return whether there is a value."""
        self._read.add(key)
        return super().has(key)

    def set(self, key: str, value: Any) -> None:
        """Set a value, as a copy."""
        if key not in self._read:
            self._written_unread.add(key)
        super().set(key, value)

    def export_state(self) -> dict[str, Any]:
        """Return a copy of the committed state, decoded."""
        return {key: self.get(key) for key in self._values}

    def patches(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """Return what changed in each key that was read before it was written: a patch, or None if it has none."""
        return {
            key: wire.patch_between(self._before.get(key, wire.ABSENT), encoded)
            for key, encoded in written.items()
            if key not in self._written_unread
        }

    def written(self) -> dict[str, Any]:
        """Commit, and return what was set, in tagged JSON.

        Raises:
            EncodeError: A value cannot be encoded; names the key.
        """
        self.commit()
        return {
            key: self._codec.encode(self._values[key], f"state[{key!r}]")
            for key, present in self._values.written.items()
            if present
        }

    def deleted(self) -> list[str]:
        """Commit, and return the keys that were deleted."""
        self.commit()
        return [key for key, present in self._values.written.items() if not present]
