from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from temporal_adapter import wire
from temporal_adapter.store import RECORDED_RANK, BlobStore, CheckpointStore, StoreError, ValueStore
from temporal_adapter.store.names import value_object
from temporal_adapter.store.references import References

if TYPE_CHECKING:
    from tests.unit.store.conftest import MakeRecord


def lines(name: str) -> list[str]:
    return [f"line {number} of {name}" for number in range(8_000)]


async def stored(values: ValueStore, data: Any) -> wire.Value:
    return wire.Value(ref=await values.put(data), size=len(wire.to_bytes(data)))


async def everything_about(values: ValueStore, name: str, count: int) -> wire.Changes:
    """Return changes that refer to values from every place, small ones and one in parts."""
    made = {
        place: await stored(values, f"{name} {place}")
        for place in ["state", "executor", "attribute", "buffered", "request", "child", "patch", "base"]
    }
    request = wire.Request(
        request_id="q", source_executor_id="s", data=made["request"], request_type="str", response_type="str"
    )
    message = wire.Message(source_id="s", data=made["buffered"])
    patched = wire.replace(made["base"], patches=[made["patch"]])
    inline = {f"key-{number}": wire.Value(inline=f"{name} {number:090}", size=110) for number in range(count)}
    return wire.Changes(
        state={**inline, "state": made["state"], "large": await stored(values, lines(name)), "patched": patched},
        executors={"e": made["executor"]},
        attributes={"e": made["attribute"]},
        buffers={"f": [message]},
        requests={"q": request},
        children={"review": wire.Changes(state={"child": made["child"]}, iteration=1)},
    )


@pytest.mark.parametrize("count", [3, 300], ids=["in one piece", "in pages"])
async def test_what_is_referred_to_is_all_that_a_checkpoint_needs_and_no_more(
    graph: wire.Graph, make_record: MakeRecord, count: int
) -> None:
    # given a run that is kept, with changes on top of pages, and one that is not
    blobs = BlobStore("memory://")
    values, store = ValueStore(blobs, "default", cache_bytes=0), CheckpointStore(blobs, "default", cache_bytes=0)
    base = await store.commit(
        make_record("kept-1", changes=await everything_about(values, "kept", count)),
        graph=graph,
        workflow_id="w",
        rank=RECORDED_RANK,
    )
    record = make_record("kept-2", base=base, changes=wire.Changes(state={"late": await stored(values, "late")}))
    in_flight = wire.Message(source_id="s", data=await stored(values, "in flight"))
    record = wire.replace(record, messages=[in_flight])
    base = await store.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK)
    needed = {name for name in await blobs.list("default") if "/values/" in name or "/chunks/" in name}
    await store.commit(
        make_record("other", changes=await everything_about(values, "other", count)),
        graph=graph,
        workflow_id="w2",
        rank=RECORDED_RANK,
    )

    # when it is asked what the kept one's last checkpoint refers to, and all else is deleted
    references = References(values, "default")
    await references.add([await store.stored_form(base.object, "kept-2")])
    for name in await blobs.list("default"):
        if ("/values/" in name or "/chunks/" in name) and name not in references.objects:
            await blobs.delete(name)

    # then nothing of it is lost, and nothing else is kept
    assert references.objects == needed
    manifest = await store.load(base)
    assert await values.resolve(manifest.state["large"]) == lines("kept")
    assert await values.resolve(manifest.state["late"]) == "late"
    assert await values.resolve(manifest.messages[0].data) == "in flight"
    assert await values.resolve(manifest.children["review"].state["child"]) == "kept child"
    with pytest.raises(StoreError):
        await values.get(await values.name_of(lines("other")))


async def test_what_is_missing_is_referred_to_all_the_same(graph: wire.Graph, make_record: MakeRecord) -> None:
    blobs = BlobStore("memory://")
    values, store = ValueStore(blobs, "default", cache_bytes=0), CheckpointStore(blobs, "default", cache_bytes=0)
    value = await stored(values, lines("lost"))
    assert value.ref is not None
    record = make_record("c", changes=wire.Changes(state={"large": value}))
    base = await store.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK)
    await blobs.delete(value_object("default", value.ref))
    references = References(values, "default")
    await references.add([await store.stored_form(base.object, "c")])
    assert references.objects == {value_object("default", value.ref)}
