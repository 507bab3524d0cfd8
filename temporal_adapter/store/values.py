"""Values in the blob store: tagged JSON, named by its digest. What a value means is not known here.

A value's name is the digest of its JSON text, so equal values are one object however often and by whomever they are
written. The text keeps the order of keys, as a value inside a payload does.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from temporal_adapter import wire

from .blobs import BlobStore
from .cache import ByteCache
from .errors import CorruptObject, MissingObject, StoreError
from .names import value_object

INLINE_LIMIT = 4096
"""Largest value, in bytes of JSON text, that travels inside a payload unless told otherwise."""

INLINE_BUDGET = 128 * 1024
"""Bytes of values that travel inside one payload unless told otherwise."""

CACHE_BYTES = 32 * 1024 * 1024
"""Bytes of values a store keeps in memory unless told otherwise."""

_REFERENCE_SIZE = 96  # of {"ref":"<64 hex digits>","size":...} in JSON: a smaller value gains nothing by reference


class ValueStore:
    """Writes values to the blob store and reads them back, checked.

    What was written or read lately is kept in memory: a worker reads what it wrote without a request, and does not
    write it again. So values must not be deleted from the store while runs that may use them are open.

    Args:
        blobs: Where objects go.
        namespace: First segment of their names.
        cache_bytes: Memory to use for the cache; 0 turns it off.
    """

    def __init__(self, blobs: BlobStore, namespace: str, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._cache = ByteCache(cache_bytes)

    async def put(self, tagged_json: Any) -> str:
        """Write a value and return its digest. Writing it again, from anywhere, changes nothing.

        Raises:
            StoreError: The store cannot be written.
        """
        data = wire.to_bytes(tagged_json)
        digest = wire.digest(data)
        if self._cache.get(digest) is None:
            name = value_object(self._namespace, digest)
            if not await self._blobs.put_new(name, data) and not await self._is_sound(name, digest):
                await self._blobs.put(name, data)  # cut short by a power loss or damaged: made whole again
            self._cache.put(digest, data)
        return digest

    async def get(self, digest: str) -> Any:
        """Return a value's tagged JSON: a fresh copy, the caller's to change.

        Raises:
            MissingObject: The store does not have it.
            CorruptObject: What the store has under this name is something else.
            StoreError: The store cannot be read, or `digest` is not a digest.
        """
        data = self._cache.get(digest)
        if data is not None:
            return json.loads(data)
        try:
            name = value_object(self._namespace, digest)
        except ValueError as error:
            raise StoreError(f"A value cannot be read from the blob store {self._blobs.url}: {error}") from error
        try:
            data = await self._blobs.get(name)
        except MissingObject as error:
            raise MissingObject(
                f"{error} It held a value too large for history, so nothing else can rebuild it: "
                "restore the object from a backup of the store, or reset the run to before the value was made."
            ) from error
        self._check(name, digest, data)
        self._cache.put(digest, data)
        return json.loads(data)

    async def resolve(self, value: wire.Value) -> Any:
        """Return the tagged JSON of a value, inline or by reference. What was inline is returned as it is, not copied.

        Raises:
            StoreError: As `get`; or the value is neither inline nor a reference.
        """
        encoded = await self._unpatched(value)
        for patch in value.patches:
            encoded = wire.patched(encoded, await self.resolve(patch))
        return encoded

    async def _unpatched(self, value: wire.Value) -> Any:
        if value.ref is not None:
            return await self.get(value.ref)
        if value.inline is msgspec.UNSET:
            raise StoreError(
                f"A value of {value.size} bytes is neither inline nor a reference; its payload is damaged."
            )
        return value.inline

    async def _is_sound(self, name: str, digest: str) -> bool:
        try:
            self._check(name, digest, await self._blobs.get(name))
        except (CorruptObject, MissingObject):
            return False
        return True

    def _check(self, name: str, digest: str, data: bytes) -> None:
        if wire.digest(data) != digest:
            raise CorruptObject(
                f"The value {name} in the blob store {self._blobs.url} is damaged: its content does not have the "
                "digest in its name. Restore the object from a backup of the store."
            )


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

    async def encode(self, tagged_json: Any) -> wire.Value:
        """Return tagged JSON as a value. Calls in the same order decide the same, also when gathered.

        Raises:
            StoreError: The value is too large to be inline, and the store cannot be written.
        """
        size = len(wire.to_bytes(tagged_json))
        if size <= _REFERENCE_SIZE or (size <= self._inline_limit and size <= self._left):
            self._left -= size
            return wire.Value(inline=tagged_json, size=size)
        return wire.Value(ref=await self._values.put(tagged_json), size=size)
