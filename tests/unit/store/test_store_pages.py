from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.store import RECORDED_RANK, BlobStore, CheckpointStore, forms, overlay, pages
from temporal_adapter.store.overlay import SECTIONS, composed
from temporal_adapter.store.pages import LARGEST, pages_of, snapshot_of

PATHS = ["", "review", "review/legal", "audit"]
KEYS = [f"{letter}{number}" for letter in "abc" for number in range(4)] + ["\ud800", ""]

# An entry set, by a number that stands for its value, or deleted by None.
STEPS = st.tuples(
    st.sampled_from(PATHS), st.sampled_from(SECTIONS), st.sampled_from(KEYS), st.none() | st.integers(0, 40)
)
LEVELS = st.dictionaries(st.sampled_from(PATHS[1:]), st.tuples(st.none() | st.integers(0, 3), st.booleans()))


def entry(section: str, number: int) -> Any:
    value = wire.Value(inline="x" * number, size=number + 2)
    if section == "buffers":
        return [wire.Message(source_id="s", data=value)] * (number % 3)
    if section == "requests":
        return wire.Request(request_id="q", source_executor_id="s", data=value, request_type="str", response_type="str")
    return value


def changes_of(
    steps: list[tuple[str, str, str, int | None]], of_levels: dict[str, tuple[int | None, bool]]
) -> wire.Changes:
    levels: dict[str, dict[str, Any]] = {"": {}}
    for path, (iteration, whole) in of_levels.items():
        levels[path] = {"iteration": iteration, "whole": whole}
    for path, section, key, number in steps:
        entries = levels.setdefault(path, {}).setdefault(section, {})
        entries[key] = None if number is None else entry(section, number)
    own = levels.pop("")
    return wire.Changes(**own, children={path: wire.Changes(**fields) for path, fields in levels.items()})


CHANGES = st.builds(changes_of, st.lists(STEPS, max_size=30), LEVELS)


def in_order(entries: wire.SnapshotEntries) -> Any:
    """Return entries such that they are equal only if their order is as well."""
    sections = {section: list(getattr(entries, section).items()) for section in SECTIONS}
    children = [(path, in_order(child)) for path, child in entries.children.items()]
    return sections, entries.iteration, children


def all_of(series: list[wire.Changes]) -> wire.SnapshotEntries:
    entries = wire.SnapshotEntries()
    for changes in series:
        entries = overlay(entries, changes)
    return entries


@contextmanager
def tiny_pages() -> Iterator[None]:
    """Make everything happen with few entries."""
    with (
        patch.object(pages, "SMALLEST", 100),
        patch.object(pages, "LARGEST", 300),
        patch.object(forms, "WHOLE_UP_TO", 200),
        patch.object(forms, "_SMALLEST_FOLD", 400),
        patch.object(forms, "_FOLD_FACTOR", 8),
    ):
        yield


@given(CHANGES, CHANGES, CHANGES, CHANGES)
def test_changes_composed_have_the_effect_of_all_in_turn(
    first: wire.Changes, second: wire.Changes, third: wire.Changes, fourth: wire.Changes
) -> None:
    base = all_of([first])
    removed, changed = wire.Changes(), wire.Changes()
    for changes in (second, third, fourth):
        removed, changed = composed(removed, changed, changes)
    result = overlay(overlay(base, removed), changed)
    assert in_order(result) == in_order(all_of([first, second, third, fourth]))


@given(CHANGES)
def test_a_snapshot_reads_back_from_its_pages_in_order(changes: wire.Changes) -> None:
    with tiny_pages():
        snapshot = all_of([changes])
        assert in_order(snapshot_of(pages_of(snapshot))) == in_order(snapshot)


