"""The parts of a checkpoint by the places that a person knows them by, and whether two parts have the same content.

A value may be inline on one side and by reference on the other: contents are compared. Decides nothing about runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from temporal_adapter import wire
from temporal_adapter.store import StoreError, ValueStore
from temporal_adapter.wire.tags import plain

_WHOLE = ("executor_ids", "graph_signature", "workflow_name", "workflow_id")
_BY_KEY = ("outlines", "state", "executors", "attributes", "buffers", "requests")


def parts_of(manifest: wire.Manifest) -> dict[str, Any]:
    """Return the parts of a checkpoint by place: `state['report']`, `messages[0]`, `children['review'].state['n']`."""
    parts = {f"{name}": getattr(manifest, name) for name in _WHOLE}
    parts.update(header_parts(manifest.header))
    parts.update({f"messages[{position}]": message for position, message in enumerate(manifest.messages)})
    parts.update(_entries(manifest))
    for path, child in manifest.children.items():
        inside = _entries(child)  # one without any is as good as none
        if child.iteration:
            inside["iteration"] = child.iteration
        parts.update({f"children[{path!r}].{place}": part for place, part in inside.items()})
    return parts


def header_parts(header: wire.CheckpointHeader) -> dict[str, Any]:
    """Return the parts of a checkpoint's place in the lineage."""
    return {name: getattr(header, name) for name in header.__struct_fields__}


def _entries(entries: wire.SnapshotEntries) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for section in _BY_KEY:
        by_key = cast("Mapping[str, Any]", getattr(entries, section, {}))
        parts.update({f"{section}[{key!r}]": part for key, part in by_key.items()})
    return parts


def values_in(place: str, part: Any) -> Iterator[tuple[str, wire.Value]]:
    """Yield the values in a part, with their places."""
    if isinstance(part, wire.Value):
        yield place, part
        for position, patch in enumerate(part.patches):
            yield from values_in(f"{place}.patches[{position}]", patch)
    elif isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            yield from values_in(f"{place}.{name}", getattr(part, name))
    elif isinstance(part, list):
        for position, item in enumerate(cast("list[Any]", part)):
            yield from values_in(f"{place}[{position}]", item)


async def same(one: Any, other: Any, values: ValueStore) -> bool:
    """Return whether two parts have the same content.

    Raises:
        StoreError: A value with patches has to be read for that, and cannot be.
    """
    if isinstance(one, wire.Value) and isinstance(other, wire.Value):
        return one.many == other.many and await _same_value(one, other, values)
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        fields = one.__struct_fields__
        return all([await same(getattr(one, name), getattr(other, name), values) for name in fields])
    if isinstance(one, list) and isinstance(other, list):
        pairs = list(zip(cast("list[Any]", one), cast("list[Any]", other), strict=False))
        lengths = {len(cast("list[Any]", one)), len(cast("list[Any]", other))}
        return len(lengths) == 1 and all([await same(left, right, values) for left, right in pairs])
    return one == other


async def _same_value(one: wire.Value, other: wire.Value, values: ValueStore) -> bool:
    if (one.ref is None and other.ref is None) or one.patches or other.patches:
        return wire.to_bytes(await values.resolve(one)) == wire.to_bytes(await values.resolve(other))
    return await _name(one, values) == await _name(other, values)


async def _name(value: wire.Value, values: ValueStore) -> str:
    """Return the name that the store has, or would have, for a value."""
    return value.ref or await values.name_of(await values.resolve(value))


async def readable(part: Any, values: ValueStore) -> Any:
    """Return a part as plain JSON; a value that cannot be read as its reference."""
    if isinstance(part, wire.Value):
        try:
            return plain(await values.resolve(part))
        except StoreError:
            return {"lost": part.ref, "size": part.size}
    if isinstance(part, msgspec.Struct):
        defaults = dict(zip(reversed(part.__struct_fields__), reversed(part.__struct_defaults__), strict=False))
        shown = {name: getattr(part, name) for name in part.__struct_fields__}
        return {
            name: await readable(field, values)
            for name, field in shown.items()
            if name not in defaults or field != defaults[name]
        }
    if isinstance(part, list):
        return [await readable(item, values) for item in cast("list[Any]", part)]
    return part
