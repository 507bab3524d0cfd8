"""The shapes themselves. Field comments say what a reader of a history needs to know.

Conventions: ids are strings, timestamps ISO 8601 in UTC, sizes bytes of JSON. Absent optional fields are
left out of the JSON. Names are MAF's where MAF has the thing.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType


class _Shape(msgspec.Struct, frozen=True, omit_defaults=True):
    """Immutable, and compact in JSON."""


# --- values -------------------------------------------------------------------------------------------------


class Value(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """An encoded object: tagged JSON inline, or a reference to it in the blob store."""

    inline: Any | UnsetType = UNSET
    ref: str | None = None  # SHA-256 of the JSON text, the blob's name
    size: int  # of the JSON text
    patches: list[Value] = []  # to apply to it, in order: what executors of one superstep added to one value
    many: int | None = None  # of a streaming run: this many objects in one list; an event of it stands for as many


class ArchivedPage(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A page of a list that the blob store has: the list's items in JSON, from an offset on."""

    first: int  # offset of the first item
    next: int  # offset after the last item
    page: Value  # a list; of events, one may stand for many


# --- messages, requests, events -----------------------------------------------------------------------------


class Deadline(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What is done while a request waits. As the worker was configured when the request was made."""

    remind_every: float | None = None  # seconds
    remind_at_once: bool = False  # the first reminder is due when the request is made
    expire_after: float | None = None  # seconds
    on_expiry: Literal["fail", "cancel", "default"] = "fail"
    default: Any = None  # the response then, in plain JSON


class Request(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A MAF `request_info` event that waits for a response."""

    request_id: str
    source_executor_id: str
    data: Value
    request_type: Any  # encoded type
    response_type: Any  # encoded type
    origin: str = "EXECUTOR"
    asked_at: str | None = None  # by Temporal's clock; absent: of an earlier release, or asked in-process
    response_schema: Value | None = None  # JSON schema of the response type; absent: it has none
    deadline: Deadline | None = None
    cancelled_together: bool = False  # when it is cancelled, so is all that its executor has asked


class Message(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A MAF `WorkflowMessage`."""

    source_id: str
    data: Value
    target_id: str | None = None
    type: Literal["standard", "response"] = "standard"
    trace_contexts: list[dict[str, str]] | None = None
    source_span_ids: list[str] | None = None
    request: Request | None = None  # original_request_info_event of a response


class Route(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What one edge group decided about one message. A group that dropped it leaves no route."""

    group: int  # index among the edge groups of the message's source
    targets: list[str] = []  # deliver to these executors, in this order
    source_ids: list[str] = []  # what the targets see as source_executor_ids
    fan_in: str | None = None  # or: buffer in this fan-in (MAF's edge runner state key)
    error: Failure | None = None  # or: the condition or selection function raised


class ErrorDetails(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A MAF `WorkflowErrorDetails`."""

    error_type: str
    message: str
    traceback: str | None = None
    executor_id: str | None = None
    extra: dict[str, Any] | None = None


class Raised(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """An exception, for a client that has its class to raise again."""

    cls: str  # "module:qualified name"
    args: list[Any] | None = None  # its args, where all are JSON scalars
    state: dict[str, Any] = {}  # its further attributes, likewise


class Failure(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """Why something failed, in the terms of the code that raised it.

    `details` is what MAF shows in its events, which by its settings may be less than the message.
    """

    error_type: str
    message: str
    details: ErrorDetails
    raised: Raised | None = None  # absent: not by user code, or too large


class RoutedMessage(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A message and where it goes."""

    message: Message
    routes: list[Route] = []


class Event(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A MAF `WorkflowEvent`. A payload that is a list of values already known is kept as `items`."""

    type: str
    origin: str = "FRAMEWORK"
    data: Value | None = None
    items: list[Value] | None = None
    executor_id: str | None = None
    iteration: int | None = None
    state: str | None = None
    details: ErrorDetails | None = None
    request: Request | None = None
    attempt: str | None = None  # of a streaming run's `executor_invoked`: rank of the attempt that counts


# --- graph --------------------------------------------------------------------------------------------------


class FanIn(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A fan-in edge group: it fires when every source has something buffered."""

    sources: list[str]  # in edge order, the order of the aggregated list
    target: str


class GraphEdge(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """An edge, as a drawing shows it."""

    source: str
    target: str
    kind: str  # class of MAF's edge group, such as "SingleEdgeGroup", "FanInEdgeGroup"
    condition: str | None = None  # MAF's name of it; a conditional edge has one


class EdgeGroup(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What MAF's signature of a graph has of an edge group beside its edges."""

    size: int  # how many of the graph's edges are its own
    selection: str | None = None  # MAF's name of its selection function


class Graph(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What the run must know of the MAF workflow, recorded when it starts."""

    name: str
    signature: str  # MAF's graph_signature_hash
    start_executor_id: str
    executors: list[str]
    max_iterations: int
    shows_error_messages: bool = True  # MAF's setting SENSITIVE_DATA_ENABLED, which its error events follow
    fan_ins: dict[str, FanIn] = {}
    children: dict[str, Graph] = {}  # sub-workflows, by the executor that wraps them
    catching: list[str] = []  # of these executors, those that may handle the error of their sub-workflow
    edges: list[GraphEdge] = []  # to draw it; absent in runs of earlier releases
    groups: list[EdgeGroup] = []  # of these edges, in order; absent likewise
    classes: dict[str, list[str]] = {}  # executors by "module.Class", as MAF's signature has it; absent likewise


# --- checkpoints --------------------------------------------------------------------------------------------


class Changes(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """Entries of a snapshot that differ from its base; None is a deletion."""

    state: dict[str, Value | None] = {}  # shared state
    executors: dict[str, Value | None] = {}  # what on_checkpoint_save returned
    attributes: dict[str, Value | None] = {}  # changed attributes of executors without hooks: one dict each
    buffers: dict[str, list[Message] | None] = {}  # fan-in buffers, in order of arrival
    requests: dict[str, Request | None] = {}  # pending requests
    iteration: int | None = None  # of a sub-workflow; the run's own is in its checkpoints' headers
    stowed: Value | None = None  # of a sub-workflow: `SnapshotEntries` in the blob store, which the above are laid over
    whole: bool = False  # of a sub-workflow: these are all its entries, and what the base has of it is void
    children: dict[str, Changes] = {}  # of sub-workflows, by path, such as "review" or "review/legal"; not nested


class Base(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A checkpoint known to be in the blob store."""

    checkpoint_id: str
    object: str  # the object's name in the store
    digest: str  # SHA-256 of the object's bytes


class Snapshot(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """All that a run knows between supersteps, save the messages in flight."""

    base: Base | None = None
    changes: Changes


CheckpointKind = Literal["entry", "superstep", "response", "fork"]


class CheckpointHeader(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A checkpoint's place in the lineage."""

    checkpoint_id: str
    previous_checkpoint_id: str | None = None
    iteration: int
    timestamp: str
    kind: CheckpointKind
    number: int | None = None  # among the checkpoints of its run, in order of recording: what no clock can confuse
    metadata: dict[str, Any] = {}  # MAF's checkpoint metadata, in tagged JSON


Verb = Literal["resume", "replay", "fork", "adopt"]


class Restore(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """The run goes on from a checkpoint in the blob store instead of an input."""

    verb: Verb
    checkpoint_id: str
    until: str | None = None  # replay: the checkpoint up to which responses are repeated; absent: the youngest head
    responses: dict[str, Any] = {}  # fork: by request id, plain JSON
    state: dict[str, Any] = {}  # fork: shared state to set, in the encoding of the options
    deleted_state: list[str] = []  # fork: shared state to delete
    reason: str | None = None  # fork: for the record


class Ended(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """How a run ended, where its last checkpoint does not tell; or that a session was reset, which ends a lineage."""

    state: Literal["failed", "cancelled", "closed", "reset", "continued"]
    checkpoint_id: str | None  # head of its lineage
    at: str


class Continued(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """The Temporal run that a run goes on from."""

    run_id: str
    checkpoint_id: str | None = None  # head of the lineage then


class RunEntry(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A run as the blob store knows it: enough to start it again on another server."""

    workflow_name: str
    workflow_id: str  # Temporal's
    run_id: str
    task_queue: str
    at: str  # when it started
    on_failure: Literal["fail", "wait"] = "fail"
    stream: bool = False
    session: bool = False
    restored: Restore | None = None  # how it came from a checkpoint; without what a fork was given
    continued: Continued | None = None  # it goes on from another run of its workflow id (continue-as-new)
    ended: Ended | None = None  # absent: open, completed, terminated or timed out


class CheckpointRecord(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A checkpoint in full: what an activity needs to write it to the store."""

    header: CheckpointHeader
    snapshot: Snapshot
    messages: list[Message] = []  # in flight, in order of first send by source
    run: RunEntry | None = None  # with a run's first checkpoint: what the store is to know of the run


class CommitOutcome(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What became of writing checkpoints: the last one written, or why it could not be."""

    base: Base | None = None
    error: str | None = None


# --- activities ---------------------------------------------------------------------------------------------


class StartOptions(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """The second argument of a run. Absent for runs started with plain JSON."""

    encoding: Literal["json", "tagged"] = "json"  # of what follows and the message: plain JSON, or our tagged JSON
    function_invocation_kwargs: Any = None  # as MAF's Workflow.run takes them
    client_kwargs: Any = None
    on_failure: Literal["fail", "wait"] | None = None  # of an executor; absent: as the worker is configured
    stream: bool = False  # executors see a streaming run, and their events can be followed while they work
    session: bool = False  # the run is kept open for further inputs
    restore: Restore | None = None  # the run goes on from a checkpoint, and the message is not used


class LiveRoom(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What a delivery may add to history for those who follow it live."""

    batches: int
    bytes: int


class SeedInput(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    message: Any
    options: StartOptions
    header: CheckpointHeader | None = None  # of the checkpoint to write: entry or fork
    further: bool = False  # of a session: its executors have been at work before
    graph: str | None = None  # signature, of a session that has one; absent in inputs of earlier releases
    snapshot: Snapshot | None = None  # of a session at rest, for the entry checkpoint of a further input
    at: str | None = None  # no later than now by Temporal's clock; an activity knows its worker's only


class RestoredLevel(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What the engine must know of a workflow of the nesting that goes on from a checkpoint."""

    iteration: int = 0
    buffers: dict[str, list[Message]] = {}
    requests: dict[str, Request] = {}  # pending in the checkpoint


class RecordedResponse(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A response that the run which is replayed was given, or a request of it that was cancelled."""

    checkpoint_id: str  # the response-entry checkpoint that has it in flight, or that followed the cancellation
    iteration: int  # after which superstep it was
    routed: RoutedMessage | None = None  # with the request it answered then
    cancelled: Request | None = None  # or: the request that was cancelled


class Restored(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A checkpoint that a run goes on from."""

    base: Base
    header: CheckpointHeader
    messages: list[RoutedMessage] = []  # in flight
    levels: dict[str, RestoredLevel] = {}  # by path, "" the run's own workflow
    answered: list[str] = []  # requests that a fork's responses answer; these are in flight
    recorded: list[RecordedResponse] = []  # for a replay, in order


class SeedResult(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    graph: Graph
    message: RoutedMessage | None = None  # absent: restored
    restored: Restored | None = None
    state: dict[str, Value | None] = {}  # None: a fork deletes it
    executors: dict[str, Value] = {}
    children: dict[str, Changes] = {}  # of sub-workflows, by path
    waits_for_operator: bool = False  # when an executor fails, instead of failing the run
    counts_requests: bool = False  # the run keeps the search attribute of pending requests up to date
    continues: int | None = None  # events of history at which the run goes on as a new one; absent: it never does
    moves: bool = False  # it goes on as a new one, too, when there is another version of its worker deployment
    commit: CommitOutcome | None = None  # of the checkpoint, where one was to be written
    run: RunEntry | None = None  # where the store did not take it: to write with the checkpoint
    at: str  # when it was done; recorded here, since a workflow has no clock that a replay shows the same


class ChildRun(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A run of a sub-workflow, as the executor around it sees it."""

    events: list[Event] = []  # its outputs and requests
    failure: Failure | None = None  # what it failed with


class Nested(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What an executor that wraps a sub-workflow is told of it."""

    requests: list[Request] = []  # that were pending in it before this delivery
    runs: list[ChildRun] = []  # that this delivery has called for so far


class DeliveryInput(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """One message, or one fan-in batch, for one executor."""

    graph: str  # signature the run was started with
    executor_id: str
    path: list[str] = []  # executors that wrap the sub-workflows it is in, outermost first
    key: str = ""  # of the delivery: the same for all its attempts, and after a resume
    source_ids: list[str]
    messages: list[Message]  # one; or the batch in order of arrival; none where requests are cancelled
    cancelled: list[str] = []  # requests of the executor: it runs its hook for their cancellation, and no handler
    fan_in: str | None = None  # the batch's fan-in
    iteration: int  # of the superstep, counted from 1
    inline_budget: int  # bytes of values that the result may hold inline
    beside_others: bool = False  # other executors run in the same superstep, and may write the same state
    nested: Nested | None = None  # for an executor that wraps a sub-workflow
    snapshot: Snapshot | None = None  # of the executor's own workflow; absent: that of the last of `records`
    records: list[CheckpointRecord] = []  # checkpoints to write before the executor runs
    own: CheckpointHeader | None = None  # the checkpoint this delivery's outcome makes, to write after it ran
    stream: LiveRoom | None = None  # the run streams


class SentMessage(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A message in a result; `data` is an index into the result's `values`."""

    data: int
    target_id: str | None = None
    trace_contexts: list[dict[str, str]] | None = None
    source_span_ids: list[str] | None = None
    routes: list[Route] = []


class ResultEvent(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """An event in a result; payloads are indexes into the result's `values`.

    MAF's own `executor_invoked` has no payload here: it is the delivery's input.
    """

    type: str
    origin: str = "FRAMEWORK"
    data: int | None = None
    items: list[int] | None = None
    executor_id: str | None = None
    iteration: int | None = None
    state: str | None = None
    details: ErrorDetails | None = None
    request: Request | None = None


class Call(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """An executor calls for a run of the sub-workflow that it wraps. It is delivered to again with what that showed."""

    fresh: bool  # by an input, so that supersteps are counted anew; or by responses, or a cancellation
    cancelled: list[str] = []  # requests of the sub-workflow that are to be cancelled; there are no messages then
    messages: list[RoutedMessage]
    state: dict[str, Value] = {}  # shared state that the call sets: run kwargs


class DeliveryResult(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """What an executor changed, sent and showed."""

    call: Call | None = None  # the executor waits for its sub-workflow; nothing below is set but `at` and `records`
    values: list[Value] = []  # each once, however often it is used below
    messages: list[SentMessage] = []
    events: list[ResultEvent] = []
    state: dict[str, int | None] = {}
    patches: dict[str, int | None] = {}  # of keys that were read, then written: the change, or None if it has no patch
    executor_state: int | None = None  # None: unchanged
    attributes: int | None = None  # None: unchanged
    at: str
    records: CommitOutcome | None = None
    own: CommitOutcome | None = None
    attempt: str | None = None  # rank of the attempt, in a streaming run


class Response(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """A response as a person or service sent it: plain JSON, not yet coerced."""

    request_id: str
    response: Any
    responder: str | None = None
    comment: str | None = None


class Judgement(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """Whether a response is accepted; exactly one of the two is set."""

    request_id: str
    message: RoutedMessage | None = None
    refused: str | None = None  # the reason, for the person who answered


class RespondInput(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    graph: str
    requests: list[Request]
    responses: list[Response]  # as many, in the same order
    inline_budget: int = 128 * 1024  # bytes of values that the result may hold inline
    expired: list[str] = []  # of these, those whose response is the default of a deadline
    header: CheckpointHeader | None = None  # of the response-entry checkpoint, to write if any is accepted
    snapshot: Snapshot | None = None  # with `header`: at the pause, the requests still pending


class RespondResult(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    judgements: list[Judgement]
    at: str
    commit: CommitOutcome | None = None  # of the response-entry checkpoint
    stamped: bool = False  # that checkpoint has `at` as its timestamp, and not what its header had
    audited: bool = False  # and its metadata says who answered


class Stow(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """The entries of a sub-workflow, to write to the blob store by themselves."""

    path: str
    snapshot: Snapshot


class CommitInput(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    graph: str
    described: Graph | None = None  # of this signature; absent: the workers should have it
    records: list[CheckpointRecord] = []
    discard: list[str] = []  # ids that an attempt may have written, or may yet, and history never recorded
    stow: list[Stow] = []
    ended: Ended | None = None  # the run ends so, and the store is to know


class CommitResult(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    records: CommitOutcome
    stowed: list[Value] = []  # references, in the order of `stow`
    at: str


class SessionInput(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """Argument of a session's update `run`, with the rules of MAF's `Workflow.run`."""

    encoding: Literal["json", "tagged"] = "json"  # of the message and the kwargs
    message: Any = None  # None: there is none
    responses: dict[str, Any] | None = None  # by request id, plain JSON
    checkpoint_id: str | None = None
    stream: bool = False  # executors see a streaming run, and their events can be followed while they work
    function_invocation_kwargs: Any = None
    client_kwargs: Any = None


class TakeTurn(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """Input of an activity that does nothing: what signals and updates wait for, so that their turn has come."""


class TurnTaken(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    at: str


class ResolveKwargs(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    """Run kwargs that come with responses, to turn into the shared state that MAF makes of them."""

    graph: str
    options: StartOptions


class ResolvedKwargs(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    state: dict[str, Value]
    at: str


class NotifyInput(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    graph: str
    request: Request
    number: int  # of the reminder, from 1
    expires_at: str | None = None


class NotifyResult(_Shape, frozen=True, omit_defaults=True, kw_only=True):
    at: str