@settings(max_examples=100, deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=7), st.integers(0, 3))
async def test_any_series_of_changes_stored_by_pages_reads_as_a_dict_would(
    series: list[wire.Changes], lag: int
) -> None:
    with tiny_pages():
        store = CheckpointStore(BlobStore("memory://"), "default", cache_bytes=0)
        bases: list[wire.Base] = []
        for number, _ in enumerate(series):
            # given a base that is older by a few checkpoints, and what changed since
            built_on = max(number - lag, 0)
            since = as_one(series[built_on : number + 1])
            record = record_of(str(number), bases[built_on - 1] if built_on else None, since)

            # when the checkpoint is committed
            bases.append(await store.commit(record, graph=GRAPH, workflow_id="w", rank=RECORDED_RANK))

        # then each reads back as what a dict would be
        for number, base in enumerate(bases):
            assert plain(await store.load(base)) == plain(all_of(series[: number + 1]))
        if lag == 0:
            assert in_order(entries_in(await store.load(bases[-1]))) == in_order(all_of(series))


GRAPH = wire.Graph(
    name="expense", signature="5167", start_executor_id="intake", executors=["intake", "audit"], max_iterations=100
)


def record_of(checkpoint_id: str, base: wire.Base | None, changes: wire.Changes) -> wire.CheckpointRecord:
    header = wire.CheckpointHeader(
        checkpoint_id=checkpoint_id, iteration=0, timestamp="2026-01-01T00:00:00+00:00", kind="superstep"
    )
    return wire.CheckpointRecord(header=header, snapshot=wire.Snapshot(base=base, changes=changes))


def as_one(series: list[wire.Changes]) -> wire.Changes:
    """Return the last state of every entry, as the engine's snapshots have it."""
    result = wire.Changes()
    for changes in series:
        children = {**result.children}
        for path, level in changes.children.items():
            children[path] = level if level.whole else laid(children.get(path, wire.Changes()), level)
        result = wire.replace(laid(result, changes), children=children)
    return result


def laid(under: wire.Changes, over: wire.Changes) -> wire.Changes:
    sections = {section: {**getattr(under, section), **getattr(over, section)} for section in SECTIONS}
    iteration = under.iteration if over.iteration is None else over.iteration
    return wire.replace(under, **sections, iteration=iteration)


def entries_in(manifest: wire.Manifest) -> wire.SnapshotEntries:
    sections = {section: getattr(manifest, section) for section in SECTIONS}
    return wire.SnapshotEntries(**sections, children=manifest.children)


def plain(entries: wire.SnapshotEntries) -> Any:
    data = wire.dump(entries)
    return {name: data.get(name, {}) for name in (*SECTIONS, "children")}


def state(count: int, **other: Any) -> wire.SnapshotEntries:
    values = {f"key-{number}": wire.Value(inline=f"{number:0100}", size=102) for number in range(count)}
    return wire.SnapshotEntries(state={**values, **other})


def new_pages(before: wire.SnapshotEntries, after: wire.SnapshotEntries) -> int:
    return len(set(pages_of(after)) - set(pages_of(before)))


def test_pages_are_of_moderate_size() -> None:
    sizes = [len(page) for page in pages_of(state(2_000))]
    assert 1_200 < sum(sizes) / len(sizes) < 3_000
    assert max(sizes) < LARGEST + 200


@pytest.mark.parametrize("key", ["key-0", "key-500", "key-999"])
def test_a_replaced_entry_changes_the_page_that_has_it(key: str) -> None:
    value = wire.Value(inline="y" * 100, size=102)
    assert new_pages(state(1_000), state(1_000, **{key: value})) == 1


@pytest.mark.parametrize("size", [1, 1_000])
def test_an_entry_of_another_size_changes_few_pages(size: int) -> None:
    value = wire.Value(inline="y" * size, size=size + 2)
    costs = [new_pages(state(1_000), state(1_000, **{f"key-{number}": value})) for number in range(0, 1_000, 50)]
    assert sum(costs) / len(costs) < 3


def test_a_new_entry_changes_the_last_page() -> None:
    value = wire.Value(inline=None, size=4)
    costs = [new_pages(state(count), state(count, new=value)) for count in range(900, 1_000, 5)]
    assert sum(costs) / len(costs) <= 2


@pytest.mark.parametrize("number", [0, 500, 999])
def test_a_deleted_entry_changes_few_pages(number: int) -> None:
    after = state(1_000)
    after = wire.replace(after, state={key: value for key, value in after.state.items() if key != f"key-{number}"})
    assert new_pages(state(1_000), after) <= 2
