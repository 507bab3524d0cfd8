"""Values in the blob store: tagged JSON, named by its content. What a value means is not known here.

    <namespace>/values/<first 2 hex digits>/<digest>    the JSON text; or `wire.ChunkedValue`, sealed, of a large one
    <namespace>/chunks/<first 2 hex digits>/<digest>    parts of large texts

A value's name is the digest of its JSON text, so equal values are one object however often and by whomever they are
written. The text keeps the order of keys, as a value inside a payload does. A large text is stored in parts
(`store.chunks`), which values that are nearly equal share; the value is named by the whole text all the same.
`store.contents` says what the digest is where a payload codec encodes.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from temporal_adapter import wire
from temporal_adapter.wire.manifest import ChunkedValue

from .blobs import BlobStore
from .bounded import bounded_map
from .cache import ByteCache
from .chunks import WHOLE_UP_TO, cut
from .contents import Contents
from .errors import CorruptObject, MissingObject, StoreError
from .names import chunk_object, key_object, value_object
from .pruning import Clock, present
from .seal import seal, unseal

CACHE_BYTES = 32 * 1024 * 1024
"""Bytes of values a store keeps in memory unless told otherwise."""


class ValueStore:
    """Writes values to the blob store and reads them back, checked.

    What was written or read lately is kept in memory: a worker reads what it wrote without a request, and for some
    hours does not write it again. `store.pruning` says why values do not vanish meanwhile.

    Args:
        blobs: Where objects go.
        namespace: First segment of their names.
        cache_bytes: Memory to use for the cache; 0 turns it off, so that every call looks into the store.
        clock: Tells the time, with a time zone.
    """

    def __init__(
        self, blobs: BlobStore, namespace: str, *, cache_bytes: int = CACHE_BYTES, clock: Clock = present
    ) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._cache = ByteCache(cache_bytes)
        self._contents = Contents(blobs, namespace, remember=cache_bytes > 0, clock=clock)

    async def name_of(self, tagged_json: Any) -> str:
        """Return the digest that `put` would return, without writing the value.

        Where a payload codec encodes, digests need the key of the namespace, which is made when there is none.

        Raises:
            StoreError: The key cannot be read or made.
        """
        return await self._contents.digest_of(wire.to_bytes(tagged_json))

    async def put(self, tagged_json: Any) -> str:
        """Write a value and return its digest. Writing it again, from anywhere, changes nothing.

        Raises:
            StoreError: The store cannot be written, or is being pruned: try again.
        """
        return await self.put_text(wire.to_bytes(tagged_json))

    async def put_text(self, text: bytes) -> str:
        """Write the value that has this JSON text, as `put` does.

        Raises:
            StoreError: As `put`.
        """
        digest = await self._contents.digest_of(text)
        name = value_object(self._namespace, digest)
        if not self._contents.is_safe(name):
            # The parts first, so that nobody finds a value without them.
            await self._contents.keep(name, text if len(text) <= WHOLE_UP_TO else await self._in_chunks(text))
        self._cache.put(digest, text)
        return digest

    async def get(self, digest: str) -> Any:
        """Return a value's tagged JSON: a fresh copy, the caller's to change.

        Raises:
            MissingObject: The store does not have it.
            CorruptObject: What the store has under this name is something else.
            StoreError: The store cannot be read, or `digest` is not a digest.
        """
        try:
            return json.loads(await self.get_text(digest))
        except MissingObject as error:
            raise MissingObject(
                f"{error} It held a value too large for history, so nothing else can rebuild it: "
                "restore the object from a backup of the store, or reset the run to before the value was made."
            ) from error

    async def get_text(self, digest: str) -> bytes:
        """Return a value's JSON text.

        Raises:
            StoreError: As `get`.
        """
        text = self._cache.get(digest)
        if text is None:
            text = await self._read(digest)
            self._cache.put(digest, text)
        return text

    async def resolve(self, value: wire.Value) -> Any:
        """Return the tagged JSON of a value, inline or by reference. What was inline is returned as it is, not copied.

        Raises:
            StoreError: As `get`; or the value is neither inline nor a reference.
        """
        encoded = await self._unpatched(value)
        for patch in value.patches:
            encoded = wire.patched(encoded, await self.resolve(patch))
        return encoded

    async def chunks_of(self, digest: str) -> list[str]:
        """Return the digests of the parts that a value is stored in; none when it is in one piece.

        Raises:
            StoreError: As `get`.
        """
        name = value_object(self._namespace, digest)
        data = await self._blobs.get(name)
        return [] if await self._contents.is_named(digest, data) else self._chunked(name, data).chunks

    async def _unpatched(self, value: wire.Value) -> Any:
        if value.ref is not None:
            return await self.get(value.ref)
        if value.inline is msgspec.UNSET:
            raise StoreError(
                f"A value of {value.size} bytes is neither inline nor a reference; its payload is damaged."
            )
        return value.inline

    async def _in_chunks(self, text: bytes) -> bytes:
        chunks = await bounded_map(self._put_chunk, cut(text))
        return seal(wire.dump(ChunkedValue(size=len(text), chunks=chunks)))

    async def _put_chunk(self, part: bytes) -> str:
        digest = await self._contents.digest_of(part)
        await self._contents.keep(chunk_object(self._namespace, digest), part)
        return digest

    async def _read(self, digest: str) -> bytes:
        try:
            name = value_object(self._namespace, digest)
        except ValueError as error:
            raise StoreError(f"A value cannot be read from the blob store {self._blobs.url}: {error}") from error
        try:
            text = await self._text_in(name, digest)
        except StoreError as error:
            self._contents.was_read(name, whole=False)
            if isinstance(error, CorruptObject):
                await self._contents.check_key()
            raise
        self._contents.was_read(name, whole=True)
        return text

    async def _text_in(self, name: str, digest: str) -> bytes:
        data = await self._blobs.get(name)
        if await self._contents.is_named(digest, data):
            return data
        chunks = self._chunked(name, data).chunks
        try:
            text = b"".join(await bounded_map(self._chunk, chunks))
        except StoreError as error:
            raise type(error)(f"The value {name} cannot be read, for a part of it cannot: {error}") from error
        if not await self._contents.is_named(digest, text):
            raise self._corrupt(name)
        return text

    async def _chunk(self, digest: str) -> bytes:
        name = chunk_object(self._namespace, digest)
        try:
            part = await self._blobs.get(name)
            if not await self._contents.is_named(digest, part):
                raise self._corrupt(name)
        except StoreError:
            self._contents.was_read(name, whole=False)
            raise
        self._contents.was_read(name, whole=True)
        return part

    def _chunked(self, name: str, data: bytes) -> ChunkedValue:
        try:
            return wire.load(ChunkedValue, unseal(data))
        except wire.WireError as error:
            raise StoreError(f"The value {name} in the blob store {self._blobs.url}: {error}") from error
        except (ValueError, RecursionError) as error:
            raise self._corrupt(name) from error

    def _corrupt(self, name: str) -> CorruptObject:
        keyed = f", under the key {key_object(self._namespace)}" if self._blobs.encodes else ""
        return CorruptObject(
            f"The value {name} in the blob store {self._blobs.url} is damaged: its content does not have the "
            f"digest in its name{keyed}. Restore the object from a backup of the store."
        )
