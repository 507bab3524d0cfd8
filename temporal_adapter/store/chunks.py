"""Where a large text is cut, so that one that differs a little has most parts the same. Pure functions; no I/O.

A conversation that grows by a message is a new value of half a megabyte; stored in parts, it costs the last part. So
cuts must follow the content and not the position: behind an insertion they must come to be where they were. Each part
ends, within `SMALLEST` to `LARGEST` bytes, at the boundary of JSON text whose preceding bytes have the least checksum.
The same place wins from wherever the search started, save near its ends. Text without boundaries is cut at `LARGEST`.
"""

from __future__ import annotations

import re
from zlib import crc32

WHOLE_UP_TO = 64 * 1024
"""Bytes of the largest text that is stored in one piece."""

SMALLEST = 8 * 1024
LARGEST = 24 * 1024

# The first kind that a stretch of text has: between objects, between strings of a list or fields, between words. With
# each, the bytes that its checksum is of: objects of a kind end alike, so theirs must reach back into what differs.
_BOUNDARIES = (
    (re.compile(rb"\},(?=\{)"), 1024),
    (re.compile(rb",(?=\")"), 64),
    (re.compile(rb"\\n|[.,:;!?] "), 64),
    (re.compile(rb" "), 64),
)


def cut(text: bytes) -> list[bytes]:
    """Return the parts of a text, in order."""
    parts: list[bytes] = []
    start = 0
    while len(text) - start > LARGEST:
        end = _end(text, start + SMALLEST, start + LARGEST)
        parts.append(text[start:end])
        start = end
    parts.append(text[start:])
    return parts


def _end(text: bytes, low: int, high: int) -> int:
    for boundary, reach in _BOUNDARIES:
        ends = [match.end() for match in boundary.finditer(text, low, high)]
        if ends:
            return min(ends, key=lambda end: crc32(text[end - reach : end]))
    return high
