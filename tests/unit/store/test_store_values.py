from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from temporal_adapter import wire
from temporal_adapter.store import BlobStore, CorruptObject, MissingObject, Spill, StoreError, ValueStore
from temporal_adapter.store.names import value_object

REPORT = {"$": "dataclass", "type": "app:Report", "fields": {"z": [1, None, 2.5], "a": "Ünïcode \ud800", "n": 10**30}}
DIGEST = wire.digest(wire.to_bytes(REPORT))
OBJECT = value_object("default", DIGEST)


def uncached(blobs: BlobStore) -> ValueStore:
    return ValueStore(blobs, "default", cache_bytes=0)


async def test_a_value_reads_back_with_its_keys_in_order(blobs: BlobStore) -> None:
    assert await uncached(blobs).put(REPORT) == DIGEST
    assert json.dumps(await uncached(blobs).get(DIGEST)) == json.dumps(REPORT)


async def test_a_value_is_one_object_named_by_its_digest(blobs: BlobStore) -> None:
    await asyncio.gather(*(uncached(blobs).put(REPORT) for _ in range(10)))
    assert await blobs.list("default") == [f"default/values/{DIGEST[:2]}/{DIGEST}"]


async def test_namespaces_keep_their_values_apart(blobs: BlobStore) -> None:
    await ValueStore(blobs, "one").put(REPORT)
    with pytest.raises(MissingObject):
        await ValueStore(blobs, "other").get(DIGEST)


async def test_what_was_written_is_read_without_the_store(blobs: BlobStore) -> None:
    values = ValueStore(blobs, "default")
    await values.put(REPORT)
    await blobs.delete(OBJECT)
    assert await values.get(DIGEST) == REPORT


async def test_what_was_read_is_read_again_without_the_store(blobs: BlobStore) -> None:
    await uncached(blobs).put(REPORT)
    values = ValueStore(blobs, "default")
    await values.get(DIGEST)
    await blobs.delete(OBJECT)
    assert await values.get(DIGEST) == REPORT


async def test_a_caller_that_changes_what_it_got_changes_nothing_for_others(blobs: BlobStore) -> None:
    values = ValueStore(blobs, "default")
    original: dict[str, Any] = {"items": [1, 2]}
    digest = await values.put(original)
    original["items"].append(3)
    (await values.get(digest))["items"].append(4)
    assert await values.get(digest) == {"items": [1, 2]}


async def test_a_missing_value_is_named_with_what_its_loss_means(blobs: BlobStore) -> None:
    with pytest.raises(MissingObject, match="nothing else can rebuild it") as raised:
        await uncached(blobs).get(DIGEST)
    assert OBJECT in str(raised.value)


def damaged(data: bytes, damage: str) -> bytes:
    return {
        "empty": b"",
        "cut short": data[:-1],
        "other value": b'"another"',
        "one character": data.replace(b"2.5", b"2.6"),
        "binary": b"\xff\xfe\x00",
    }[damage]


DAMAGES = ["empty", "cut short", "other value", "one character", "binary"]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_value_is_never_returned(blobs: BlobStore, damage: str) -> None:
    await uncached(blobs).put(REPORT)
    await blobs.put(OBJECT, damaged(await blobs.get(OBJECT), damage))
    with pytest.raises(CorruptObject, match="is damaged") as raised:
        await uncached(blobs).get(DIGEST)
    assert OBJECT in str(raised.value)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_writing_a_damaged_value_again_makes_it_whole(blobs: BlobStore, damage: str) -> None:
    await uncached(blobs).put(REPORT)
    await blobs.put(OBJECT, damaged(await blobs.get(OBJECT), damage))
    await uncached(blobs).put(REPORT)
    assert await uncached(blobs).get(DIGEST) == REPORT


async def test_a_reference_that_is_no_digest_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('"secret"')
    with pytest.raises(StoreError, match="not a value's digest"):
        await uncached(BlobStore(tmp_path / "store")).get("../../../secret")


async def test_small_values_go_inline_and_large_ones_by_reference(blobs: BlobStore) -> None:
    values = uncached(blobs)
    spill = Spill(values, inline_limit=1_000)
    for length, inline in [(998, True), (999, False)]:  # two quotation marks
        value = await spill.encode("x" * length)
        assert value.size == length + 2
        assert (value.inline == "x" * length) == inline
        assert (value.ref is None) == inline
        assert await values.resolve(value) == "x" * length


async def test_values_beyond_the_budget_go_by_reference(blobs: BlobStore) -> None:
    spill = Spill(uncached(blobs), inline_limit=1_000, budget=2_500)
    encoded = await asyncio.gather(*(spill.encode(str(number) * 898) for number in range(4)))
    assert [value.ref is None for value in encoded] == [True, True, False, False]
    assert (await spill.encode("x" * 500)).ref is None  # what is left of the budget is still used


async def test_a_value_no_larger_than_a_reference_always_goes_inline(blobs: BlobStore) -> None:
    spill = Spill(uncached(blobs), inline_limit=0, budget=0)
    assert (await spill.encode(None)).ref is None
    assert await blobs.list("") == []


async def test_size_is_that_of_the_canonical_json(blobs: BlobStore) -> None:
    value = await Spill(uncached(blobs)).encode(REPORT)
    assert value.size == len(json.dumps(REPORT, sort_keys=True, separators=(",", ":")))


async def test_a_null_that_is_inline_resolves_to_null(blobs: BlobStore) -> None:
    value = wire.load(wire.Value, wire.dump(await Spill(uncached(blobs)).encode(None)))
    assert await uncached(blobs).resolve(value) is None


async def test_a_value_that_is_neither_inline_nor_a_reference_is_refused(blobs: BlobStore) -> None:
    with pytest.raises(StoreError, match="neither inline nor a reference"):
        await uncached(blobs).resolve(wire.Value(size=5))
