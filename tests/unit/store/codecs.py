"""Payload codecs as applications have them: one that encrypts, one that compresses."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec


class EncryptingCodec(PayloadCodec):
    """AES-GCM, as in Temporal's samples."""

    def __init__(self, key: bytes = b"0123456789abcdef") -> None:
        self._cipher = AESGCM(key)

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload(metadata={"encoding": b"binary/encrypted"}, data=self._sealed(one)) for one in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload.FromString(self._cipher.decrypt(one.data[:12], one.data[12:], None)) for one in payloads]

    def _sealed(self, payload: Payload) -> bytes:
        nonce = os.urandom(12)
        return nonce + self._cipher.encrypt(nonce, payload.SerializeToString(), None)


class CompressingCodec(PayloadCodec):
    """zlib."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": b"binary/zlib"}, data=zlib.compress(one.SerializeToString()))
            for one in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload.FromString(zlib.decompress(one.data)) for one in payloads]
