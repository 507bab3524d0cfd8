"""The JSON schema of what clients in any language send and are answered: `docs/schema.json`.

    python -m temporal_adapter.wire.json_schema > docs/schema.json

writes it anew. Definitions are made of the shapes themselves, so that it cannot say anything else than the code; each
door is a definition of its own, such as `query.status` or `update.respond`, which refers to the shapes. An answer may
have more keys than a schema names: releases add some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from .schema import SCHEMA_VERSION, VERSION_KEY
from .seen import (
    CancelRequests,
    EventLog,
    GraphProgress,
    PendingRequest,
    ReadableResponded,
    RunResult,
    RunStatus,
    Turn,
)
from .shapes import ArchivedPage, CheckpointHeader, Response, SessionInput, StartOptions

_JSON = "JSON"  # any value
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Fate(msgspec.Struct, omit_defaults=True):
    """What became of one response: accepted, and in flight in a checkpoint; or refused, with the reason."""

    request_id: str
    accepted: bool
    checkpoint_id: str | None = None
    reason: str | None = None


class Elsewhere(msgspec.Struct):
    """In the place of items that an earlier Temporal run of the run left in the blob store: the page that has them."""

    archived: ArchivedPage


class Fates(msgspec.Struct):
    """Answer of the update `respond`; and the details of its error, when any response of it is refused."""

    responses: list[Fate]


class Cancelled(msgspec.Struct):
    """Answer of the update `cancel_requests`."""

    cancelled: list[str]


_ANSWERS = (
    RunStatus,
    PendingRequest,
    ReadableResponded,
    CheckpointHeader,
    EventLog,
    GraphProgress,
    RunResult,
    Turn,
    Fates,
    Cancelled,
    Elsewhere,
)
_ARGUMENTS = (Response, CancelRequests, SessionInput, StartOptions)


def schema() -> dict[str, Any]:
    """Return the JSON schema, with the definitions of all doors under `$defs`."""
    _, components = msgspec.json.schema_components((*_ANSWERS, *_ARGUMENTS), ref_template="#/$defs/{name}")
    versioned = {one.__name__ for one in (*_ANSWERS, *_ARGUMENTS) if one not in (Fates, Cancelled, Elsewhere)}
    definitions = {name: _versioned(one) if name in versioned else one for name, one in components.items()}
    return {
        "$schema": _DIALECT,
        "title": "agent-framework-temporal: JSON for clients in any language",
        "description": "Each door is a definition here: `query.NAME.answer`, `update.NAME.argument`, and so on.",
        "$defs": {_JSON: {"description": "Any JSON value."}, **dict(sorted(definitions.items())), **dict(_doors())},
    }


def _versioned(definition: dict[str, Any]) -> dict[str, Any]:
    """Add the schema version, which is in what is dumped and need not be in what is sent."""
    version = {"type": "integer", "maximum": SCHEMA_VERSION, "description": "Schema version."}
    return {**definition, "properties": {VERSION_KEY: version, **cast("dict[str, Any]", definition["properties"])}}


def _doors() -> Iterator[tuple[str, dict[str, Any]]]:
    one_or_many = {"oneOf": [_ref(Response), {"type": "array", "items": _ref(Response), "minItems": 1}]}
    offset = {"type": "integer", "minimum": 0, "default": 0}
    yield "start.message", {"description": "First input of a run: what its start executor takes.", **_any()}
    yield "start.options", {"description": "Second input of a run; may be left out.", **_ref(StartOptions)}
    yield "result", {"description": "Result of a run.", **_ref(RunResult)}
    yield "query.pending_requests.argument", offset
    yield "query.pending_requests.answer", {"type": "array", "items": _ref(PendingRequest)}
    yield "query.responses.argument", offset
    yield "query.responses.answer", {"type": "array", "items": {"anyOf": [_ref(Elsewhere), _ref(ReadableResponded)]}}
    yield "query.outputs.argument", offset
    yield "query.outputs.answer", {"type": "array", "items": _any()}
    yield "query.events.argument", offset
    yield "query.events.answer", _ref(EventLog)
    yield "query.status.answer", _ref(RunStatus)
    yield "query.graph.answer", _ref(GraphProgress)
    yield "query.checkpoints.argument", offset
    yield "query.checkpoints.answer", {"type": "array", "items": {"anyOf": [_ref(Elsewhere), _ref(CheckpointHeader)]}}
    yield "signal.respond.argument", one_or_many
    yield "update.respond.argument", one_or_many
    yield "update.respond.answer", _ref(Fates)
    path = {"description": "Path of an executor, as `status` names it; several are several inputs.", "type": "string"}
    yield "signal.retry.argument", path
    yield "signal.cancel_requests.argument", _ref(CancelRequests)
    yield "update.cancel_requests.argument", _ref(CancelRequests)
    yield "update.cancel_requests.answer", _ref(Cancelled)
    yield "update.retry.argument", path
    yield "update.retry.answer", {"type": "array", "items": path}
    yield "update.run.argument", _ref(SessionInput)
    yield "update.run.answer", _ref(Turn)
    yield "update.follow.argument", {"description": "The id of an update `run`.", "type": "string"}
    yield "update.follow.answer", _ref(Turn)
    yield "update.reset.answer", {"type": "null"}
    yield "update.close.answer", {"type": "null"}


def _ref(shape: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"#/$defs/{shape.__name__}"}


def _any() -> dict[str, str]:
    return {"$ref": f"#/$defs/{_JSON}"}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
