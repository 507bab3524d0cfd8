"""Seeding: accept an input, record the graph, write the entry checkpoint. MAF's `Workflow.run(message)`.

A run that goes on from a checkpoint is `restore`'s.
"""

from __future__ import annotations

from typing import Any

from agent_framework import INTERNAL_SOURCE_ID, WorkflowMessage
from temporalio import activity
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.nesting import Called, called
from temporal_adapter.payload import Writer
from temporal_adapter.pool import BuiltGraph
from temporal_adapter.values import CoercionError, DecodeError, coerce_json
from temporal_adapter.wire.names import INPUT_NOT_HANDLED, path_text

from . import mirror
from .context import Host, Stores, now
from .kwargs import kwargs_of, refused
from .nested import own_state
from .restore import restore


async def seed(host: Host, data: wire.SeedInput) -> wire.SeedResult:
    """Return the input in flight, with the graph and, for a first input, the executors' first state.

    Raises:
        ApplicationError: No handler of the start executor accepts the input; names the accepted types. Or a session has
            another graph than this worker.
    """
    run = run_entry(host, data.options)
    if data.options.restore is not None:
        return await restore(host, data, data.options.restore, run)
    async with host.pool.borrow(fresh=True) as graph:  # fresh: an agent's session is this run's own
        if data.further and data.graph not in (None, graph.workflow.graph_signature_hash):
            raise host.other_graph(graph, data.graph)
        stores = host.stores()
        call = await _called(graph, data)
        (message,) = call.messages
        writer = Writer(graph.codec, stores.values)
        routed = wire.RoutedMessage(
            message=await writer.message(message, "input"), routes=await graph.router.route(message)
        )
        first = {} if data.further else await first_states(graph, writer)
        result = wire.SeedResult(
            graph=graph.description(),
            message=routed,
            state={**await writer.values(call.state, "state")},
            executors=first.pop("", {}),
            children={path: wire.Changes(executors={**saved}) for path, saved in first.items()},
            waits_for_operator=run.on_failure == "wait",
            counts_requests=host.counts_requests,
            continues=host.continues_after,
            moves=host.moves,
            at=now(),
        )
        commit = await _commit(stores, data, result, None if data.further else run)
        missed = commit is not None and commit.base is None and not data.further
        return wire.replace(result, commit=commit, run=run if missed else None)


def run_entry(host: Host, options: wire.StartOptions) -> wire.RunEntry:
    """Return what the store is to know of the run."""
    info = activity.info()
    return wire.RunEntry(
        workflow_name=host.name,
        workflow_id=info.workflow_id or "",
        run_id=info.workflow_run_id or "",
        task_queue=info.task_queue,
        at=now(),
        on_failure=options.on_failure or host.on_failure,
        stream=options.stream,
        session=options.session,
        restored=wire.without_gifts(options.restore),
    )


async def _commit(
    stores: Stores, data: wire.SeedInput, result: wire.SeedResult, run: wire.RunEntry | None
) -> wire.CommitOutcome | None:
    """Write the entry checkpoint, unless others must be written before it."""
    if data.header is None or (data.further and data.snapshot is None):
        return None
    snapshot = data.snapshot or wire.Snapshot(changes=wire.Changes())
    before = snapshot.changes
    changes = wire.replace(
        before,
        state={**before.state, **result.state},
        executors={**before.executors, **result.executors},
        children={**before.children, **result.children},
    )
    messages = [] if result.message is None else [result.message.message]
    record = wire.CheckpointRecord(
        header=data.header, snapshot=wire.replace(snapshot, changes=changes), messages=messages, run=run
    )
    return await mirror.write(stores, result.graph, [record], mirror.own_rank())


def _input(graph: BuiltGraph, data: wire.SeedInput) -> Any:
    start = graph.workflow.get_start_executor()
    message, kind = data.message, "JSON"
    try:
        if data.options.encoding == "tagged":
            message = graph.input_codec.decode(message)
            kind = type(message).__name__
            if start.can_handle(WorkflowMessage(data=message, source_id=INTERNAL_SOURCE_ID(start.id))):
                return message
        return coerce_json(message, start.input_types)
    except (CoercionError, DecodeError) as error:
        raise _not_handled(graph, f"it is {kind}, and {error}") from error


async def _called(graph: BuiltGraph, data: wire.SeedInput) -> Called:
    message = _input(graph, data)
    try:
        return await called(
            graph.workflow,
            message,
            **kwargs_of(graph, data.options),
        )
    except (ValueError, RuntimeError) as error:
        raise refused(graph, error) from error


def _not_handled(graph: BuiltGraph, reason: str) -> ApplicationError:
    start = graph.workflow.get_start_executor()
    return ApplicationError(
        f"Start executor {start.id!r} of workflow {graph.workflow.name!r} cannot handle the input: {reason}",
        type=INPUT_NOT_HANDLED,
        non_retryable=True,
    )


async def first_states(graph: BuiltGraph, writer: Writer) -> dict[str, dict[str, wire.Value]]:
    """Return what executors have to save before anything ran, by the path of their workflow."""
    return {
        path_text(level.path): await writer.values(await _saved(level), "executor state")
        for level in graph.with_children()
    }


async def _saved(graph: BuiltGraph) -> dict[str, dict[str, Any]]:
    """Return the first state of executors that have one.

    A hook that raises before its executor ever ran loses nothing: without a recorded state, each activity starts from
    the executor as it was built. The state of an executor that wraps a sub-workflow is that of the executors in it.
    """
    saved: dict[str, dict[str, Any]] = {}
    for executor_id, executor in graph.workflow.executors.items():
        try:
            state = await (
                own_state(graph, executor_id) if executor_id in graph.children else executor.on_checkpoint_save()
            )
        except Exception:
            continue
        if state:
            saved[executor_id] = state
    return saved
