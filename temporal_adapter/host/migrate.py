"""Migrating: carry a checkpoint to a changed graph, by a function of the user's, and write what comes of it.

The one way there is: workers migrate runs by it, and `temporal-adapter checkpoint migrate` does. What comes of a
function is held against the graph before anything is written; what does not fit is refused, never dropped.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, cast

from agent_framework import Workflow, WorkflowCheckpoint, WorkflowEvent
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.loading import described
from temporal_adapter.maf import EXECUTOR_STATE_KEY, SUB_WORKFLOW_CHECKPOINT_KEY
from temporal_adapter.maf_checkpoint import checkpoint_of, record_of
from temporal_adapter.migration import ATTRIBUTES_KEY, Migration, sub_workflow
from temporal_adapter.payload import AskedTerms, Reader, Writer
from temporal_adapter.pool import BuiltGraph
from temporal_adapter.store import StoreError
from temporal_adapter.values import DecodeError, EncodeError
from temporal_adapter.wire.names import GRAPH_CHANGED, MIGRATED_FROM, path_of, path_text

from . import mirror
from .asking import Asking
from .context import Host, Stores
from .fitting import check_fits
from .restore import asked, checkpoint_in, levels_of, routed
from .seed import first_states


class MigrationRefused(Exception):
    """A checkpoint cannot be migrated by this function to this graph; says why."""


async def migrated(
    host: Host, graph: BuiltGraph, stores: Stores, checkpoint_id: str, header: wire.CheckpointHeader, at: str
) -> tuple[wire.Restored, wire.CommitOutcome]:
    """Migrate the checkpoint of a run that is at work, in an activity, and write it; return what the run goes on from.

    Args:
        host: Has the function, as `on_graph_change`.
        graph: This worker's.
        stores: The activity's.
        checkpoint_id: The checkpoint to migrate.
        header: Of the new checkpoint. Its iteration, kind and metadata are the old one's with what is said of the
            migration.
        at: No later than now, by the server's clock.

    Raises:
        ApplicationError: There is no such function, it raised, or what it returned does not fit the graph. Its type is
            `GRAPH_CHANGED`: a better release heals it.
        StoreError: The store cannot be read or written.
    """
    function = host.on_graph_change
    try:
        if isinstance(function, str):
            raise MigrationRefused(f"this worker has no function to migrate it with: on_graph_change={function!r}")
        record = await migrated_record(graph, host.pool.build(), stores, function, checkpoint_id, header)
    except MigrationRefused as error:
        raise ApplicationError(
            f"Checkpoint {checkpoint_id!r} cannot be migrated to this worker's graph of workflow {host.name!r}: "
            f"{wire.encodable(str(error))}",
            type=GRAPH_CHANGED,
            non_retryable=True,
        ) from error
    outcome = await mirror.write(stores, graph.description(), [record], mirror.own_rank())
    if outcome.base is None:
        raise StoreError(f"The migrated checkpoint cannot be written: {outcome.error}")
    manifest = await stores.checkpoints.load(outcome.base)
    reader, levels = Reader(graph.codec, stores.values), levels_of(manifest)
    requests = await asked(levels[""].requests, graph, reader, stores, Asking(host, at), renewed=False)
    levels[""] = wire.replace(levels[""], requests=requests)
    restored = wire.Restored(
        base=outcome.base,
        header=manifest.header,
        messages=await routed(graph, reader, manifest.messages),
        levels=levels,
    )
    return restored, outcome


async def migrated_record(
    graph: BuiltGraph,
    pristine: BuiltGraph,
    stores: Stores,
    function: Migration,
    checkpoint_id: str,
    header: wire.CheckpointHeader,
) -> wire.CheckpointRecord:
    """Return the record of what a function makes of a checkpoint, once it is known to fit the graph.

    Args:
        graph: The graph it is migrated to. Its executors are restored for a try: put it back, or drop it.
        pristine: A new build of it: executors that the checkpoint does not know begin as in this.
        stores: Has the checkpoint; values of the new one are written to it.
        function: The user's.
        checkpoint_id: The checkpoint to migrate.
        header: As for `migrated`.

    Raises:
        MigrationRefused: The function raised, or what it returned does not fit the graph.
        ApplicationError: There is no such checkpoint (type `CHECKPOINT_NOT_FOUND`).
        StoreError: The store cannot be read or written.
    """
    _, manifest = await checkpoint_in(stores, checkpoint_id)
    if manifest.workflow_name != graph.description().name:
        raise MigrationRefused(
            f"it is of workflow {manifest.workflow_name!r}, and the graph is that of {graph.workflow.name!r}"
        )
    reader = Reader(graph.codec, stores.values)
    try:
        given = await _exposed(manifest, reader)
    except DecodeError as error:
        raise MigrationRefused(f"what it holds cannot be rebuilt by the code of this graph: {error}") from error
    before = dict(given.metadata)
    outcome = await _called(function, given, graph.workflow)
    added = {key: value for key, value in outcome.metadata.items() if before.get(key) != value}
    try:
        record = await _record(outcome, manifest, graph, pristine, stores)
        metadata = graph.codec.encode(
            {**added, **header.metadata, MIGRATED_FROM: _told(manifest, graph, function)}, "metadata"
        )
    except EncodeError as error:
        raise MigrationRefused(f"what the migration made cannot be stored: {error}") from error
    problems = await check_fits(graph, record, reader)
    if problems:
        raise MigrationRefused(f"what the migration made does not fit the graph: {_listed(problems)}")
    whole = wire.replace(
        header,
        previous_checkpoint_id=checkpoint_id,
        iteration=manifest.header.iteration,
        kind=manifest.header.kind,
        metadata=metadata,
    )
    return wire.replace(record, header=whole)


def _told(manifest: wire.Manifest, graph: BuiltGraph, function: Migration) -> dict[str, Any]:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", type(function).__name__)
    return {
        "checkpoint_id": manifest.header.checkpoint_id,
        "graph_signature": manifest.graph_signature,
        "to_graph_signature": graph.workflow.graph_signature_hash,
        "function": f"{module}:{name}",
    }


async def _called(function: Migration, given: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
    try:
        made: Any = function(given, workflow)
        if inspect.isawaitable(made):
            made = await made
    except Exception as error:  # whatever a user's function raises
        raise MigrationRefused(f"the migration raised {described(error)}") from error
    if not isinstance(made, WorkflowCheckpoint):
        raise MigrationRefused(f"the migration returned {type(made).__name__}, and not a WorkflowCheckpoint")
    return made


def _listed(problems: list[str]) -> str:
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    return "; ".join(problems[:5]) + more


# --- a checkpoint as migrations see it: MAF's, with the attributes that it has no place for ------------------


async def _exposed(manifest: wire.Manifest, reader: Reader) -> WorkflowCheckpoint:
    checkpoint = await checkpoint_of(manifest, reader)
    for path, entries in {"": manifest, **manifest.children}.items():
        if not entries.attributes:
            continue
        states = sub_workflow(checkpoint, *path_of(path)).state.setdefault(EXECUTOR_STATE_KEY, {})
        for executor_id, value in entries.attributes.items():
            recorded = await reader.raw(value)
            changed = {name: reader.decoded(encoded) for name, encoded in recorded["changed"].items()}
            attributes = {"changed": changed, "deleted": list(recorded["deleted"])}
            states[executor_id] = {**states.get(executor_id, {}), ATTRIBUTES_KEY: attributes}
    return checkpoint


async def _record(
    outcome: WorkflowCheckpoint, manifest: wire.Manifest, graph: BuiltGraph, pristine: BuiltGraph, stores: Stores
) -> wire.CheckpointRecord:
    known = _requests_of(manifest)

    def as_before(event: WorkflowEvent[Any]) -> AskedTerms:
        before = known.get(event.request_id)
        return AskedTerms("") if before is None else AskedTerms(before.asked_at or "", before.deadline)

    writer = Writer(graph.codec, stores.values, asked=as_before)
    attributes = {path: _without_attributes(level) for path, level in _levels(outcome)}
    first = await first_states(pristine, writer)
    fresh = {path: _absent(first.get(path, {}), outcome, path) for path in first}
    record = await record_of(outcome, writer)
    changes = record.snapshot.changes
    levels: dict[str, wire.Changes] = {}
    for path in dict.fromkeys(["", *changes.children, *fresh]):
        own = changes if path == "" else changes.children.get(path, wire.Changes())
        levels[path] = wire.replace(
            own,
            executors={**fresh.get(path, {}), **own.executors},
            attributes={
                key: await writer.raw(_encoded(one, writer, key)) for key, one in attributes.get(path, {}).items()
            },
            requests={
                key: _as_asked(one, outermost=path == "") for key, one in own.requests.items() if one is not None
            },
        )
    whole = wire.replace(levels.pop(""), children=levels)
    messages = [await _embedded(one, writer) for one in record.messages]
    return wire.replace(record, snapshot=wire.Snapshot(changes=whole), messages=messages)


def _requests_of(manifest: wire.Manifest) -> Mapping[str, wire.Request]:
    in_flight = {one.request.request_id: one.request for one in manifest.messages if one.request is not None}
    return {**in_flight, **manifest.requests}


def _levels(checkpoint: WorkflowCheckpoint, path: tuple[str, ...] = ()) -> Iterable[tuple[str, WorkflowCheckpoint]]:
    yield path_text(path), checkpoint
    for executor_id, state in checkpoint.state.get(EXECUTOR_STATE_KEY, {}).items():
        child = state.get(SUB_WORKFLOW_CHECKPOINT_KEY) if isinstance(state, dict) else None  # pyright: ignore
        if isinstance(child, WorkflowCheckpoint):
            yield from _levels(child, (*path, executor_id))


def _without_attributes(level: WorkflowCheckpoint) -> dict[str, Any]:
    """Take the attributes out of the executors' states; return them by executor."""
    states: dict[str, Any] = level.state.get(EXECUTOR_STATE_KEY, {})
    found: dict[str, Any] = {}
    for executor_id, state in states.items():
        if isinstance(state, dict) and ATTRIBUTES_KEY in state:
            found[executor_id] = cast("dict[str, Any]", state)[ATTRIBUTES_KEY]
            states[executor_id] = {
                key: one for key, one in cast("dict[str, Any]", state).items() if key != ATTRIBUTES_KEY
            }
    return found


