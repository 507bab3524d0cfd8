from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.store.cache import ByteCache


def test_the_entry_used_longest_ago_goes_first() -> None:
    cache = ByteCache(30)
    for key in "abc":
        cache.put(key, key.encode() * 10)
    assert cache.get("a") is not None
    cache.put("d", b"d" * 10)
    assert [key for key in "abcd" if cache.get(key) is not None] == ["a", "c", "d"]


def test_an_entry_above_the_limit_is_not_kept_and_pushes_nothing_out() -> None:
    cache = ByteCache(10)
    cache.put("a", b"small")
    cache.put("b", b"x" * 11)
    assert cache.get("a") == b"small"
    assert cache.get("b") is None


def test_an_entry_too_large_to_replace_another_still_takes_its_place() -> None:
    cache = ByteCache(10)
    cache.put("a", b"old")
    cache.put("a", b"x" * 11)
    assert cache.get("a") is None
    assert cache.size == 0


def test_a_cleared_cache_is_empty() -> None:
    cache = ByteCache(10)
    cache.put("a", b"content")
    cache.clear()
    assert cache.get("a") is None
    assert cache.size == 0


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.binary(max_size=40))))
def test_the_cache_never_holds_more_than_its_limit_and_never_a_stale_entry(
    entries: list[tuple[str, bytes]],
) -> None:
    cache = ByteCache(60)
    latest: dict[str, bytes] = {}
    for key, data in entries:
        cache.put(key, data)
        latest[key] = data
        held = {name: cache.get(name) for name in latest}
        assert all(found in (None, latest[name]) for name, found in held.items())
        assert cache.size == sum(len(found) for found in held.values() if found is not None) <= 60
