"""Sealed shapes as objects: read and checked, with errors that say whose object is damaged."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from temporal_adapter import wire

from .blobs import BlobStore
from .errors import CorruptObject, MissingObject, StoreError
from .seal import seal, unseal

ShapeT = TypeVar("ShapeT", bound=msgspec.Struct)


class Records:
    """Objects that hold one sealed shape each.

    In its methods, `whose` starts the error messages: what the object belongs to, such as `Checkpoint 'c1'`.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    async def write(self, name: str, shape: msgspec.Struct) -> None:
        """Write a shape, in place of one that is there.

        Raises:
            StoreError: The store cannot be written.
        """
        await self._blobs.put(name, seal(wire.dump(shape)))

    async def read(self, shape: type[ShapeT], name: str, whose: str) -> ShapeT:
        """Return the shape in an object.

        Raises:
            MissingObject: There is none of this name.
            CorruptObject: It is damaged.
            StoreError: The store cannot be read, or a later release wrote the object.
        """
        return self.parse(shape, await self.bytes_of(name, whose), name, whose)

    async def bytes_of(self, name: str, whose: str) -> bytes:
        """Return an object's bytes, unread.

        Raises:
            MissingObject: There is none of this name.
            CorruptObject: It was written through a payload codec, and is damaged.
            StoreError: The store cannot be read.
        """
        try:
            return await self._blobs.get(name)
        except MissingObject as error:
            raise MissingObject(f"{whose} is missing: {error}") from error
        except StoreError as error:
            raise type(error)(f"{whose} cannot be read: {error}") from error

    def parse(self, shape: type[ShapeT], data: bytes, name: str, whose: str) -> ShapeT:
        """Return the shape that an object's bytes are.

        Raises:
            CorruptObject: They are damaged.
            StoreError: A later release wrote them.
        """
        return self.shape_of(shape, self.fields_of(data, name, whose), name, whose)

    def fields_of(self, data: bytes, name: str, whose: str) -> Any:
        """Return the sealed fields, whatever their shape.

        Raises:
            CorruptObject: The seal is broken.
        """
        try:
            return unseal(data)
        except (ValueError, RecursionError) as error:
            raise self.corrupt(whose, name, str(error)) from error

    def shape_of(self, shape: type[ShapeT], fields: Any, name: str, whose: str) -> ShapeT:
        """Return the shape that fields have.

        Raises:
            StoreError: They have another, as those that a later release wrote.
        """
        try:
            return wire.load(shape, fields)
        except wire.WireError as error:
            raise StoreError(f"{whose}, object {name} in the blob store {self._blobs.url}: {error}") from error
        except RecursionError as error:
            raise self.corrupt(whose, name, str(error)) from error

    def corrupt(self, whose: str, name: str, reason: str) -> CorruptObject:
        """Return the error for a damaged object."""
        return CorruptObject(
            f"{whose} is damaged: object {name} in the blob store {self._blobs.url}: {reason}. "
            "Restore the object from a backup of the store, or go on from another checkpoint."
        )
