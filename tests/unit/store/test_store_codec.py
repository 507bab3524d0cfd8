from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from temporal_adapter import wire
from temporal_adapter.store import (
    RECORDED_RANK,
    BlobStore,
    CheckpointStore,
    CorruptObject,
    MissingObject,
    StoreError,
    ValueStore,
    attempt_rank,
)
from temporal_adapter.store.names import key_object, value_object
from tests.unit.store.codecs import CompressingCodec, EncryptingCodec

if TYPE_CHECKING:
    from tests.unit.store.conftest import MakeRecord

SECRET = "the launch code is 0000"
CONVERSATION = [{"role": "user", "text": f"{SECRET}, said {number} times"} for number in range(2_000)]
CODECS = [EncryptingCodec(), CompressingCodec()]


def values_of(blobs: BlobStore) -> ValueStore:
    return ValueStore(blobs, "default", cache_bytes=0)


def bytes_on_disk(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def inline(text: str) -> wire.Value:
    return wire.Value(inline=text, size=len(wire.to_bytes(text)))


async def write_everything(blobs: BlobStore, graph: wire.Graph, make_record: MakeRecord) -> tuple[wire.Base, str]:
    """Write an object of each kind, with the secret in each place; return a checkpoint of pages and a large value."""
    values, checkpoints = values_of(blobs), CheckpointStore(blobs, "default", cache_bytes=0)
    await values.put(SECRET)
    ref = await values.put(CONVERSATION)
    state = wire.Changes(state={f"{SECRET} {number}": inline(SECRET) for number in range(200)})
    small = wire.Changes(state={SECRET: inline(SECRET)})
    base = await checkpoints.commit(make_record("1", changes=state), graph=graph, workflow_id="w", rank=RECORDED_RANK)
    record = make_record("2", parent="1", base=base, changes=small)
    rank = attempt_rank(datetime(2026, 1, 1, tzinfo=timezone.utc), 1)
    base = await checkpoints.commit(record, graph=graph, workflow_id="w", rank=rank, run_id=SECRET)
    record = wire.replace(make_record("3"), messages=[wire.Message(source_id=SECRET, data=inline(SECRET))])
    record = wire.replace(record, header=wire.replace(record.header, metadata={"note": SECRET}))
    await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK)
    await checkpoints.put_run(
        wire.RunEntry(workflow_name="expense", workflow_id="w", run_id="r", task_queue=SECRET, at="2026")
    )
    await checkpoints.discard("4")
    return base, ref


@pytest.mark.parametrize("codec", CODECS, ids=["encrypting", "compressing"])
async def test_with_a_codec_no_plaintext_is_on_disk_and_all_reads_back(
    tmp_path: Path, graph: wire.Graph, make_record: MakeRecord, codec: PayloadCodec
) -> None:
    base, ref = await write_everything(BlobStore(tmp_path, payload_codec=codec), graph, make_record)

    plain = [SECRET.encode(), b"launch", b'"state"', b'"chunks"', b'"pages"', b'"header"', b'"key"', b"expense"]
    on_disk = bytes_on_disk(tmp_path)
    assert {"checkpoints", "workflows", "discarded", "runs", "values", "chunks", "key"} == {
        entry.name for entry in (tmp_path / "default").iterdir()
    }
    assert [name for name, data in on_disk.items() if any(text in data for text in plain)] == []

    fresh = BlobStore(tmp_path, payload_codec=codec)
    checkpoints = CheckpointStore(fresh, "default")
    assert await values_of(fresh).get(ref) == CONVERSATION
    assert len((await checkpoints.load(base)).state) == 201
    assert await checkpoints.list_ids("expense") == ["1", "2", "3"]
    assert [run.task_queue for run in await checkpoints.runs()] == [SECRET]


async def test_the_same_search_finds_the_plaintext_without_a_codec(
    tmp_path: Path, graph: wire.Graph, make_record: MakeRecord
) -> None:
    await write_everything(BlobStore(tmp_path), graph, make_record)
    assert sum(SECRET.encode() in data for data in bytes_on_disk(tmp_path).values()) > 10


async def test_names_of_values_do_not_tell_their_content(tmp_path: Path) -> None:
    values = values_of(BlobStore(tmp_path, payload_codec=EncryptingCodec()))
    for guess in ("yes", CONVERSATION):
        ref = await values.put(guess)
        assert ref == await values.name_of(guess)
        assert ref != wire.digest(wire.to_bytes(guess))
    digests = {hashlib.sha256(wire.to_bytes(one)).hexdigest() for one in ("yes", CONVERSATION)}
    assert not [name for name in bytes_on_disk(tmp_path) if name.rpartition("/")[2] in digests]


async def test_equal_values_of_several_workers_are_one_object(tmp_path: Path) -> None:
    workers = [values_of(BlobStore(tmp_path, payload_codec=EncryptingCodec())) for _ in range(8)]
    refs = await asyncio.gather(*(worker.put("report") for worker in workers))
    assert len(set(refs)) == 1
    assert await BlobStore(tmp_path).list("default") == ["default/key", value_object("default", refs[0])]
    assert [await worker.get(refs[0]) for worker in workers] == ["report"] * 8


