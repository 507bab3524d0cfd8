"""Objects that are named by their content: what they are called, and that they are there to stay.

Whether such an object is a value, a page or a part of one is not known here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime

from temporal_adapter import wire

from .blobs import BlobStore
from .errors import CorruptObject, MissingObject
from .key import NamingKey, keyed_digest
from .pruning import RENEWED_AFTER, TRUSTED_FOR, Clock, check_not_pruned

_REMEMBERED = 20_000


class Contents:
    """The content-named objects of a namespace.

    A name is the SHA-256 of the content, or, where a payload codec encodes it, its HMAC-SHA-256 under the key of the
    namespace.

    Args:
        blobs: Where objects go.
        namespace: First segment of their names.
        remember: Whether to trust, for `TRUSTED_FOR`, that what was found in the store is still there.
        clock: Tells the time.
    """

    def __init__(self, blobs: BlobStore, namespace: str, *, remember: bool, clock: Clock) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._clock = clock
        self._key = NamingKey(blobs, namespace)
        self._whole = _Memory(clock, remember)  # what was read and found to be whole
        self._safe = _Memory(clock, remember)  # what is moreover too young to be pruned

    async def digest_of(self, content: bytes) -> str:
        """Return the digest that names a content. Makes the key where one is needed and there is none yet.

        Raises:
            StoreError: The key cannot be read or made.
        """
        return keyed_digest(await self._key.made(), content) if self._blobs.encodes else wire.digest(content)

    async def is_named(self, digest: str, content: bytes) -> bool:
        """Return whether this digest names this content. In a store older than its codec, it may be the plain one.

        Raises:
            StoreError: The key cannot be read.
        """
        if wire.digest(content) == digest:
            return True
        try:
            return self._blobs.encodes and keyed_digest(await self._key.found(), content) == digest
        except MissingObject:
            return False

    async def check_key(self) -> None:
        """Check that the key is there, where one is needed: without it, contents do not seem to have their names.

        Raises:
            MissingObject: It is not.
        """
        if self._blobs.encodes:
            await self._key.found()

    async def keep(self, name: str, data: bytes) -> None:
        """Make sure that an object is in the store, is whole, and is young enough not to be pruned.

        Raises:
            StoreError: The store cannot be written, or is being pruned: try again.
        """
        if self.is_safe(name):
            return
        if self._whole.has(name) or not await self._blobs.put_new(name, data):
            await self._renew(name, data)
        self._safe.add(name)

    def is_safe(self, name: str) -> bool:
        """Return whether `keep` has nothing to do, as far as this process remembers."""
        return self._safe.has(name)

    def was_read(self, name: str, *, whole: bool) -> None:
        """Take note of how an object was found to be."""
        if whole:
            self._whole.add(name)
        else:
            self._whole.drop(name)
            self._safe.drop(name)

    async def _renew(self, name: str, data: bytes) -> None:
        modified = None
        if self._whole.has(name) or await self._holds(name, data):
            modified = await self._blobs.last_modified(name)
        if modified is None or self._clock() - modified >= RENEWED_AFTER:
            await self._blobs.put(name, data)  # old; or cut short by a power loss, or damaged: made whole again
            modified = None
        await check_not_pruned(self._blobs, self._namespace, self._clock(), written=modified)

    async def _holds(self, name: str, data: bytes) -> bool:
        try:
            return await self._blobs.get(name) == data
        except (CorruptObject, MissingObject):
            return False


class _Memory:
    """Names, each trusted for a while. Safe to use from several threads."""

    def __init__(self, clock: Clock, on: bool) -> None:
        self._clock = clock
        self._on = on
        self._names: OrderedDict[str, datetime] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        if not self._on:
            return
        with self._lock:
            self._names[name] = self._clock()
            self._names.move_to_end(name)
            if len(self._names) > _REMEMBERED:
                self._names.popitem(last=False)

    def drop(self, name: str) -> None:
        with self._lock:
            self._names.pop(name, None)

    def has(self, name: str) -> bool:
        with self._lock:
            since = self._names.get(name)
        return since is not None and self._clock() - since < TRUSTED_FOR
