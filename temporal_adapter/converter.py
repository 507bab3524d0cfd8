"""Payloads of our wire shapes: JSON that keeps the order of keys, whatever payload converter a client has.

Temporal's default converter sorts the keys of every dict it writes, and a dict that an executor sends would reach the
next one in another order than in-process. So what is ours is handed over as a finished payload (`RawValue`), which a
converter passes on. A codec, failure converter and external storage apply to it as to any other.
"""

from __future__ import annotations

import json
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

_ENCODING = b"json/plain"  # Temporal's name for what every SDK reads as JSON


def ordered_json(data: Any) -> RawValue:
    """Return plain JSON data as a payload, with keys in their order."""
    text = json.dumps(data, separators=(",", ":"))
    return RawValue(Payload(metadata={"encoding": _ENCODING}, data=text.encode()))