def _encoded(attributes: Mapping[str, Any], writer: Writer, executor_id: str) -> Any:
    changed = {
        name: writer.encoded(value, f"attribute {name!r} of executor {executor_id!r}")
        for name, value in attributes.get("changed", {}).items()
    }
    return {"changed": changed, "deleted": list(attributes.get("deleted", []))}


def _absent(first: Mapping[str, wire.Value], outcome: WorkflowCheckpoint, path: str) -> dict[str, wire.Value]:
    """Return the first states of the executors that a checkpoint does not know."""
    try:
        states = sub_workflow(outcome, *path_of(path)).state.get(EXECUTOR_STATE_KEY, {})
    except ValueError:  # a sub-workflow that is new
        states = {}
    return {key: value for key, value in first.items() if key not in states}


def _as_asked(request: wire.Request, *, outermost: bool) -> wire.Request:
    """Return a request as it was recorded: without a time and deadline where it had none, as in a sub-workflow."""
    if outermost and request.asked_at:
        return request
    return wire.replace(request, asked_at=None, deadline=None, response_schema=None)


async def _embedded(message: wire.Message, writer: Writer) -> wire.Message:
    if message.request is None:
        return message
    return wire.replace(message, request=await writer.embedded(_as_asked(message.request, outermost=True)))
