"""JSON payloads that keep the order of keys.

Temporal's default converter sorts the keys of every dict it writes, and a dict that an executor sends would reach the
next one in another order than in-process. Nothing else differs: what either writes, the other reads.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    AdvancedJSONEncoder,
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)


class _OrderedJSONConverter(JSONPlainPayloadConverter):
    def to_payload(self, value: Any) -> Payload | None:
        payload = super().to_payload(value) if not isinstance(value, (dict, list)) else None
        if payload is not None:
            return payload
        data = json.dumps(value, cls=AdvancedJSONEncoder, separators=(",", ":")).encode()
        return Payload(metadata={"encoding": self.encoding.encode()}, data=data)


class OrderedPayloadConverter(CompositePayloadConverter):
    """Temporal's default payload converter, save that JSON objects keep the order of their keys."""

    def __init__(self) -> None:
        super().__init__(
            *(
                _OrderedJSONConverter() if isinstance(converter, JSONPlainPayloadConverter) else converter
                for converter in DefaultPayloadConverter.default_encoding_payload_converters
            )
        )


def keeping_order(converter: DataConverter | None) -> DataConverter:
    """Return a data converter that keeps the order of keys, if only the default payload converter stands in the way.

    A codec, a failure converter, external storage and a payload converter of the user's own are kept.
    """
    converter = converter or DataConverter.default
    if converter.payload_converter_class is not DefaultPayloadConverter:
        return converter
    return dataclasses.replace(converter, payload_converter_class=OrderedPayloadConverter)
