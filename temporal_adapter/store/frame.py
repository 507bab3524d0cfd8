"""How an object looks that a payload codec has encoded, such as one that encrypts. Does no I/O of its own.

    magic and format version, 16 bytes | SHA-256 of the rest, 32 bytes | Temporal's `Payloads`, serialized

The magic starts with a zero byte, which no JSON does, so that framed objects and plain ones live in one store: a store
may be older than its codec. The digest is checked before the codec sees anything.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from temporalio.api.common.v1 import Payload, Payloads

from .errors import CodecNeeded, CorruptObject, StoreError

if TYPE_CHECKING:
    from temporalio.converter import PayloadCodec

MAGIC = b"\0temporal-codec\x01"
_DIGEST_SIZE = 32


def is_framed(data: bytes) -> bool:
    """Return whether these are an object's bytes as a codec left them."""
    return data.startswith(MAGIC)


async def framed(codec: PayloadCodec, data: bytes, place: str) -> bytes:
    """Return an object's bytes encoded; `place` names it in errors.

    Raises:
        StoreError: The codec raised.
    """
    try:
        encoded = await codec.encode([Payload(metadata={"encoding": b"binary/plain"}, data=data)])
        body = Payloads(payloads=encoded).SerializeToString()
    except Exception as error:  # a codec is anybody's code
        raise StoreError(f"The payload codec cannot encode the object {place}: {_told(error)}") from error
    return MAGIC + hashlib.sha256(body).digest() + body


async def unframed(codec: PayloadCodec | None, data: bytes, place: str) -> bytes:
    """Return an object's bytes decoded; what was stored without a codec as it is.

    Raises:
        CorruptObject: The frame is damaged.
        CodecNeeded: There is no codec.
        StoreError: The codec raised.
    """
    if not is_framed(data):
        return data
    if codec is None:
        raise CodecNeeded(
            f"The object {place} was written through a payload codec, and this process has none: give the blob store "
            "the codec of the workers, BlobStore(url, payload_codec=...)."
        )
    digest, body = data[len(MAGIC) :][:_DIGEST_SIZE], data[len(MAGIC) + _DIGEST_SIZE :]
    if hashlib.sha256(body).digest() != digest:
        raise CorruptObject(
            f"The object {place} is damaged: its content does not have the digest at its start. "
            "Restore the object from a backup of the store."
        )
    try:
        (payload,) = await codec.decode(list(Payloads.FromString(body).payloads))
    except Exception as error:  # a codec is anybody's code
        raise StoreError(
            f"The payload codec cannot decode the object {place}: {_told(error)}. "
            "It was written with another codec or key."
        ) from error
    return payload.data


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": .")
