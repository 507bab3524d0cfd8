from __future__ import annotations

from bench.checkpoint_bytes import compare, conversation, keys


async def test_one_changed_key_of_a_thousand_costs_a_small_part_of_what_maf_writes() -> None:
    row = await compare(keys, 1_000, supersteps=60)
    assert row.ratio > 15
    assert row.ours.bytes < 8_000


async def test_what_a_superstep_writes_grows_far_less_than_the_state() -> None:
    small, large = [await compare(keys, count, supersteps=60) for count in (500, 5_000)]
    assert large.state_bytes > 9 * small.state_bytes
    assert large.ours.bytes < 2 * small.ours.bytes


async def test_a_message_more_in_a_long_conversation_costs_a_small_part_of_it() -> None:
    row = await compare(conversation, 500_000, supersteps=10)
    assert row.ratio > 15
    assert row.ours.objects < 6
