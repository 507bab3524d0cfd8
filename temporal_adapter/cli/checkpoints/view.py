"""A checkpoint as plain JSON, for people and programs, without the code of its workflow.

Types show as plain JSON (`wire.tags.plain`); nothing is unpickled. A value that the store does not have, or has
damaged, is shown as `{"$": "missing", ...}` in its place, and all the rest beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from temporal_adapter import wire
from temporal_adapter.store import CorruptObject, MissingObject, ValueStore
from temporal_adapter.wire.tags import TAG, plain, type_text

MESSAGE_KEYS = frozenset({"source_id", "target_id", "type", "request_id", "data_type", "data"})
REQUEST_KEYS = frozenset({"executor_id", "request_type", "response_type", "data"})
"""The keys of a message and of a request, as they are shown."""

_READS_AT_ONCE = 16


@dataclass(frozen=True)
class View:
    """A checkpoint made plain.

    Attributes:
        document: The JSON; `docs/cli.md` lists its keys.
        missing: The values that could not be read: `{"place": ..., "object": ..., "reason": ...}`.
    """

    document: dict[str, Any]
    missing: list[dict[str, str]]


async def view(manifest: wire.Manifest, values: ValueStore) -> View:
    """Return a checkpoint made plain.

    Raises:
        StoreError: The store cannot be read at all.
    """
    reading = _Reading(values)
    header = manifest.header
    document = {
        "checkpoint_id": header.checkpoint_id,
        "previous_checkpoint_id": header.previous_checkpoint_id,
        "workflow_name": manifest.workflow_name,
        "workflow_id": manifest.workflow_id,
        "run_id": manifest.run_id or None,
        "kind": header.kind,
        "iteration": header.iteration,
        "timestamp": header.timestamp,
        "graph_signature": manifest.graph_signature,
        "metadata": plain(header.metadata),
        "messages": await reading.messages(manifest.messages, "messages"),
        **await reading.entries(manifest, manifest.executor_ids, ""),
        "sub_workflows": {path: await _child(manifest, path, reading) for path in manifest.outlines},
    }
    document["missing"] = reading.missing
    return View(document, reading.missing)


async def _child(manifest: wire.Manifest, path: str, reading: _Reading) -> dict[str, Any]:
    outline = manifest.outlines[path]
    entries = manifest.children.get(path, wire.SnapshotEntries())
    return {
        "workflow_name": outline.workflow_name,
        "iteration": entries.iteration,
        **await reading.entries(entries, outline.executor_ids, f"sub_workflows.{path}."),
    }


@dataclass(frozen=True)
class _Reading:
    """Reads the values of one checkpoint, and notes which are missing."""

    values: ValueStore
    missing: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_READS_AT_ONCE))

    async def entries(self, entries: wire.SnapshotEntries, executor_ids: Iterable[str], place: str) -> dict[str, Any]:
        state = await self._all(entries.state, f"{place}state")
        saved = await self._all(entries.executors, f"{place}executors")
        attributes = await self._all(entries.attributes, f"{place}attributes")  # {"changed": ..., "deleted": [...]}
        return {
            "state": state,
            "executors": {
                executor_id: {"state": saved.get(executor_id), **_attributes(attributes.get(executor_id))}
                for executor_id in dict.fromkeys([*executor_ids, *saved, *attributes])
            },
            "fan_in_buffers": {
                key: await self.messages(buffered, f"{place}fan_in_buffers.{key}")
                for key, buffered in entries.buffers.items()
            },
            "pending_requests": {
                request_id: await self._request(request, f"{place}pending_requests.{request_id}")
                for request_id, request in entries.requests.items()
            },
        }

    async def messages(self, messages: Iterable[wire.Message], place: str) -> list[dict[str, Any]]:
        return [await self._message(message, f"{place}[{index}]") for index, message in enumerate(messages)]

    async def _message(self, message: wire.Message, place: str) -> dict[str, Any]:
        encoded = await self._tagged(message.data, place)
        return {
            "source_id": message.source_id,
            "target_id": message.target_id,
            "type": message.type,
            "request_id": None if message.request is None else message.request.request_id,
            "data_type": data_type(encoded),
            "data": shown(encoded),
        }

    async def _request(self, request: wire.Request, place: str) -> dict[str, Any]:
        return {
            "executor_id": request.source_executor_id,
            "request_type": type_text(request.request_type),
            "response_type": type_text(request.response_type),
            "data": shown(await self._tagged(request.data, place)),
        }

    async def _all(self, values: Mapping[str, wire.Value], place: str) -> dict[str, Any]:
        read = await asyncio.gather(*(self._tagged(one, f"{place}.{key}") for key, one in values.items()))
        return {key: shown(encoded) for key, encoded in zip(values, read, strict=True)}

    async def _tagged(self, value: wire.Value, place: str) -> Any:
        try:
            async with self.turns:
                return await self.values.resolve(value)
        except (MissingObject, CorruptObject) as error:
            ref = value.ref or ""
            self.missing.append({"place": place, "object": ref, "reason": str(error)})
            return {TAG: MISSING, "object": ref, "size": value.size}


def _attributes(changes: Any) -> dict[str, Any]:
    """Return what handlers changed of an executor's attributes: their values, and the names of deleted ones."""
    if is_missing(changes):
        return {"attributes": changes, "deleted_attributes": []}
    read: dict[str, Any] = changes or {}
    return {"attributes": read.get("changed", {}), "deleted_attributes": read.get("deleted", [])}


MISSING = "missing"
"""The kind of what stands in for a value that cannot be read."""


def is_missing(value: Any) -> bool:
    """Return whether this stands in for a value that could not be read."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).get(TAG) == MISSING


def shown(encoded: Any) -> Any:
    """Return tagged JSON as plain JSON; what stands in for a missing value as it is."""
    return encoded if is_missing(encoded) else plain(encoded)


def data_type(encoded: Any) -> str:
    """Return the type of an encoded value, as people write it: `app:Report`, `int`, `list`."""
    if encoded is None:
        return "None"
    if not isinstance(encoded, dict):
        return type(encoded).__name__
    tagged = cast("dict[str, Any]", encoded)
    if TAG not in tagged:
        return "dict"
    return type_text(tagged["type"]) if "type" in tagged else str(tagged[TAG])
