"""The key that values are named with where a payload codec encodes them, so that a name tells nothing of its value.

It is made at random by whoever needs it first, and lives in the store as `<namespace>/key`, encoded as all else. If it
is lost, values that were named with it cannot be told from damaged ones: back it up with the rest of the store.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import msgspec

from temporal_adapter import wire

from .blobs import BlobStore
from .errors import StoreError
from .names import key_object
from .records import Records
from .seal import seal

_SIZE = 32
_WHOSE = "The key that values are named with"


class _Key(msgspec.Struct, frozen=True):
    key: str  # hex


class NamingKey:
    """The key of one namespace, read or made when it is first needed."""

    def __init__(self, blobs: BlobStore, namespace: str) -> None:
        self._blobs = blobs
        self._object = key_object(namespace)
        self._key: bytes | None = None

    async def made(self) -> bytes:
        """Return the key; make it when there is none. Of workers that make it at the same time all get the same.

        Raises:
            StoreError: The store cannot be read or written, or the key is damaged.
        """
        if self._key is None:
            fields = seal(wire.dump(_Key(secrets.token_hex(_SIZE))))
            if not await self._blobs.exists(self._object):
                await self._blobs.put_new(self._object, fields)
        return await self.found()

    async def found(self) -> bytes:
        """Return the key.

        Raises:
            MissingObject: There is none.
            CorruptObject: It is damaged.
            StoreError: The store cannot be read.
        """
        if self._key is None:
            text = (await Records(self._blobs).read(_Key, self._object, _WHOSE)).key
            try:
                self._key = bytes.fromhex(text)
            except ValueError as error:
                raise StoreError(f"{_WHOSE}, object {self._object}, is not hexadecimal.") from error
        return self._key


def keyed_digest(key: bytes, text: bytes) -> str:
    """Return the name, 64 hex digits, of a value under a key."""
    return hmac.new(key, text, hashlib.sha256).hexdigest()
