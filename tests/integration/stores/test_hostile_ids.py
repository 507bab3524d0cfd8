"""Whatever ids are called, on every kind of store: all stay in their prefix, no two meet, namespaces are apart."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from temporal_adapter import BlobStore, wire
from temporal_adapter.store import RECORDED_RANK, CheckpointStore, MissingObject, ValueStore
from tests.support.stores import Place

HOSTILE = [
    *("", ".", "..", "../", "../..", "../../etc/passwd", "/", "//", "/etc/passwd", "~", "a/b", "a//b", "a/", "/a"),
    *("%", "%2F", "a%2Fb", "%252F", "a\\b", "..\\", "C:\\x", "a:b"),
    *("a", "A", "Case", "case", "CASE", "a.", "a..", "a ", " a", " ", "a\t", "a\n", "\x00", "\x7f", "\ud800"),
    *("#1", "a#1", "a#b", "?", "a?b=c&d", "*", "a*", "[a]", "{a}", "<a>", 'a"b', "a'b", "a|b", "a;b", "a+b", "a@b"),
    *("é", "e\u0301", "日本語", "🦊", "ﬁ", "fi", "\u202eabc", "\ufeff", "ß", "SS", "İ"),
    *("con", "nul", "CON.txt", ".json", "r.json", "checkpoints", "values", "workflows", "discarded", "probe-"),
    *("x" * 1000, "x" * 1001, "é" * 1000, "/" * 1000, "x" * 200, "x" * 201),
]

# Those that paths, URLs, HTTP and XML treat in ways of their own: a request takes longer than a file.
HOSTILE_TO_SERVICES = [
    *("", "..", "../../x", "a//b", "%2F", "case", "CASE", "a.", "a ", "a\x00", "a#1", "a?b=c&d", "a+b", "<a>"),
    *("é", "e\u0301", "🦊", "values", "x" * 1000, "x" * 1001),
]

GRAPH = wire.Graph(name="", signature="s", start_executor_id="e", executors=["e"], max_iterations=1)


def record_of(checkpoint_id: str) -> wire.CheckpointRecord:
    header = wire.CheckpointHeader(
        checkpoint_id=checkpoint_id, iteration=0, timestamp="2026-01-01T00:00:00+00:00", kind="entry"
    )
    return wire.CheckpointRecord(header=header, snapshot=wire.Snapshot(changes=wire.Changes()))


async def commit(blobs: BlobStore, namespace: str, name: str, workflow_id: str, checkpoint_id: str) -> None:
    await CheckpointStore(blobs, namespace).commit(
        record_of(checkpoint_id), graph=wire.replace(GRAPH, name=name), workflow_id=workflow_id, rank=RECORDED_RANK
    )


@pytest.fixture
def below(place: Place) -> BlobStore:
    """A store at a path below the place, so that the place shows what leaves it."""
    return place.open("inside") if place.kind != "memory" else place.open()


@pytest.fixture
def hostile(place: Place) -> list[str]:
    ids = HOSTILE if place.kind in ("local", "memory") else HOSTILE_TO_SERVICES
    assert len(set(ids)) == len(ids)
    return ids


async def test_checkpoints_of_hostile_ids_never_meet(below: BlobStore, hostile: list[str]) -> None:
    await asyncio.gather(*(commit(below, "default", one, one, one) for one in hostile))
    checkpoints = CheckpointStore(below, "default", cache_bytes=0)
    deleted, kept = hostile[::2], hostile[1::2]

    assert await asyncio.gather(*map(checkpoints.list_ids, hostile)) == [[one] for one in hostile]
    assert await asyncio.gather(*map(checkpoints.list_ids, hostile, hostile)) == [[one] for one in hostile]
    for one, manifest in zip(hostile, await asyncio.gather(*map(checkpoints.load_by_id, hostile)), strict=True):
        assert manifest is not None
        assert (manifest.header.checkpoint_id, manifest.workflow_name, manifest.workflow_id) == (one, one, one)

    assert all(await asyncio.gather(*map(checkpoints.delete, deleted)))
    assert await asyncio.gather(*map(checkpoints.load_by_id, deleted)) == [None] * len(deleted)
    assert await asyncio.gather(*map(checkpoints.list_ids, kept)) == [[one] for one in kept]
    assert all(await asyncio.gather(*map(checkpoints.delete, kept)))
    assert await below.list("") == []


async def test_objects_of_hostile_ids_stay_inside_the_path_of_the_url(
    place: Place, below: BlobStore, hostile: list[str]
) -> None:
    await asyncio.gather(*(commit(below, one, one, one, one) for one in hostile))

    names = await below.list("")

    if place.kind != "memory":
        assert await place.open().list("") == [f"inside/{name}" for name in names]
    if place.kind == "local":
        assert [path.name for path in Path(place.url).parent.iterdir()] == [Path(place.url).name]
    assert all(not {"", ".", ".."}.intersection(name.split("/")) for name in names)
    assert len(names) == 2 * len(hostile)


async def test_namespaces_neither_see_nor_delete_what_others_have(below: BlobStore, hostile: list[str]) -> None:
    await asyncio.gather(*(commit(below, namespace, "name", "id", "checkpoint") for namespace in hostile))
    refs = await asyncio.gather(*(ValueStore(below, namespace).put(namespace) for namespace in hostile))
    first, *others = hostile

    assert await CheckpointStore(below, first).delete("checkpoint")
    assert not await CheckpointStore(below, first).delete("checkpoint")
    assert await CheckpointStore(below, "never used").list("name") == []

    async def look(namespace: str, ref: str) -> None:
        assert await CheckpointStore(below, namespace, cache_bytes=0).list_ids("name", "id") == ["checkpoint"]
        assert await ValueStore(below, namespace, cache_bytes=0).get(ref) == namespace
        with pytest.raises(MissingObject):
            await ValueStore(below, namespace, cache_bytes=0).get(refs[0])

    await asyncio.gather(*map(look, others, refs[1:]))
