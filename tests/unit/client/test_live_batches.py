"""The stream of a run is written by activities, and can be written by anybody: what is no batch is passed over."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.contrib.workflow_streams import _stream

from temporal_adapter import wire
from temporal_adapter.client.streaming import live_batch
from temporal_adapter.wire.names import STREAM_ENCODING, STREAM_OFFSET, STREAM_POLL, STREAM_PUBLISH

BATCH = wire.LiveBatch(executor_id="writer", rank="1", attempt=1, position=0, events=[wire.Event(type="output")])


def test_a_batch_is_read_as_it_was_written() -> None:
    assert live_batch(_item(zlib.compress(wire.to_bytes(wire.dump(BATCH))))) == BATCH


@pytest.mark.parametrize(
    "item",
    [
        "no base64!",
        base64.b64encode(b"no payload").decode(),
        "",
        pytest.param("other encoding", id="other encoding"),
        pytest.param(b"not compressed", id="not compressed"),
        pytest.param(zlib.compress(b"no JSON"), id="no JSON"),
        pytest.param(zlib.compress(b'{"executor_id": 7}'), id="no batch"),
        pytest.param(zlib.compress(wire.to_bytes({**wire.dump(BATCH), "v": 99})), id="of a later release"),
        pytest.param(zlib.compress(b" " * (20 * 1024 * 1024) + b"{}"), id="larger than any batch"),
    ],
)
def test_what_is_no_batch_is_passed_over(item: Any) -> None:
    if item == "other encoding":
        item = _item(zlib.compress(wire.to_bytes(wire.dump(BATCH))), encoding=b"json/plain")
    assert live_batch(_item(item) if isinstance(item, bytes) else item) is None


def test_the_protocol_is_that_of_temporals_workflow_streams() -> None:
    assert (STREAM_PUBLISH, STREAM_POLL, STREAM_OFFSET) == (
        _stream._PUBLISH_SIGNAL,
        _stream._POLL,
        _stream._OFFSET_QUERY,
    )


def _item(data: bytes, encoding: bytes = STREAM_ENCODING) -> str:
    payload = Payload(metadata={"encoding": encoding}, data=data)
    return base64.b64encode(payload.SerializeToString()).decode()