async def test_each_namespace_has_a_key_of_its_own(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path, payload_codec=EncryptingCodec())
    assert await ValueStore(blobs, "one").put("report") != await ValueStore(blobs, "other").put("report")


async def test_a_store_older_than_its_codec_stays_readable(
    tmp_path: Path, graph: wire.Graph, make_record: MakeRecord
) -> None:
    base, ref = await write_everything(BlobStore(tmp_path), graph, make_record)
    blobs = BlobStore(tmp_path, payload_codec=EncryptingCodec())
    assert await values_of(blobs).get(ref) == CONVERSATION
    checkpoints = CheckpointStore(blobs, "default", cache_bytes=0)
    next_base = await checkpoints.commit(
        make_record("5", parent="2", base=base), graph=graph, workflow_id="w", rank=RECORDED_RANK
    )
    assert (await checkpoints.load(next_base)).state == (await checkpoints.load(base)).state
    assert await values_of(blobs).put("new") != wire.digest(wire.to_bytes("new"))


async def test_without_the_codec_the_error_says_to_give_it(tmp_path: Path) -> None:
    ref = await values_of(BlobStore(tmp_path, payload_codec=EncryptingCodec())).put("report")
    with pytest.raises(StoreError, match=r"give the blob store the codec.*payload_codec=") as raised:
        await values_of(BlobStore(tmp_path)).get(ref)
    assert value_object("default", ref) in str(raised.value)


async def test_with_another_key_the_error_names_the_object(tmp_path: Path) -> None:
    await BlobStore(tmp_path, payload_codec=EncryptingCodec()).put("a/b", b"report")
    with pytest.raises(StoreError, match=r"cannot decode the object a/b .*InvalidTag.*another codec or key"):
        await BlobStore(tmp_path, payload_codec=EncryptingCodec(b"another key 1234")).get("a/b")


class NeverCalled(EncryptingCodec):
    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        raise AssertionError("the digest comes first")


@pytest.mark.parametrize("damage", ["cut short", "one byte", "longer"])
async def test_a_damaged_object_never_reaches_the_codec(tmp_path: Path, damage: str) -> None:
    await BlobStore(tmp_path, payload_codec=EncryptingCodec()).put("a", b"report")
    data = (tmp_path / "a").read_bytes()
    changed = {"cut short": data[:-1], "one byte": data[:-1] + bytes([data[-1] ^ 1]), "longer": data + b"x"}
    (tmp_path / "a").write_bytes(changed[damage])
    with pytest.raises(CorruptObject, match="object a in the blob store"):
        await BlobStore(tmp_path, payload_codec=NeverCalled()).get("a")


class Raising(EncryptingCodec):
    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        raise RuntimeError("the key server is away")


async def test_a_codec_that_raises_is_trouble_of_the_store_that_names_the_object() -> None:
    blobs = BlobStore("memory://", payload_codec=Raising())
    with pytest.raises(
        StoreError, match=r"cannot encode the object a .*RuntimeError: the key server is away"
    ) as raised:
        await blobs.put_new("a", b"report")
    assert isinstance(raised.value.__cause__, RuntimeError)
    with pytest.raises(StoreError, match=r"cannot encode the object probe-.*the key server is away"):
        await blobs.probe()


async def test_a_lost_key_is_named_and_its_values_are_never_taken_for_others(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path, payload_codec=EncryptingCodec())
    ref = await values_of(blobs).put("report")
    await blobs.delete(key_object("default"))
    with pytest.raises(MissingObject, match="default/key"):
        await values_of(blobs).get(ref)
    await values_of(blobs).put("another")  # makes another key
    with pytest.raises(CorruptObject, match=f"{ref}.*under the key default/key"):
        await values_of(blobs).get(ref)


@pytest.mark.parametrize("plain", [b"", b"{}", b"\0\0\0", b"\0temporal"])
async def test_any_bytes_may_be_stored_through_a_codec(plain: bytes) -> None:
    blobs = BlobStore("memory://", payload_codec=CompressingCodec())
    await blobs.put("a", plain)
    assert await blobs.get("a") == plain


async def test_a_store_that_is_given_gets_the_codec_unless_it_has_its_own(tmp_path: Path) -> None:
    given, own = BlobStore(tmp_path), BlobStore(tmp_path, payload_codec=CompressingCodec())
    assert BlobStore.of(given) is given
    assert BlobStore.of(own, EncryptingCodec()) is own
    with_codec = BlobStore.of(given, CompressingCodec())
    await with_codec.put("a", b"report" * 10)
    assert not given.encodes
    assert b"report" not in (tmp_path / "a").read_bytes()
    assert await own.get("a") == await with_codec.get("a") == b"report" * 10
    by_path: Any = BlobStore.of(str(tmp_path), CompressingCodec())
    assert await by_path.get("a") == b"report" * 10
