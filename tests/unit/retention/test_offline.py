"""Pruning a store that only MAF's own runner writes to: what goes with checkpoints, and what a prune that ends early
leaves."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import BlobStore, wire
from temporal_adapter.retention import PruneRefused, prune_offline
from temporal_adapter.store import StoreError, ValueStore, pruning
from temporal_adapter.store.pruning import announce, announced
from temporal_adapter.store.seal import seal, unseal
from tests.unit.store.codecs import EncryptingCodec

from .conftest import Clock, Filled

LARGE = [f"line {number}" for number in range(10_000)]
MANY = {f"key-{number}": f"{number:0200}" for number in range(100)}


async def test_a_dry_run_changes_nothing_and_says_what_a_real_one_does(filled: Filled, clock: Clock) -> None:
    await filled.put("a", state={"report": LARGE}, days_ago=9)
    await filled.put("b", "a", state={"report": "short"})
    before = await filled.names()

    dry = await prune_offline(filled.blobs, keep_last=1, clock=clock)
    untouched = await filled.names()
    real = await prune_offline(filled.blobs, keep_last=1, clock=clock, dry_run=False)

    assert untouched == before
    assert real == replace(dry, dry_run=False)
    assert real.deleted == ("a",)
    gone = set(before) - set(await filled.names())
    counted = [real.checkpoints, real.values, real.chunks, real.records]
    assert sum(one.objects for one in counted) == len(gone)
    assert real.chunks.objects > 3
    assert await filled.state_of("b") == {"report": "short"}


async def test_what_a_kept_checkpoint_shares_with_one_that_goes_stays(filled: Filled, clock: Clock) -> None:
    base = await filled.put("a", state={**MANY, "large": LARGE}, days_ago=9)
    await filled.put("b", "a", state={"key-7": "changed"}, base=base)

    await prune_offline(filled.blobs, keep_last=1, clock=clock, dry_run=False)

    assert await filled.ids() == ["b"]
    assert await filled.state_of("b") == {**MANY, "large": LARGE, "key-7": "changed"}


async def test_young_values_stay_for_somebody_may_be_about_to_refer_to_them(filled: Filled) -> None:
    await filled.put("a", state={"report": "text"}, days_ago=9)
    clock = Clock(timedelta(hours=23))

    report = await prune_offline(filled.blobs, older_than=timedelta(days=5), clock=clock, dry_run=False)

    assert report.deleted == ("a",)
    assert report.values.objects == 0
    assert await filled.values.get(await filled.values.name_of("text")) == "text"
    later = await prune_offline(filled.blobs, keep_last=1, clock=Clock(timedelta(hours=25)), dry_run=False)
    assert later.values.objects == 1


async def test_nothing_is_left_of_a_store_whose_checkpoints_all_go(filled: Filled, clock: Clock) -> None:
    await filled.put("a", state={"report": LARGE, **MANY}, days_ago=9)
    await filled.put("zombie", "a", days_ago=9)
    await filled.checkpoints.discard("zombie")

    await prune_offline(filled.blobs, keep_last=0, clock=clock, dry_run=False)

    assert await filled.names() == []


async def test_marks_and_entries_of_what_stays_stay(filled: Filled, clock: Clock) -> None:
    await filled.put("a", days_ago=9)
    await filled.put("zombie", "a", days_ago=9)
    await filled.checkpoints.discard("zombie")
    before = await filled.names()

    await prune_offline(filled.blobs, keep_last=1, clock=clock, dry_run=False)

    assert await filled.names() == before
    assert await filled.ids() == ["a"]


async def test_other_workflows_are_left_alone(filled: Filled, clock: Clock) -> None:
    await filled.put("a", state={"report": "text"}, days_ago=9)
    before = await filled.names()

    report = await prune_offline(filled.blobs, keep_last=0, workflow_name="another", clock=clock, dry_run=False)

    assert await filled.names() == before
    assert report.workflows == ()


async def test_a_damaged_checkpoint_is_named_and_left_alone(filled: Filled, clock: Clock) -> None:
    await filled.put("a", state={"report": "text"}, days_ago=9)
    await filled.put("b", "a", days_ago=9)
    [damaged] = await filled.names("checkpoints/a/")
    await filled.blobs.put(damaged, b"{}")

    report = await prune_offline(filled.blobs, keep_last=0, clock=clock, dry_run=False)

    assert report.deleted == ("b",)
    [told] = report.unreadable
    assert damaged in told
    assert damaged in await filled.names()
    assert len(await filled.names("workflows/")) == 1


async def test_what_a_later_release_wrote_stops_the_prune(filled: Filled, clock: Clock) -> None:
    await filled.put("a", state={"report": "text"}, days_ago=9)
    [name] = await filled.names("checkpoints/a/")
    before = await filled.names()
    await filled.blobs.put(name, seal({**unseal(await filled.blobs.get(name)), "v": 99}))
    with pytest.raises(StoreError, match="Upgrade"):
        await prune_offline(filled.blobs, keep_last=0, clock=clock, dry_run=False)
    assert await filled.names() == before


async def test_a_store_that_runs_on_temporal_use_is_refused(filled: Filled, clock: Clock) -> None:
    await filled.put("a", workflow_id="order-1", run_id="r", days_ago=9)
    with pytest.raises(PruneRefused, match="order-1"):
        await prune_offline(filled.blobs, keep_last=0, clock=clock)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "older_than, keep_last"),
        ({"keep_last": -1}, "-1"),
        ({"older_than": timedelta(days=-1)}, "-1 day"),
    ],
)
async def test_what_makes_no_sense_is_refused(filled: Filled, given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        await prune_offline(filled.blobs, **given)


# --- through a payload codec --------------------------------------------------------------------------------


async def test_an_encrypted_store_is_pruned_and_what_stays_is_whole(clock: Clock) -> None:
    filled = Filled(BlobStore("memory://", payload_codec=EncryptingCodec()))
    await filled.put("a", state={"report": LARGE, "note": "old"}, days_ago=9)
    await filled.put("b", "a", state={"report": [*LARGE, "more"]})

    report = await prune_offline(filled.blobs, keep_last=1, clock=clock, dry_run=False)

    assert report.deleted == ("a",)
    assert report.values.objects == 2
    assert 0 < report.chunks.objects < 5
    assert await filled.state_of("b") == {"report": [*LARGE, "more"]}


# --- one at a time, and killed ones -------------------------------------------------------------------------


async def test_of_two_prunes_the_second_is_refused(filled: Filled, clock: Clock) -> None:
    await filled.put("a", days_ago=9)
    await announce(filled.blobs, "default", since=clock(), at=clock())

    with pytest.raises(PruneRefused, match="default/pruning"):
        await prune_offline(filled.blobs, keep_last=0, clock=clock, dry_run=False)
    dry = await prune_offline(filled.blobs, keep_last=0, clock=clock)

    assert dry.deleted == ("a",)
    assert await filled.ids() == ["a"]
    assert await announced(filled.blobs, "default") is not None


async def test_two_prunes_that_begin_together_do_not_both_go_on(filled: Filled, clock: Clock) -> None:
    for number in range(50):
        await filled.put(f"c{number}", days_ago=9)
    tries = [prune_offline(filled.blobs, keep_last=0, clock=clock, dry_run=False) for _ in range(2)]

    ended = await asyncio.gather(*tries, return_exceptions=True)

    assert sum(isinstance(one, PruneRefused) for one in ended) == 1
    assert await filled.names() == []


class Killed(BlobStore):
    """Memory that a process uses which is killed after so many deletions; a file that others go on to use."""

    def __init__(self, url: str, deletions: int) -> None:
        super().__init__(url)
        self._left = deletions

    async def delete(self, name: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise StoreError("killed")
        await super().delete(name)


async def _three(url: str) -> Filled:
    """Two checkpoints that go and one that stays, which shares pages with them."""
    filled = Filled(BlobStore(url))
    base = await filled.put("a", state={**MANY, "large": LARGE}, days_ago=9)
    await filled.put("b", "a", state={"key-7": "changed"}, base=base, days_ago=8)
    await filled.put("c", "b", state={**MANY, "own": "text"})
    return filled


async def test_a_prune_that_is_killed_leaves_all_that_stays_whole_and_the_next_one_goes_on(clock: Clock) -> None:
    url = f"memory://killed-{uuid4()}"
    filled = await _three(f"{url}-whole")
    wanted = await filled.state_of("c")
    done = await prune_offline(filled.blobs, keep_last=1, clock=clock, dry_run=False)
    left = await filled.names()
    deletions = sum(one.objects for one in (done.checkpoints, done.values, done.chunks, done.records))
    assert deletions > 15

    for number in [*range(0, deletions, 3), deletions]:  # the last one: before the mark is taken away
        filled = await _three(f"{url}-{number}")
        with pytest.raises(StoreError, match="killed"):
            await prune_offline(Killed(f"{url}-{number}", number), keep_last=1, clock=clock, dry_run=False)
        assert await filled.state_of("c") == wanted
        with pytest.raises(PruneRefused, match="10 minutes"):
            await prune_offline(filled.blobs, keep_last=1, clock=clock, dry_run=False)
        later = Clock(clock.ahead + timedelta(minutes=11))
        await prune_offline(filled.blobs, keep_last=1, clock=later, dry_run=False)
        assert await filled.state_of("c") == wanted
        assert await filled.names() == left


async def test_the_mark_is_taken_away_when_a_prune_fails(filled: Filled, clock: Clock) -> None:
    await filled.put("a", days_ago=9)

    class Failing(BlobStore):
        async def delete(self, name: str) -> None:
            if "/checkpoints/" in name:
                raise StoreError("refused")
            await super().delete(name)

    failing = Failing("memory://")
    failing._store = filled.blobs._store
    with pytest.raises(StoreError, match="refused"):
        await prune_offline(failing, keep_last=0, clock=clock, dry_run=False)
    assert await announced(filled.blobs, "default") is None


async def test_a_prune_whose_mark_got_old_stops_before_it_deletes(filled: Filled) -> None:
    await filled.put("a", days_ago=9)
    before = await filled.names()
    clock = Clock()

    class Slow(BlobStore):
        """Where looking takes longer than a mark is trusted, as on a machine that was asleep."""

        async def entries(self, prefix: str) -> Any:
            clock.ahead += timedelta(minutes=2)
            return await super().entries(prefix)

    slow = Slow("memory://")
    slow._store = filled.blobs._store
    with pytest.raises(PruneRefused, match="last renewed"):
        await prune_offline(slow, keep_last=0, clock=clock, dry_run=False)
    assert await filled.names() == before


async def test_a_prune_whose_mark_another_took_stops_and_leaves_that_one(filled: Filled, clock: Clock) -> None:
    await filled.put("a", days_ago=9)

    class Raced(BlobStore):
        async def entries(self, prefix: str) -> Any:
            await announce(filled.blobs, "default", since=clock() - timedelta(seconds=1), at=clock())
            return await super().entries(prefix)

    raced = Raced("memory://")
    raced._store = filled.blobs._store
    with pytest.raises(PruneRefused, match="another one"):
        await prune_offline(raced, keep_last=0, clock=clock, dry_run=False)
    assert await filled.ids() == ["a"]
    assert await announced(filled.blobs, "default") is not None


async def test_writers_that_go_on_from_a_checkpoint_wait_for_a_prune(filled: Filled) -> None:
    run = wire.RunEntry(
        workflow_name="flow",
        workflow_id="fork",
        run_id="r",
        task_queue="q",
        at="2026-01-01T00:00:00+00:00",
        restored=wire.Restore(verb="fork", checkpoint_id="a"),
    )
    await announce(filled.blobs, "default", since=pruning.present(), at=pruning.present())

    with pytest.raises(StoreError, match="being pruned, try again"):
        await filled.checkpoints.put_run(run)
    await filled.checkpoints.put_run(wire.replace(run, restored=None))
    ended = wire.Ended(state="failed", checkpoint_id="a", at="2026-01-01T00:00:00+00:00")
    await filled.checkpoints.put_run(wire.replace(run, ended=ended))


# --- whatever there is --------------------------------------------------------------------------------------

_texts = st.sampled_from(["", "one", "two", LARGE, [*LARGE, "more"], {"nested": ["one"]}])
_checkpoints = st.lists(
    st.tuples(st.integers(0, 9), st.dictionaries(st.sampled_from("xyz"), _texts), st.integers(0, 5), st.booleans()),
    max_size=8,
)


@settings(max_examples=15, deadline=None)
@given(_checkpoints, st.none() | st.integers(0, 2), st.integers(0, 5))
def test_whatever_stays_is_whole_and_nothing_else_stays(
    checkpoints: list[tuple[int, dict[str, Any], int, bool]], keep_last: int | None, days: int
) -> None:
    asyncio.run(_whatever_stays(checkpoints, keep_last, days))


async def _whatever_stays(
    checkpoints: list[tuple[int, dict[str, Any], int, bool]], keep_last: int | None, days: int
) -> None:
    filled, clock = Filled(BlobStore("memory://")), Clock()
    for number, (parent, state, days_ago, other) in enumerate(checkpoints):
        names = {"workflow_id": "other" if other else "w", "days_ago": days_ago}
        await filled.put(f"c{number}", f"c{parent}" if parent < number else None, state=state, **names)
    states = {id: await filled.state_of(id) for id in await filled.ids()}
    options: dict[str, Any] = {"keep_last": keep_last, "clock": clock}
    options["older_than"] = clock.ahead + timedelta(days=days)

    dry = await prune_offline(filled.blobs, **options)
    real = await prune_offline(filled.blobs, **options, dry_run=False)
    again = await prune_offline(filled.blobs, **options, dry_run=False)

    assert real == replace(dry, dry_run=False)
    assert not again.deleted
    assert again.bytes == 0
    left = await filled.ids()
    assert {*left, *real.deleted} == states.keys()
    assert {id: await filled.state_of(id) for id in left} == {id: states[id] for id in left}
    anew = Filled(BlobStore("memory://"))
    for id in left:
        for value in states[id].values():
            await ValueStore(anew.blobs, "default").put(value)
    for folder in ("values", "chunks"):
        assert await filled.names(f"/{folder}/") == await anew.names(f"/{folder}/")
