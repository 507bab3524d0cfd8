from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.store import BlobStore, CorruptObject, MissingObject, ValueStore
from temporal_adapter.store.chunks import LARGEST, SMALLEST, WHOLE_UP_TO, cut
from temporal_adapter.store.names import chunk_object, value_object
from tests.unit.store.counting import CountingStore


def conversation(length: int) -> list[dict[str, Any]]:
    """Messages that end alike, as those of MAF do, with texts of their own."""
    words = random.Random(5)
    return [
        {
            "$": "maf",
            "type": "agent_framework:Message",
            "fields": {
                "role": "assistant" if number % 2 else "user",
                "contents": [{"type": "text", "text": " ".join(f"{words.getrandbits(30):x}" for _ in range(80))}],
                "author_name": None,
                "message_id": None,
                "additional_properties": {},
                "raw_representation": None,
            },
        }
        for number in range(length)
    ]


CONVERSATION = conversation(580)  # about half a megabyte


@given(st.binary(max_size=200), st.integers(0, 2_000))
def test_parts_are_the_text_again(piece: bytes, times: int) -> None:
    text = piece * times
    assert b"".join(cut(text)) == text


@pytest.mark.parametrize(
    "text",
    [wire.to_bytes(CONVERSATION), b"x" * 500_000, wire.to_bytes("word " * 100_000), wire.to_bytes(["ab"] * 90_000)],
    ids=["messages", "no boundary", "words", "short strings"],
)
def test_parts_keep_to_their_sizes(text: bytes) -> None:
    sizes = list(map(len, cut(text)))
    assert all(SMALLEST <= size <= LARGEST for size in sizes[:-1])
    assert sizes[-1] <= LARGEST


def test_parts_of_a_conversation_end_between_messages() -> None:
    assert all(part.endswith(b"},") for part in cut(wire.to_bytes(CONVERSATION))[:-1])


async def test_a_value_up_to_the_limit_is_one_object_and_a_larger_one_is_in_parts() -> None:
    blobs = CountingStore()
    values = ValueStore(blobs, "default", cache_bytes=0)
    for length, parts in [(WHOLE_UP_TO - 2, 0), (WHOLE_UP_TO - 1, 3)]:
        ref = await values.put("x" * length)
        written = blobs.take()
        assert len(written) == 1 + parts
        assert await values.get(ref) == "x" * length
        assert len(await values.chunks_of(ref)) == parts
        assert ref == wire.digest(wire.to_bytes("x" * length))


async def bytes_to_change(before: Any, after: Any) -> int:
    blobs = CountingStore()
    await ValueStore(blobs, "default").put(before)
    blobs.take()
    ref = await ValueStore(blobs, "default").put(after)  # another worker
    assert await ValueStore(blobs, "default").get(ref) == after
    return sum(blobs.take().values())


OTHER = conversation(581)[-1]
AT = [0, 100, 290, 400, 579]


async def test_appending_a_message_to_half_a_megabyte_writes_about_two_parts() -> None:
    size = len(wire.to_bytes(CONVERSATION))
    costs = [await bytes_to_change(CONVERSATION[:length], CONVERSATION[: length + 1]) for length in range(540, 580, 5)]
    assert size > 500_000
    assert sum(costs) / len(costs) < 20_000
    assert max(costs) < 2 * LARGEST


@pytest.mark.parametrize("at", AT)
async def test_inserting_removing_or_changing_a_message_anywhere_writes_what_is_near(at: int) -> None:
    before, after = CONVERSATION[:at], CONVERSATION[at:]
    assert await bytes_to_change(CONVERSATION, [*before, OTHER, *after]) < 6 * LARGEST
    assert await bytes_to_change(CONVERSATION, [*before, *after[1:]]) < 6 * LARGEST
    assert await bytes_to_change(CONVERSATION, [*before, OTHER, *after[1:]]) < 6 * LARGEST


async def test_text_without_boundaries_still_shares_what_comes_before_the_change() -> None:
    data = base64.b64encode(random.Random(1).randbytes(300_000)).decode()
    assert await bytes_to_change(data, data + "appended") < 2 * LARGEST


async def test_the_same_large_value_again_writes_nothing() -> None:
    blobs = CountingStore()
    await ValueStore(blobs, "default").put(CONVERSATION)
    blobs.take()
    await ValueStore(blobs, "default").put(CONVERSATION)
    assert blobs.take() == {}


async def test_a_large_value_that_an_earlier_release_stored_in_one_piece_stays_readable() -> None:
    blobs = BlobStore("memory://")
    text = wire.to_bytes(CONVERSATION)
    await blobs.put(value_object("default", wire.digest(text)), text)
    assert await ValueStore(blobs, "default").get(wire.digest(text)) == CONVERSATION


async def test_a_value_that_looks_like_a_list_of_parts_is_a_value() -> None:
    blobs = BlobStore("memory://")
    values = ValueStore(blobs, "default", cache_bytes=0)
    listed = json.loads(await blobs.get(value_object("default", await values.put(CONVERSATION))))
    assert await values.get(await values.put(listed)) == listed


@pytest.mark.parametrize("damage", ["missing", "cut short", "another part"])
async def test_a_damaged_part_is_named_with_its_value_and_writing_again_mends_it(damage: str) -> None:
    blobs = BlobStore("memory://")
    values = ValueStore(blobs, "default")
    ref = await values.put(CONVERSATION)
    one, other = [chunk_object("default", digest) for digest in (await values.chunks_of(ref))[3:5]]
    if damage == "missing":
        await blobs.delete(one)
    else:
        await blobs.put(one, (await blobs.get(one))[:-1] if damage == "cut short" else await blobs.get(other))

    with pytest.raises((MissingObject, CorruptObject), match=one) as raised:
        await ValueStore(blobs, "default").get(ref)
    assert value_object("default", ref) in str(raised.value)
    await ValueStore(blobs, "default").put(CONVERSATION)
    assert await ValueStore(blobs, "default").get(ref) == CONVERSATION
