"""Versioned JSON shapes: everything that reaches Temporal history or the blob store.

What lives here: immutable shapes, their JSON form (`dump`, `load`), the names of Temporal activity
types, and the reading of tagged JSON as plain JSON. What must never be here: I/O, Temporal, MAF, and
any decision about a run.

A shape is read for ever. A change that an older release could not read raises `SCHEMA_VERSION`; a reader
refuses a newer version than its own with an error that says so.
"""

from .schema import SCHEMA_VERSION, WireError, dump, fingerprint, load
from .shapes import (
    Base,
    Changes,
    CheckpointHeader,
    CheckpointRecord,
    CommitInput,
    CommitOutcome,
    CommitResult,
    DeliveryInput,
    DeliveryResult,
    ErrorDetails,
    Event,
    EventLog,
    FanIn,
    Graph,
    Judgement,
    Message,
    PendingRequest,
    Request,
    RespondInput,
    RespondResult,
    Response,
    Route,
    RoutedMessage,
    RunResult,
    RunStatus,
    SeedInput,
    SeedResult,
    SentMessage,
    Snapshot,
    StartOptions,
    Value,
)

__all__ = [
    "SCHEMA_VERSION",
    "Base",
    "Changes",
    "CheckpointHeader",
    "CheckpointRecord",
    "CommitInput",
    "CommitOutcome",
    "CommitResult",
    "DeliveryInput",
    "DeliveryResult",
    "ErrorDetails",
    "Event",
    "EventLog",
    "FanIn",
    "Graph",
    "Judgement",
    "Message",
    "PendingRequest",
    "Request",
    "RespondInput",
    "RespondResult",
    "Response",
    "Route",
    "RoutedMessage",
    "RunResult",
    "RunStatus",
    "SeedInput",
    "SeedResult",
    "SentMessage",
    "Snapshot",
    "StartOptions",
    "Value",
    "WireError",
    "dump",
    "fingerprint",
    "load",
]
