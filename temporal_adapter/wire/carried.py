"""What a run carries over when it goes on as a new Temporal run (continue-as-new): all that its engine knows at rest.

A run that does so is a chain of *links*, under one workflow id. What grows with the length of the run is not carried:
the pages of its lists that the blob store has (`wire.ArchivedPage`) are referred to.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .seen import Responded, TurnProgress
from .shapes import (
    ArchivedPage,
    CheckpointHeader,
    CommitOutcome,
    Event,
    Graph,
    RecordedResponse,
    Response,
    Restored,
    RestoredLevel,
    RoutedMessage,
    Snapshot,
    StartOptions,
    Value,
)


class CarriedLevel(RestoredLevel, frozen=True, omit_defaults=True, kw_only=True):
    """A workflow of the nesting between two supersteps of the run."""

    completed: dict[str, int] = {}  # noqa: RUF012 - deliveries, by executor; msgspec gives each struct its own


class Archived(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The pages of a run's lists that the blob store has."""

    events: list[ArchivedPage] = []
    outputs: list[ArchivedPage] = []
    checkpoints: list[ArchivedPage] = []
    responses: list[ArchivedPage] = []


class Tails(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What follows these pages."""

    events: list[Event] = []
    outputs: list[Value | None] = []
    checkpoints: list[CheckpointHeader] = []
    responses: list[Responded] = []


class CarriedAnswer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What was answered to a request, as far as it takes to know the same answer again."""

    fingerprint: str
    checkpoint_id: str
    told: str  # by whom and when


class CarriedResponses(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Responses of one signal that have yet to be judged: the run is migrated first."""

    responses: list[Response]
    whole: bool = False
    source: Literal["person", "deadline"] = "person"
    state: dict[str, Value] = {}


class CarriedDue(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Something to be done about a request at a time."""

    at: str  # ISO 8601, UTC
    request_id: str
    what: Literal["remind", "expire"]


class CarriedState(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What the engine knows beside the lists."""

    options: StartOptions  # without message, kwargs, and what a fork was given
    graph: Graph
    phase: Literal["running", "paused", "idle"]
    shown: bool = False  # running: that the next superstep starts was shown
    waiting: list[CarriedResponses] = []  # in order of arrival
    anyway: bool = False  # running: the next superstep begins even where no message is in flight
    seeded: bool = True  # a session that was reset is not
    waits_for_operator: bool = False
    counts_requests: bool = False
    state: str  # MAF's WorkflowRunState
    announced_requests: bool = False
    head: str | None = None  # of the lineage
    number: int  # of the next checkpoint
    snapshot: Snapshot
    messages: list[RoutedMessage] = []  # in flight
    levels: dict[str, CarriedLevel] = {}  # by path
    answered: dict[str, CarriedAnswer] = {}  # by request id
    gone: dict[str, str] = {}  # request id -> why it waits no more
    recorded: list[RecordedResponse] = []  # of a replay, those whose turn has not come
    due: list[CarriedDue] = []
    reminders: dict[str, int] = {}  # sent, by request id


class CarriedTurn(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A turn of a session, by the id of the update that began it."""

    update_id: str
    progress: TurnProgress


class CarriedSignal(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A signal that came when the run was about to go on, and that nothing was done with."""

    name: str
    payloads: list[str]  # Temporal's `Payload`s, as protobuf bytes in base64


class Carried(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Third argument of a link but the first. What is large in it is in the blob store instead."""

    clock: str  # the last time that history has recorded
    moved: bool = False  # the run went on here to move to another version of its worker deployment
    moved_from: str = ""  # the build that it was on then; empty without worker versioning
    migrates: bool = False  # it went on here since its workers migrate runs to another graph
    counted: int = 0  # pending requests, as the search attribute has it
    live: int = 0  # offset of the next live batch
    streams: bool = False  # the turn under way streams
    turn: str | None = None  # the turn under way, by the id of its update
    turns: list[CarriedTurn] = []  # the last few
    updates: dict[str, Any] = {}  # what the last few updates were answered, by their ids
    signals: list[CarriedSignal] = []  # in order
    archived: Archived = Archived()
    tails: Tails | None = None
    state: CarriedState | None = None
    parts: list[Value] = []  # or: the JSON text of these two, in parts, each a string in the blob store


class CarriedText(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What the parts of a `Carried` make together."""

    tails: Tails
    state: CarriedState


# --- activities ---------------------------------------------------------------------------------------------


class KeepInput(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """JSON to write to the blob store, each by itself."""

    items: list[Any]


class KeepResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    values: list[Value]  # references, in the same order
    at: str


class InParts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What stands for an activity's input that is too large for history: where the parts of its JSON text are."""

    in_parts: list[Value]  # references


class FetchInput(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    value: Value


class FetchResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    item: Any
    at: str


class CarryOnInput(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A new link begins."""

    graph: str  # signature
    options: StartOptions
    continued: str  # Temporal's run id of the link before
    waits_for_operator: bool = False
    checkpoint_id: str | None = None  # head of the lineage
    migrates: bool = False  # the head is to be migrated, where this worker has another graph
    header: CheckpointHeader | None = None  # of the migrated checkpoint
    clock: str = ""


class CarryOnResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    continues: int
    moves: bool = False
    graph: Graph | None = None  # another than before: the run was migrated
    restored: Restored | None = None  # the migrated checkpoint
    commit: CommitOutcome | None = None  # of that
    at: str
