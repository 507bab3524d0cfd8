"""With a payload codec on the client, histories are read and the store is rebuilt in its code."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec

from temporal_adapter import BlobStore
from temporal_adapter.recovery import rebuild, verify
from tests.support.graphs import ask_once
from tests.support.recovering import reporting_at_length
from tests.support.running import pending, serving

CODE = b"test/reversed"


class Reversing(PayloadCodec):
    """Stands for encryption: nothing of a payload is to be read as it is."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": CODE}, data=base64.b85encode(one.SerializeToString()[::-1]))
            for one in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload.FromString(base64.b85decode(one.data)[::-1]) if one.metadata["encoding"] == CODE else one
            for one in payloads
        ]


def _all_bytes(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


async def test_an_encrypted_run_is_verified_and_rebuilt(
    connect: Callable[..., Awaitable[Client]], task_queue: str, tmp_path: Path
) -> None:
    codec = Reversing()
    client = await connect(data_converter=DataConverter(payload_codec=codec))
    store, lost = BlobStore("memory://", payload_codec=codec), str(tmp_path / "store")
    async with serving(client, task_queue, reporting_at_length(20_000), store=store) as durable:
        await pending(await durable.start(1, id=task_queue))
    async with serving(client, task_queue, ask_once, store=store) as durable:
        await pending(await durable.start(1, id=f"{task_queue}-small"))

    intact = [await verify(client, id, store) for id in (task_queue, f"{task_queue}-small")]
    rebuilt = await rebuild(client, f"{task_queue}-small", lost)
    partly = await rebuild(client, task_queue, lost)

    assert [one.differences for one in intact] == [(), ()]
    assert rebuilt.complete
    assert (await verify(client, f"{task_queue}-small", lost)).same
    assert not partly.runs[0].failed
    assert {one.place for one in partly.runs[0].lost} == {"state['report']", "messages[0].data"}
    raw = await asyncio.to_thread(_all_bytes, tmp_path)
    assert raw
    assert not any(b"ask: 1?" in data or b"previous_checkpoint_id" in data for data in raw)
