"""Objects on every kind of store: what is put is there, whole; a race has one winner; a list has everything."""

from __future__ import annotations

import asyncio
import os

import pytest

from temporal_adapter import BlobStore
from temporal_adapter.store import MissingObject
from tests.support.stores import S3_PAGE, Place, new_place

LARGE = 20 * 1024 * 1024

# Azure's pages hold 5,000 objects, which take Azurite too long to fill in every run of the tests.
MORE_THAN_A_PAGE = {"local": 1001, "memory": 1001, "s3": 3 * S3_PAGE + 1}


async def test_the_store_can_be_probed_and_nothing_stays(blobs: BlobStore) -> None:
    await blobs.probe()

    assert await blobs.list("") == []


@pytest.mark.parametrize(
    "data", [b"", b"plain", bytes(range(256)), os.urandom(1024) * (LARGE // 1024)], ids=["0", "5", "256", "20M"]
)
async def test_what_is_put_is_what_another_process_gets(place: Place, data: bytes) -> None:
    await place.open().put("a/b", data)

    assert await place.open().get("a/b") == data


async def test_a_large_object_is_put_as_new_only_once(blobs: BlobStore) -> None:
    first, second = b"1" * LARGE, b"2" * LARGE

    assert [await blobs.put_new("a", first), await blobs.put_new("a", second)] == [True, False]
    assert await blobs.get("a") == first


async def test_a_put_takes_the_place_of_what_was_there(blobs: BlobStore) -> None:
    await blobs.put("a", b"old")
    await blobs.put("a", b"new")

    assert await blobs.get("a") == b"new"


async def test_of_writers_that_race_to_put_a_new_object_one_wins_and_its_object_stays(place: Place) -> None:
    for name in ("one", "two", "three"):
        writers = [place.open() for _ in range(16)]
        won = await asyncio.gather(
            *(writer.put_new(name, str(number).encode()) for number, writer in enumerate(writers))
        )

        assert sorted(won) == [False] * 15 + [True]
        assert await place.open().get(name) == str(won.index(True)).encode()


async def test_a_deleted_object_is_gone_and_can_be_put_as_new(blobs: BlobStore) -> None:
    await blobs.put("a", b"old")
    await blobs.delete("a")

    assert not await blobs.exists("a")
    with pytest.raises(MissingObject, match="no object a"):
        await blobs.get("a")
    assert await blobs.put_new("a", b"new")


async def test_deleting_what_is_not_there_is_fine(blobs: BlobStore) -> None:
    await blobs.delete("never/was")


async def test_a_list_is_sorted_and_holds_what_is_below_a_prefix_at_any_depth(blobs: BlobStore) -> None:
    for name in ("b/c/d", "b/a", "bc/a", "b%2Fx", "a"):
        await blobs.put(name, b"")

    assert await blobs.list("b") == ["b/a", "b/c/d"]
    assert await blobs.list("") == ["a", "b%2Fx", "b/a", "b/c/d", "bc/a"]
    assert await blobs.list("nothing") == []


async def test_the_path_of_a_url_is_a_prefix_of_its_own(place: Place) -> None:
    one, other = place.open("one"), place.open("other")
    await one.put("a", b"1")

    assert await other.list("") == []
    assert not await other.exists("a")
    await other.delete("a")
    assert await one.get("a") == b"1"


@pytest.mark.parametrize("kind", MORE_THAN_A_PAGE)
async def test_a_list_of_more_than_a_page_is_complete(kind: str, request: pytest.FixtureRequest) -> None:
    blobs = new_place(kind, request).open()
    expected = [f"many/{number:05d}" for number in range(MORE_THAN_A_PAGE[kind])]
    for start in range(0, len(expected), 100):
        await asyncio.gather(*(blobs.put(name, b"") for name in expected[start : start + 100]))

    assert await blobs.list("many") == expected
