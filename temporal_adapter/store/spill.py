"""Which values travel inside a payload, and which go to the blob store."""

from __future__ import annotations

from typing import Any

from temporal_adapter import wire

from .values import ValueStore

INLINE_LIMIT = 4096
"""Largest value, in bytes of JSON text, that travels inside a payload unless told otherwise."""

INLINE_BUDGET = 128 * 1024
"""Bytes of values that travel inside one payload unless told otherwise."""

_REFERENCE_SIZE = 96  # of {"ref":"<64 hex digits>","size":...} in JSON: a smaller value gains nothing by reference


class Spill:
    """Decides, for one payload, which values travel inside it and which go to the blob store.

    A value goes inline when its JSON text has at most `inline_limit` bytes and the budget still holds it; one
    that is no larger than a reference always does. Make one `Spill` per activity payload.

    Args:
        values: Where the others go.
        inline_limit: Bytes of the largest inline value.
        budget: Bytes of inline values in all.
    """

    def __init__(self, values: ValueStore, *, inline_limit: int = INLINE_LIMIT, budget: int = INLINE_BUDGET) -> None:
        self._values = values
        self._inline_limit = inline_limit
        self._left = budget

    async def encode(self, tagged_json: Any, times: int = 1) -> wire.Value:
        """Return tagged JSON as a value. Calls in the same order decide the same, also when gathered.

        Args:
            tagged_json: What to encode.
            times: How many times it will travel, each of which the budget has to hold.

        Raises:
            StoreError: The value is too large to be inline, and the store cannot be written.
        """
        text = wire.to_bytes(tagged_json)
        size = len(text)
        if size <= _REFERENCE_SIZE or (size <= self._inline_limit and size * times <= self._left):
            self._left -= size * times
            return wire.Value(inline=tagged_json, size=size)
        return wire.Value(ref=await self._values.put_text(text), size=size)
