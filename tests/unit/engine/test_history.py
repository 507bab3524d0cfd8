"""History grows with what changed, not with how much there is; and a snapshot with a base loses nothing."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine.snapshot import INLINE_SNAPSHOT_LIMIT, SnapshotTracker
from temporal_adapter.store import overlay

from .owner import Owner
from .scripted import Doing, Group, Script, Send


class Loop(Script):
    """One executor that fills the state in its first turn, then writes one small key a turn."""

    keys = 0
    turns = 0

    def do(self, executor: str, batch: list[Any], state: dict[str, Any], memory: Any) -> Doing:
        turn = 0 if memory is None else memory["turn"]
        doing = Doing(memory={"turn": turn + 1}, writes={"last": {"turn": turn}})
        if turn == 0:
            doing.writes.update({f"key{number}": {"pad": "x" * 100} for number in range(self.keys)})
        assert turn == 0 or len(state) == self.keys + 1
        if turn < self.turns:
            doing.sends.append(Send({"hops": 1, "turn": turn}))
        return doing

    def route(self, source: str, send: Send) -> list[wire.Route]:
        return [wire.Route(group=0, targets=["e0"], source_ids=["e0"])]


class Pair(Loop):
    """The same with two executors side by side: no delivery writes its own checkpoint."""

    def route(self, source: str, send: Send) -> list[wire.Route]:
        return [wire.Route(group=0, targets=["e0", "e1"] if send.data["turn"] == 0 else [source], source_ids=[source])]


def history(kind: type[Loop], keys: int, turns: int) -> list[int]:
    loop = type("Sized", (kind,), {"keys": keys, "turns": turns})
    groups = {"e0": (Group(("e0",)),), "e1": (Group(("e1",)),)}
    return Owner(loop(seed=0, groups=groups, fan_ins={}, max_iterations=1000), Random(0)).run().history_bytes


@pytest.mark.parametrize("kind", [Loop, Pair])
def test_a_delivery_of_a_run_with_much_state_costs_what_one_with_little_state_costs(kind: type[Loop]) -> None:
    turns = 60
    little, much = history(kind, 1, turns), history(kind, 2000, turns)

    assert len(little) == len(much)
    settled = slice(8, None)  # after the superstep that wrote it all, and the one that mirrored that
    assert max(much[settled]) <= max(little[settled]) + INLINE_SNAPSHOT_LIMIT
    assert max(much[settled]) < 5000


@pytest.mark.parametrize("kind", [Loop, Pair])
def test_the_hundredth_superstep_costs_what_the_tenth_costs(kind: type[Loop]) -> None:
    sizes = history(kind, 200, 100)
    assert max(sizes[-10:]) <= max(sizes[10:20]) + 200


def base(number: int) -> wire.Base:
    return wire.Base(checkpoint_id=f"c{number}", object=f"c{number}", digest="d")


def test_a_deletion_after_a_checkpoint_outlives_the_late_acknowledgement_of_that_checkpoint() -> None:
    tracker = SnapshotTracker()
    big = wire.Value(inline="x" * INLINE_SNAPSHOT_LIMIT, size=INLINE_SNAPSHOT_LIMIT + 2)
    tracker.put(("", "state", "stays"), big, 0)
    tracker.put(("", "state", "goes"), wire.Value(inline=1, size=1), 0)
    tracker.put(("", "state", "goes"), None, 1)

    tracker.acknowledge(base(0), 0)

    snapshot = tracker.snapshot()
    assert snapshot.base == base(0)
    assert snapshot.changes.state == {"goes": None}


def test_a_small_snapshot_stays_whole_and_forgets_deletions_that_nothing_needs() -> None:
    tracker = SnapshotTracker()
    tracker.put(("", "state", "key"), wire.Value(inline=1, size=1), 0)
    tracker.put(("", "state", "gone"), None, 1)

    tracker.acknowledge(base(1), 1)

    snapshot = tracker.snapshot()
    assert snapshot.base is None
    assert snapshot.changes.state == {"key": wire.Value(inline=1, size=1)}


steps = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.sampled_from((1, 900, 3000)))),  # puts, None deletes
        st.integers(0, 3),  # how many checkpoints the acknowledgement lags behind
    ),
    max_size=12,
)


@given(steps)
def test_base_and_changes_are_always_the_whole_snapshot(script: list[tuple[list[tuple[str, int | None]], int]]) -> None:
    tracker, model = SnapshotTracker(), dict[str, wire.Value]()
    stored: dict[str, wire.SnapshotEntries] = {}
    acknowledged = -1
    for ordinal, (puts, lag) in enumerate(script):
        for key, size in puts:
            value = None if size is None else wire.Value(inline=f"{ordinal}", size=size)
            tracker.put(("", "state", key), value, ordinal)
            model = {one: held for one, held in model.items() if one != key} | ({} if value is None else {key: value})

        snapshot = tracker.snapshot()
        below = wire.SnapshotEntries() if snapshot.base is None else stored[snapshot.base.object]
        stored[f"c{ordinal}"] = overlay(below, snapshot.changes)

        assert stored[f"c{ordinal}"].state == model
        if ordinal - lag > acknowledged:
            acknowledged = ordinal - lag
            tracker.acknowledge(base(acknowledged), acknowledged)


def test_a_tracker_that_goes_on_from_a_snapshot_holds_the_same_also_what_is_stowed() -> None:
    tracker, value = SnapshotTracker(), wire.Value(inline=1, size=1)
    tracker.put(("", "state", "key"), value, 3)
    tracker.put(("", "state", "gone"), None, 3)
    tracker.put(("inner", "state", "before"), value, 3)
    tracker.put(("inner", "stowed", ""), wire.Value(ref="0" * 64, size=9000), 3)
    tracker.put(("inner", "iteration", ""), 2, 3)
    tracker.put(("inner", "requests", "r"), None, 3)
    tracker.base = base(2)

    other = SnapshotTracker()
    other.load(tracker.snapshot(), 4)

    assert other.snapshot() == tracker.snapshot()
    assert other.snapshot().changes.children["inner"].stowed is not None
