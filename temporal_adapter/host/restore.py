"""Restoring: begin a run at a checkpoint of the blob store. MAF's `Workflow.run(checkpoint_id=...)`.

Messages in flight are routed anew, by the graph that this worker has. A *replay* brings along the responses that the
run it repeats was given later; a *fork* is given other responses and edits of the state, in a checkpoint of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.engine import expires_at
from temporal_adapter.graph_changes import difference, graph_of
from temporal_adapter.payload import Reader, Writer
from temporal_adapter.pool import BuiltGraph
from temporal_adapter.store import CorruptObject, MissingObject, youngest_head
from temporal_adapter.values import DecodeError, EncodeError
from temporal_adapter.wire.names import CHECKPOINT_NOT_FOUND, MIGRATED_FROM, RESTORE_REFUSED

from . import mirror
from .asking import Asking
from .context import Host, Stores, now
from .respond import judge

_Given = Mapping[str, wire.RoutedMessage]


async def restore(host: Host, data: wire.SeedInput, wanted: wire.Restore, run: wire.RunEntry) -> wire.SeedResult:
    """Return what a run needs to go on from a checkpoint.

    Raises:
        ApplicationError: There is no such checkpoint, it is of another graph, or what a fork is given does not fit.
        StoreError: The store cannot be read or written.
    """
    _check_together(data, wanted)
    try:
        return await _restored(host, data, wanted, run)
    except (CorruptObject, MissingObject) as error:  # waiting would not bring it back
        raise _error(RESTORE_REFUSED, f"Checkpoint {wanted.checkpoint_id!r} cannot be gone on from: {error}") from error


async def _restored(host: Host, data: wire.SeedInput, wanted: wire.Restore, run: wire.RunEntry) -> wire.SeedResult:
    async with host.pool.borrow() as graph:
        stores = host.stores()
        base, manifest = await checkpoint_in(stores, wanted.checkpoint_id)
        _check_same_graph(host, manifest, graph, data.graph)
        _check_same_run(manifest, wanted, run)
        reader, writer = Reader(graph.codec, stores.values), Writer(graph.codec, stores.values)
        given = await _given(graph, reader, writer, manifest, wanted)
        messages = [
            *await routed(graph, reader, _not_answered(manifest.messages, given)),
            *given.values(),
        ]
        state = await _edits(graph, writer, manifest, data)
        recorded = await _recorded(stores, graph, reader, manifest, wanted) if wanted.verb == "replay" else []
        levels = levels_of(manifest)
        requests = await asked(levels[""].requests, graph, reader, stores, Asking(host, data.at), renewed=True)
        levels[""] = wire.replace(levels[""], requests=requests)
        await stores.checkpoints.put_run(run)
        commit: wire.CommitOutcome | None = None
        if data.header is not None:
            header = wire.replace(data.header, iteration=manifest.header.iteration)
            record = _record(header, base, messages, given, state)
            commit = await mirror.write(stores, graph.description(), [record], mirror.own_rank())
        return wire.SeedResult(
            graph=graph.description(),
            restored=wire.Restored(
                base=base,
                header=manifest.header,
                messages=messages,
                levels=levels,
                answered=list(given),
                recorded=recorded,
            ),
            state=state,
            waits_for_operator=run.on_failure == "wait",
            counts_requests=host.counts_requests,
            continues=host.continues_after,
            moves=host.moves,
            commit=commit,
            at=now(),
        )


def _check_together(data: wire.SeedInput, wanted: wire.Restore) -> None:
    """See that a run is given nothing that would be left unused."""
    given = {
        "a message": data.message is not None,
        "function_invocation_kwargs": data.options.function_invocation_kwargs is not None,
        "client_kwargs": data.options.client_kwargs is not None,
        "state": bool(wanted.state or wanted.deleted_state) and wanted.verb != "fork",
        "responses": bool(wanted.responses) and wanted.verb not in ("fork", "resume"),
        "until": wanted.until is not None and wanted.verb != "replay",
    }
    unused = " and ".join(name for name, is_given in given.items() if is_given)
    if unused:
        raise _error(
            RESTORE_REFUSED,
            f"A {wanted.verb} of checkpoint {wanted.checkpoint_id!r} takes no {unused.removeprefix('a ')}: it goes on "
            "from what the checkpoint has. `fork` takes responses and state.",
        )


async def checkpoint_in(stores: Stores, checkpoint_id: str) -> tuple[wire.Base, wire.Manifest]:
    """Return a checkpoint, with where it is.

    Raises:
        ApplicationError: There is none of this id, or not whole (type `CHECKPOINT_NOT_FOUND`).
        StoreError: The store cannot be read.
    """
    try:
        found = await stores.checkpoints.find(checkpoint_id)
    except (CorruptObject, MissingObject) as error:
        raise _error(CHECKPOINT_NOT_FOUND, str(error)) from error
    if found is None:
        raise _error(
            CHECKPOINT_NOT_FOUND,
            f"There is no checkpoint {checkpoint_id!r} in the workers' checkpoint store, for this namespace. "
            "`temporal-adapter checkpoint list` shows those there are; `checkpoint rebuild` makes those of a run "
            "that Temporal still has.",
        )
    return found


def _check_same_graph(host: Host, manifest: wire.Manifest, graph: BuiltGraph, of_session: str | None) -> None:
    if manifest.graph_signature == graph.workflow.graph_signature_hash:
        return
    if of_session is not None and manifest.graph_signature == of_session:  # it waits, like a session's other inputs
        raise host.other_graph(graph, of_session)
    raise _error(
        RESTORE_REFUSED,
        f"Checkpoint {manifest.header.checkpoint_id!r} was made by another graph: of workflow "
        f"{manifest.workflow_name!r}, signature {manifest.graph_signature[:12]}; this worker's is "
        f"{graph.workflow.name!r}, {graph.workflow.graph_signature_hash[:12]}. Here it has otherwise: "
        f"{difference(graph_of(manifest), graph.description())} Start it on workers that have the graph of that "
        "release, or carry it to this one: `temporal-adapter checkpoint migrate`.",
    )


def _check_same_run(manifest: wire.Manifest, wanted: wire.Restore, run: wire.RunEntry) -> None:
    """See that a resume stays with its workflow id. What was checkpointed in-process has none."""
    if wanted.verb != "resume" or run.session or manifest.workflow_id in ("", run.workflow_id):
        return
    raise _error(
        RESTORE_REFUSED,
        f"Checkpoint {wanted.checkpoint_id!r} is of the workflow id {manifest.workflow_id!r}, and a resume continues a "
        "run under its own. `replay` and `fork` make another run from it.",
    )


def levels_of(manifest: wire.Manifest) -> dict[str, wire.RestoredLevel]:
    """Return what the engine must know of each workflow of the nesting, by path."""
    own = wire.RestoredLevel(iteration=manifest.header.iteration, buffers=manifest.buffers, requests=manifest.requests)
    children = {
        path: wire.RestoredLevel(iteration=child.iteration, buffers=child.buffers, requests=child.requests)
        for path, child in manifest.children.items()
    }
    return {"": own, **children}


async def asked(
    requests: Mapping[str, wire.Request],
    graph: BuiltGraph,
    reader: Reader,
    stores: Stores,
    asking: Asking,
    *,
    renewed: bool,
) -> dict[str, wire.Request]:
    """Return pending requests as if made now, where they come from in-process, without a time or deadline.

    With `renewed` so are those that have expired, else whoever resumes a run that failed for one could do nothing
    about it.
    """
    writer, present = Writer(graph.codec, stores.values, asked=asking), asking.present()
    made: dict[str, wire.Request] = {}
    for key, one in requests.items():
        expiry = expires_at(one)
        if one.asked_at is None:
            made[key] = await writer.request(await reader.request(one))
        elif renewed and expiry is not None and expiry <= present:
            made[key] = wire.replace(one, asked_at=present)
        else:
            made[key] = one
    return made


async def routed(graph: BuiltGraph, reader: Reader, messages: Iterable[wire.Message]) -> list[wire.RoutedMessage]:
    """Return messages with where this graph has them go."""
    return [
        wire.RoutedMessage(message=message, routes=await graph.router.route(await reader.message(message)))
        for message in messages
    ]


# --- what a fork is given -----------------------------------------------------------------------------------


async def _given(
    graph: BuiltGraph, reader: Reader, writer: Writer, manifest: wire.Manifest, wanted: wire.Restore
) -> dict[str, wire.RoutedMessage]:
    """Return the responses that are given with a restore, by request id, coerced and routed."""
    in_flight = {one.request.request_id: one.request for one in manifest.messages if one.request is not None}
    requests = {**in_flight, **manifest.requests}
    given: dict[str, wire.RoutedMessage] = {}
    for request_id, response in wanted.responses.items():
        if request_id not in requests:
            known = ", ".join(map(repr, requests)) or "none"
            raise _error(
                RESTORE_REFUSED,
                f"Checkpoint {wanted.checkpoint_id!r} has no request {request_id!r} to answer. There are: {known}.",
            )
        answer = wire.Response(request_id=request_id, response=response)
        judgement = await judge(graph, reader, writer, requests[request_id], answer)
        if judgement.message is None:
            raise _error(RESTORE_REFUSED, f"The response to request {request_id!r} is refused: {judgement.refused}")
        given[request_id] = judgement.message
    return given


def _not_answered(messages: Iterable[wire.Message], given: _Given) -> list[wire.Message]:
    """Return messages without the responses that others are given for."""
    return [one for one in messages if one.request is None or one.request.request_id not in given]


async def _edits(
    graph: BuiltGraph, writer: Writer, manifest: wire.Manifest, data: wire.SeedInput
) -> dict[str, wire.Value | None]:
    """Return the shared state that a fork sets and deletes."""
    wanted = data.options.restore
    assert wanted is not None
    edits: dict[str, wire.Value | None] = {}
    for key, encoded in wanted.state.items():
        try:
            value: Any = graph.input_codec.decode(encoded) if data.options.encoding == "tagged" else encoded
            edits[key] = await writer.value(value, f"state[{key!r}]")
        except (DecodeError, EncodeError) as error:
            raise _error(RESTORE_REFUSED, f"The state {key!r} of the fork cannot be set: {error}") from error
    for key in wanted.deleted_state:
        if key not in manifest.state:
            known = ", ".join(repr(one) for one in manifest.state if not one.startswith("_")) or "none"
            raise _error(
                RESTORE_REFUSED,
                f"Checkpoint {wanted.checkpoint_id!r} has no state {key!r} to delete. There is: {known}.",
            )
        edits[key] = None
    return edits


def _record(
    header: wire.CheckpointHeader,
    base: wire.Base,
    messages: list[wire.RoutedMessage],
    given: _Given,
    state: dict[str, wire.Value | None],
) -> wire.CheckpointRecord:
    changes = wire.Changes(state=state, requests=dict.fromkeys(given))
    return wire.CheckpointRecord(
        header=header,
        snapshot=wire.Snapshot(base=base, changes=changes),
        messages=[routed.message for routed in messages],
    )


# --- what a replay repeats ----------------------------------------------------------------------------------


async def _recorded(
    stores: Stores, graph: BuiltGraph, reader: Reader, manifest: wire.Manifest, wanted: wire.Restore
) -> list[wire.RecordedResponse]:
    """Return the responses and cancellations that came into the lineage after the checkpoint, in order."""
    entries = await stores.checkpoints.headers(manifest.workflow_name, manifest.workflow_id)
    after = _lineage_after(wanted.checkpoint_id, entries, wanted.until)
    recorded: list[wire.RecordedResponse] = []
    for header in after:
        if header.kind == "entry" or MIGRATED_FROM in header.metadata:
            break  # a session's further input is not repeated, nor what came after on another graph
        if header.kind != "response":
            continue
        parent, entry = manifest, await stores.checkpoints.load_by_id(header.checkpoint_id)
        if header.previous_checkpoint_id != manifest.header.checkpoint_id:
            parent = await stores.checkpoints.load_by_id(header.previous_checkpoint_id or "")
        if entry is None or parent is None:
            continue
        cancelled = [parent.requests[one] for one in wire.cancelled_in(header.metadata) if one in parent.requests]
        recorded += [
            wire.RecordedResponse(checkpoint_id=header.checkpoint_id, iteration=header.iteration, cancelled=request)
            for request in cancelled
        ]
        in_flight = [one.request for one in parent.messages]  # still, where no superstep came between
        responses = [one for one in entry.messages if one.type == "response" and one.request not in in_flight]
        recorded += [
            wire.RecordedResponse(checkpoint_id=header.checkpoint_id, iteration=header.iteration, routed=one)
            for one in await routed(graph, reader, responses)
        ]
    return recorded


def _lineage_after(
    checkpoint_id: str, entries: list[wire.IndexEntry], until: str | None
) -> list[wire.CheckpointHeader]:
    """Return the lineage from a checkpoint, without it, to `until`, or else to the youngest head that follows it."""
    by_id = {entry.header.checkpoint_id: entry.header for entry in entries}

    def way_to(head: str) -> list[wire.CheckpointHeader] | None:
        way: list[wire.CheckpointHeader] = []
        at = by_id.get(head)
        while at is not None and at.checkpoint_id != checkpoint_id and len(way) <= len(entries):
            way.insert(0, at)
            at = by_id.get(at.previous_checkpoint_id or "")
        return way if at is not None and at.checkpoint_id == checkpoint_id else None

    if until is not None:
        way = way_to(until)
        if way is None:
            raise _error(RESTORE_REFUSED, f"Checkpoint {until!r} does not follow {checkpoint_id!r} in its lineage.")
        return way
    following: dict[str, wire.IndexEntry] = {}
    for entry in entries:  # parents come before their children
        parent = entry.header.previous_checkpoint_id
        if parent == checkpoint_id or parent in following:
            following[entry.header.checkpoint_id] = entry
    return (way_to(youngest_head([*following.values()]).header.checkpoint_id) or []) if following else []


def _error(error_type: str, message: str) -> ApplicationError:
    return ApplicationError(message, type=error_type, non_retryable=True)
