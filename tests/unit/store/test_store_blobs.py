from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from temporal_adapter.store import BlobStore, MissingObject, StoreError
from temporal_adapter.store.names import segment

HOSTILE_IDS = [
    "../../etc/passwd",
    "",
    ".",
    "..",
    "a/b",
    "order#1",
    "#1",
    " ",
    "%",
    "%2F",
    "Ünïcode ☃",
    "x" * 1_000,
    "\0",
]


async def test_an_object_reads_back_as_written(blobs: BlobStore) -> None:
    await blobs.put("a/b", b"first")
    await blobs.put("a/b", b"second")
    assert await blobs.get("a/b") == b"second"


async def test_put_new_leaves_an_existing_object_alone(blobs: BlobStore) -> None:
    assert await blobs.put_new("a", b"first")
    assert not await blobs.put_new("a", b"second")
    assert await blobs.get("a") == b"first"


async def test_of_racing_writers_of_a_new_object_exactly_one_wins(blobs: BlobStore) -> None:
    contents = [bytes([number]) * 10_000 for number in range(20)]
    won = await asyncio.gather(*(blobs.put_new("a", data) for data in contents))
    assert won.count(True) == 1
    assert await blobs.get("a") == contents[won.index(True)]


async def test_objects_above_the_multipart_size_are_created_once_as_well(blobs: BlobStore) -> None:
    large = b"x" * 6_000_000
    assert await blobs.put_new("a", large)
    assert not await blobs.put_new("a", b"y" * 6_000_000)
    assert await blobs.get("a") == large


async def test_listing_is_sorted_and_stops_at_segment_borders(blobs: BlobStore) -> None:
    for name in ["p/b", "p/a/z", "p/c", "px/a", "q"]:
        await blobs.put(name, b"")
    assert await blobs.list("p") == ["p/a/z", "p/b", "p/c"]
    assert await blobs.list("nothing/here") == []


async def test_a_deleted_object_is_gone_and_may_be_deleted_again(blobs: BlobStore) -> None:
    await blobs.put("a", b"")
    assert await blobs.exists("a")
    await blobs.delete("a")
    await blobs.delete("a")
    assert not await blobs.exists("a")


async def test_a_missing_object_is_reported_by_store_and_name(blobs: BlobStore) -> None:
    with pytest.raises(MissingObject, match="no object a/b") as raised:
        await blobs.get("a/b")
    assert blobs.url in str(raised.value)
    assert isinstance(raised.value.__cause__, FileNotFoundError)


async def test_objects_named_by_hostile_ids_stay_apart_and_inside(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "inner" / "store")
    names = [f"ids/{segment(identifier)}/object" for identifier in HOSTILE_IDS]
    for name in names:
        assert await blobs.put_new(name, name.encode())
    assert [await blobs.get(name) for name in names] == [name.encode() for name in names]
    assert await blobs.list("ids") == sorted(names)
    assert [entry.name for entry in (tmp_path / "inner").iterdir()] == ["store"]


async def test_memory_of_one_name_is_shared_and_other_memory_is_not(tmp_path: Path) -> None:
    name = f"memory://{segment(str(tmp_path))}"
    await BlobStore(name).put("a", b"shared")
    assert await BlobStore(name).get("a") == b"shared"
    assert not await BlobStore(f"{name}-other").exists("a")

    private = BlobStore("memory://")
    await private.put("a", b"")
    assert not await BlobStore("memory://").exists("a")


@pytest.mark.parametrize("folder", ["plain", "with space", "with#1", "with%20", "ünïcode"])
async def test_a_path_and_its_file_url_are_the_same_store(tmp_path: Path, folder: str) -> None:
    path = tmp_path / "parent" / folder
    await BlobStore(path).put("a", b"content")
    assert await BlobStore(str(path)).get("a") == b"content"
    assert await BlobStore(path.as_uri()).get("a") == b"content"
    assert (path / "a").read_bytes() == b"content"


async def test_a_relative_path_stays_where_it_was_when_the_process_changes_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blobs = BlobStore("relative")
    monkeypatch.chdir("/")
    await blobs.put("a", b"")
    assert (tmp_path / "relative" / "a").exists()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "empty"),
        ("file://host/path", "no host"),
        ("file:///path#1", "%23"),
        ("nope://bucket", "nope://bucket"),
        ("az://container/path", "Account must be specified"),
    ],
)
async def test_a_url_that_names_no_store_is_refused(url: str, reason: str) -> None:
    with pytest.raises(StoreError, match=reason) as raised:
        BlobStore(url)
    assert url in str(raised.value)
    assert raised.value.__cause__ is not None


async def test_options_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(StoreError, match=r"options \['region'\]"):
        BlobStore("memory://", region="eu-west-1")


@pytest.mark.parametrize("place", ["regular-file", "regular-file/below"])
async def test_a_directory_that_cannot_be_made_is_reported_with_its_url(tmp_path: Path, place: str) -> None:
    (tmp_path / "regular-file").write_text("")
    with pytest.raises(StoreError, match="Give a directory that this process can create") as raised:
        BlobStore(tmp_path / place)
    assert str(tmp_path / place) in str(raised.value)


async def test_probing_a_usable_store_leaves_nothing_behind(blobs: BlobStore) -> None:
    await blobs.probe()
    assert await blobs.list("") == []


async def test_probing_reports_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "store")
    (tmp_path / "store").rmdir()
    (tmp_path / "store").write_text("a file has taken the directory's place")
    with pytest.raises(StoreError, match="cannot be used") as raised:
        await blobs.probe()
    assert str(tmp_path / "store") in str(raised.value)
    assert "Give a directory" in str(raised.value)
    assert isinstance(raised.value.__cause__, StoreError)


async def test_an_unreachable_object_store_is_reported_with_the_fix_and_without_secrets() -> None:
    blobs = BlobStore(
        "s3://user:secret@bucket/prefix?token=secret",
        region="us-east-1",
        access_key_id="k",
        secret_access_key="secret",
        endpoint="http://127.0.0.1:1",
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    with pytest.raises(StoreError, match="Check that the bucket exists") as raised:
        await blobs.probe()
    assert "s3://bucket/prefix" in str(raised.value)
    assert "secret" not in str(raised.value)
    for action in (blobs.get("a"), blobs.exists("a"), blobs.delete("a"), blobs.list("a")):
        with pytest.raises(StoreError, match="s3://bucket/prefix could not"):
            await action
