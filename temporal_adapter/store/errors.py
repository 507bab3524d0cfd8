"""What can go wrong with the blob store. Every message names the store, the object and what to do."""

from __future__ import annotations


class StoreError(Exception):
    """The blob store did not do what was asked. The cause is chained."""


class CodecNeeded(StoreError):
    """An object was written through a payload codec, and this process was given none."""


class MissingObject(StoreError):
    """An object that should be in the blob store is not there."""


class CorruptObject(StoreError):
    """An object in the blob store does not have the content its name or digest promises."""
