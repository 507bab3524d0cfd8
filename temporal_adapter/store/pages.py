"""A snapshot's entries as pages, and back. Pure functions; no I/O.

A page is a stretch of consecutive entries. Where one ends follows from the keys in it, not from how the snapshot came
about: equal snapshots have equal pages, and snapshots that differ in an entry differ in the page that has it. Pages are
named by their content, so what two checkpoints have in common is stored once, without anybody keeping account.

The order of pages and entries is that of the snapshot's dicts, level by level and section by section.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import msgspec

from temporal_adapter import wire

from .overlay import SECTIONS

SMALLEST = 1024
LARGEST = 4096
"""Bytes of a page, save that a larger entry is a page by itself and the last page may be smaller."""

_PAGE_ENDS = 8  # of the keys beyond SMALLEST, one in so many ends a page

Entry = list[Any]
"""Level path, section, key, and value in JSON. The section `iteration`, with the key "", says that a level is there."""


def pages_of(snapshot: wire.SnapshotEntries) -> list[bytes]:
    """Return the pages of a snapshot, as JSON text."""
    pages: list[bytes] = []
    texts: list[bytes] = []
    size = 0
    for entry in _entries(snapshot):
        texts.append(wire.to_bytes(entry))
        size += len(texts[-1])
        if size >= LARGEST or (size >= SMALLEST and crc32(wire.to_bytes(entry[:3])) % _PAGE_ENDS == 0):
            pages.append(_page(texts))
            texts, size = [], 0
    return [*pages, _page(texts)] if texts else pages


def snapshot_of(pages: Iterable[bytes]) -> wire.SnapshotEntries:
    """Return the snapshot that has these pages.

    Raises:
        ValueError: They are no pages.
    """
    levels: dict[str, dict[str, Any]] = {"": {}}
    for page in pages:
        for path, section, key, value in json.loads(page):
            level = levels.setdefault(path, {})
            if section == "iteration":
                level["iteration"] = value
            else:
                level.setdefault(section, {})[key] = value
    own = levels.pop("")
    return wire.load(wire.SnapshotEntries, {**own, "children": levels})


def _entries(snapshot: wire.SnapshotEntries) -> Iterator[Entry]:
    yield from _level("", msgspec.to_builtins(wire.replace(snapshot, children={}, iteration=0)))
    for path, child in snapshot.children.items():
        yield [path, "iteration", "", child.iteration]
        yield from _level(path, msgspec.to_builtins(child))


def _level(path: str, level: dict[str, Any]) -> Iterator[Entry]:
    for section in SECTIONS:
        for key, value in level.get(section, {}).items():
            yield [path, section, key, value]


def _page(texts: list[bytes]) -> bytes:
    return b"[" + b",".join(texts) + b"]"
