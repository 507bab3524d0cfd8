"""Every kind of object, damaged in every way: an error that names it, and never another checkpoint or value."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from temporalio.converter import PayloadCodec

from temporal_adapter import wire
from temporal_adapter.store import BlobStore, CheckpointStore, StoreError, ValueStore, attempt_rank
from temporal_adapter.store.names import chunk_object, key_object, value_object
from tests.unit.store.codecs import EncryptingCodec

if TYPE_CHECKING:
    from tests.unit.store.conftest import MakeRecord

RANK = attempt_rank(datetime(2026, 1, 1, tzinfo=timezone.utc), 1)
LARGE = [[f"line {number} of {which}" for number in range(4_000)] for which in "ab"]


@dataclass(frozen=True)
class Case:
    """An object, another valid one of its kind, and a call that must read the first."""

    object: str
    other: str
    read: Callable[[], Awaitable[Any]]
    checkpoint: str | None = None  # that errors must name, too


async def cases(blobs: BlobStore, graph: wire.Graph, make_record: MakeRecord) -> dict[str, Case]:
    checkpoints, values = CheckpointStore(blobs, "default", cache_bytes=0), ValueStore(blobs, "default", cache_bytes=0)
    bases: dict[str, wire.Base] = {}
    lists: list[str] = []
    for name, count in [("small", 3), ("small-other", 3), ("paged", 100), ("paged-other", 110)]:
        state = {f"key-{n}": wire.Value(inline=f"{name} {n:090}", size=110) for n in range(count)}
        before = set(await blobs.list("default/values"))
        record = make_record(name, changes=wire.Changes(state={**state}))
        bases[name] = await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RANK)
        lists += [
            new
            for new in await blobs.list("default/values")
            if new not in before and b'"pages"' in await blobs.get(new)
        ]
    list_object, list_other = lists
    pages, other_pages = [await page_objects(blobs, one) for one in lists]
    refs = [await values.put("the report"), await values.put("another report")]
    large = [await values.put(one) for one in LARGE]
    parts = [chunk_object("default", (await values.chunks_of(one))[1]) for one in large]
    run = wire.RunEntry(workflow_name="expense", workflow_id="w", run_id="r", task_queue="q", at="2026")
    for run_id in ("r", "other"):
        await checkpoints.put_run(wire.replace(run, run_id=run_id))
    await ValueStore(blobs, "other").put("a report")  # makes another key

    index, runs = "default/workflows/expense/w", "default/runs/expense/w"
    return {
        "manifest": Case(
            bases["small"].object,
            bases["small-other"].object,
            lambda: checkpoints.load(bases["small"]),
            "small",
        ),
        "manifest by id": Case(
            bases["small"].object, bases["small-other"].object, lambda: checkpoints.find("small"), "small"
        ),
        "paged manifest": Case(
            bases["paged"].object,
            bases["paged-other"].object,
            lambda: checkpoints.load(bases["paged"]),
            "paged",
        ),
        "page list": Case(list_object, list_other, lambda: checkpoints.load(bases["paged"]), "paged"),
        "page": Case(pages[1], other_pages[2], lambda: checkpoints.load_by_id("paged"), "paged"),
        "page in a list": Case(pages[1], pages[2], lambda: checkpoints.list("expense"), "paged"),
        "index": Case(f"{index}/small", f"{index}/paged", lambda: checkpoints.headers("expense")),
        "run": Case(f"{runs}/r", f"{runs}/other", lambda: checkpoints.runs("expense")),
        "value": Case(*(value_object("default", ref) for ref in refs), lambda: values.get(refs[0])),
        "list of parts": Case(*(value_object("default", ref) for ref in large), lambda: values.get(large[0])),
        "part": Case(*parts, lambda: values.get(large[0])),
        "key": Case(
            key_object("default"),
            key_object("other"),
            lambda: ValueStore(blobs, "default", cache_bytes=0).get(refs[0]),
        ),
    }


async def page_objects(blobs: BlobStore, list_object: str) -> list[str]:
    return [value_object("default", digest) for digest in json.loads(await blobs.get(list_object))["pages"]]


KINDS = [
    "manifest",
    "manifest by id",
    "paged manifest",
    "page list",
    "page",
    "page in a list",
    "index",
    "run",
    "value",
    "list of parts",
    "part",
    "key",
]
DAMAGES = ["empty", "cut short", "one byte", "garbage", "null", "another of its kind", "missing"]
GONE_IS_NONE = {"manifest by id", "index", "run"}  # they are found by listing: what is missing is not there


def damage(path: Path, other: Path, how: str) -> None:
    """Damage a file, which may hold a frame."""
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        changed = {
            "empty": b"",
            "cut short": data[: len(data) // 2],
            "one byte": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
            "garbage": b"\xff\xfe\0garbage",
            "null": b"null",
            "another of its kind": other.read_bytes(),
        }
        path.write_bytes(changed[how])


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize(
    ("kind", "codec"),
    [
        *(pytest.param(kind, None, id=f"{kind}-plain") for kind in KINDS if kind != "key"),
        *(pytest.param(kind, EncryptingCodec(), id=f"{kind}-encrypted") for kind in KINDS),
    ],
)
async def test_a_damaged_object_is_an_error_that_names_it(
    tmp_path: Path, graph: wire.Graph, make_record: MakeRecord, kind: str, codec: PayloadCodec | None, how: str
) -> None:
    # given a store with one object damaged
    found = await cases(BlobStore(tmp_path, payload_codec=codec), graph, make_record)
    assert list(found) == KINDS
    case = found[kind]
    before = await case.read()
    damage(tmp_path / case.object, tmp_path / case.other, how)

    # when it is read, then the error names it, and the checkpoint where there is one
    if how == "missing" and kind in GONE_IS_NONE:
        after = await case.read()
        assert after is None or (len(after) == len(before) - 1 and all(one in before for one in after))
    else:
        with pytest.raises(StoreError, match=re.escape(case.object)) as raised:
            await case.read()
        assert case.checkpoint is None or repr(case.checkpoint) in str(raised.value)
