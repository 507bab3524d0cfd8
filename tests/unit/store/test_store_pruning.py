from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from temporal_adapter import wire
from temporal_adapter.store import RECORDED_RANK, CheckpointStore, CorruptObject, StoreError, ValueStore
from temporal_adapter.store.names import chunk_object, value_object
from temporal_adapter.store.pruning import announce, withdraw
from tests.unit.store.counting import CountingStore

if TYPE_CHECKING:
    from tests.unit.store.conftest import MakeRecord

LARGE = [f"line {number}" for number in range(10_000)]


class Clock:
    """Runs as far ahead of the store's clock as a test says, so that objects get old."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(timezone.utc) + self.ahead

    def advance(self, **by: float) -> None:
        self.ahead += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


async def test_a_value_that_is_there_and_young_is_not_written_again(store: CountingStore, clock: Clock) -> None:
    await ValueStore(store, "default", clock=clock).put("report")
    store.take()
    clock.advance(hours=11)
    await ValueStore(store, "default", clock=clock).put("report")
    assert store.take() == {}


@pytest.mark.parametrize("value", ["report", LARGE], ids=["small", "in parts"])
async def test_a_value_that_is_there_and_old_is_renewed_with_its_parts(
    store: CountingStore, clock: Clock, value: object
) -> None:
    await ValueStore(store, "default", clock=clock).put(value)
    objects = store.take()
    clock.advance(hours=13)
    await ValueStore(store, "default", clock=clock).put(value)
    assert store.take() == objects


async def test_a_value_that_was_read_is_looked_at_and_renewed_when_it_is_old(
    store: CountingStore, clock: Clock
) -> None:
    ref = await ValueStore(store, "default", clock=clock).put(LARGE)
    objects = store.take()
    for hours, written in [(1, {}), (13, objects)]:
        clock.advance(hours=hours)
        values = ValueStore(store, "default", clock=clock)
        await values.get(ref)
        await values.put(LARGE)
        assert store.take() == written


async def test_a_worker_trusts_its_memory_for_six_hours(store: CountingStore, clock: Clock) -> None:
    values = ValueStore(store, "default", clock=clock)
    name = value_object("default", await values.put("report"))
    await store.delete(name)
    clock.advance(hours=5)
    await values.put("report")
    assert not await store.exists(name)
    clock.advance(hours=2)
    await values.put("report")
    assert await store.exists(name)


async def test_what_was_found_missing_is_written_at_once(store: CountingStore, clock: Clock) -> None:
    writer, reader = (ValueStore(store, "default", clock=clock, cache_bytes=1) for _ in range(2))
    ref = await writer.put("report")
    await reader.get(ref)
    await store.delete(value_object("default", ref))
    with pytest.raises(StoreError):
        await writer.get(ref)
    await writer.put("report")
    assert await writer.get(ref) == "report"


async def test_a_writer_that_renews_while_a_prune_is_at_work_tries_again_later(
    store: CountingStore, clock: Clock
) -> None:
    # given a value that got old, and a prune
    values = ValueStore(store, "default", clock=clock)
    await values.put("report")
    clock.advance(hours=13)
    await announce(store, "default", since=clock(), at=clock())

    # when it is put, then the writer is told, and again though it has renewed the value by then
    with pytest.raises(StoreError, match="being pruned, try again") as raised:
        await values.put("report")
    assert "default/pruning" in str(raised.value)
    clock.advance(hours=-13)
    await announce(store, "default", since=clock(), at=clock())
    with pytest.raises(StoreError, match="being pruned, try again"):
        await ValueStore(store, "default", clock=clock).put("report")

    # until the prune is over
    await withdraw(store, "default")
    await values.put("report")


async def test_a_young_value_that_is_older_than_the_prune_is_safe_from_it(store: CountingStore, clock: Clock) -> None:
    await ValueStore(store, "default", clock=clock).put("report")
    clock.advance(hours=1)
    await announce(store, "default", since=clock(), at=clock())
    await ValueStore(store, "default", clock=clock).put("report")


async def test_new_values_are_written_while_a_prune_is_at_work(store: CountingStore, clock: Clock) -> None:
    await announce(store, "default", since=clock(), at=clock())
    values = ValueStore(store, "default", clock=clock)
    assert await values.get(await values.put(LARGE)) == LARGE


@pytest.mark.parametrize("minutes", [11, 600])
async def test_the_mark_of_a_prune_that_was_killed_holds_nobody_up(
    store: CountingStore, clock: Clock, minutes: int
) -> None:
    values = ValueStore(store, "default", clock=clock)
    await values.put("report")
    clock.advance(hours=13)
    await announce(store, "default", since=clock(), at=clock())
    clock.advance(minutes=minutes)
    await values.put("report")


async def test_a_damaged_mark_is_named_with_what_to_do(store: CountingStore, clock: Clock) -> None:
    values = ValueStore(store, "default", clock=clock)
    await values.put("report")
    clock.advance(hours=13)
    await store.put("default/pruning", b"{}")
    with pytest.raises(CorruptObject, match=r"default/pruning.*Delete the object when no prune is at work"):
        await values.put("report")


async def test_pages_that_are_old_are_renewed_when_another_run_needs_them(
    store: CountingStore, clock: Clock, graph: wire.Graph, make_record: MakeRecord
) -> None:
    state = {f"key-{number}": wire.Value(inline=f"{number:0100}", size=102) for number in range(300)}
    changes = wire.Changes(state={**state})
    for checkpoint_id in "ab":
        checkpoints = CheckpointStore(store, "default", clock=clock)
        record = make_record(checkpoint_id, changes=changes)
        await checkpoints.commit(record, graph=graph, workflow_id="w", rank=RECORDED_RANK)
        clock.advance(hours=13)
        written = [name for name in store.take() if "/values/" in name]
        assert len(written) > 10


async def test_a_run_that_builds_on_the_checkpoint_of_another_waits_for_a_prune(
    store: CountingStore, clock: Clock, graph: wire.Graph, make_record: MakeRecord
) -> None:
    checkpoints = CheckpointStore(store, "default", clock=clock)
    base = await checkpoints.commit(make_record("a"), graph=graph, workflow_id="w", rank=RECORDED_RANK, run_id="first")
    await announce(store, "default", since=clock(), at=clock())
    own, other = make_record("b", base=base), make_record("c", base=base)
    await checkpoints.commit(own, graph=graph, workflow_id="w", rank=RECORDED_RANK, run_id="first")
    for _ in range(2):
        with pytest.raises(StoreError, match="being pruned, try again"):
            await checkpoints.commit(other, graph=graph, workflow_id="w", rank=RECORDED_RANK, run_id="fork")
    await withdraw(store, "default")
    await checkpoints.commit(other, graph=graph, workflow_id="w", rank=RECORDED_RANK, run_id="fork")


async def test_the_age_of_an_object_is_told_by_the_store(store: CountingStore) -> None:
    before = datetime.now(timezone.utc)
    ref = await ValueStore(store, "default").put(LARGE)
    (part, *_) = await ValueStore(store, "default").chunks_of(ref)
    modified = await store.last_modified(chunk_object("default", part))
    assert modified is not None
    assert abs(modified - before) < timedelta(minutes=1)
    assert await store.last_modified("nobody") is None
