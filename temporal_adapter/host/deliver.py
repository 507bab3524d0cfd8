"""A delivery: one executor handles one message or fan-in batch, on the state the run had before the superstep.

An executor that wraps a sub-workflow may end a delivery by calling for a run of that; it is delivered to again then.

The order matters: checkpoints that the run still owes are written first, then the executor runs, then what it sent is
routed, then everything is encoded, and last the checkpoint of its own outcome is written.
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from agent_framework import InProcRunnerContext, Workflow, WorkflowEvent, WorkflowMessage
from temporalio import activity
from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.attributes import overrides_hooks
from temporal_adapter.engine.superstep import changes_of, messages_of
from temporal_adapter.idempotency import idempotent_under
from temporal_adapter.maf import tell_of_cancelled_request
from temporal_adapter.nesting import Called
from temporal_adapter.payload import Reader, Writer
from temporal_adapter.pool import BuiltGraph
from temporal_adapter.wire.names import path_text

from . import live, mirror
from .asking import Asking
from .context import Host, now
from .heartbeat import check_wanted
from .nested import call_of, calls_recorded, own_state
from .outcome import ResultTable, result_events
from .state import SharedState

logger = logging.getLogger(__name__)

TYPE_MISMATCH = "TypeMismatch"
"""Error type of a delivery whose message its executor has no handler for."""


@dataclass(frozen=True, slots=True)
class _Input:
    """A delivery, decoded."""

    executor_id: str
    source_ids: list[str]
    message: WorkflowMessage | None  # None: requests are cancelled


async def deliver(host: Host, data: wire.DeliveryInput) -> wire.DeliveryResult:
    """Run an executor and return what it changed, sent and showed.

    Raises:
        Exception: Whatever the executor raised, or EncodeError for something of it that cannot be stored.
    """
    asking = Asking(host)
    async with host.graph(data.graph) as outermost:
        stores = host.stores()
        description = outermost.description()
        graph = outermost.level(data.path)
        records = await mirror.write(stores, description, data.records) if data.records else None
        snapshot = data.snapshot or data.records[-1].snapshot
        reader = Reader(graph.codec, stores.values)
        entries = await mirror.entries_of(stores, snapshot, path_text(data.path))
        state = SharedState({key: await reader.raw(value) for key, value in entries.state.items()}, graph.codec)
        await _restore(graph, data.executor_id, entries, reader)
        given = await _input(graph, data, reader)
        writer = Writer(
            graph.codec,
            stores.values,
            inline_budget=data.inline_budget,
            for_people=not data.path,
            asked=None if data.path else asking,  # what a sub-workflow asks, the executor around it asks anew
        )
        try:
            with idempotent_under(f"{activity.info().workflow_id}/{data.key}/{data.executor_id}"):
                async with live.context(data, graph.codec, stores.values) as context:
                    await _execute(graph, given, data, state, context, reader)
        except Called as called:
            call = await call_of(called, graph.children[data.executor_id], writer)
            return wire.DeliveryResult(call=call, records=records, at=now())
        result = await _result(graph, data, context, state, writer, asking)
        own: wire.CommitOutcome | None = None
        if data.own is not None and (records is None or records.base is not None):
            record = _own_record(data, snapshot, result)
            own = await mirror.write(stores, description, [record], mirror.own_rank())
        return wire.replace(result, records=records, own=own, attempt=live.attempt(data))


async def _restore(graph: BuiltGraph, executor_id: str, entries: wire.SnapshotEntries, reader: Reader) -> None:
    executor = graph.executor(executor_id)
    if executor_id in entries.executors:
        await executor.on_checkpoint_restore(await reader.value(entries.executors[executor_id]))
    if executor_id in entries.attributes:  # after the hooks: they may be of later, when saving failed
        graph.attributes[executor_id].restore(await reader.raw(entries.attributes[executor_id]))


async def _input(graph: BuiltGraph, data: wire.DeliveryInput, reader: Reader) -> _Input:
    if data.cancelled:
        return _Input(data.executor_id, data.source_ids, None)
    messages = [await reader.message(message) for message in data.messages]
    if data.fan_in is None:
        given = _Input(data.executor_id, data.source_ids, messages[0])
    else:
        batch = await graph.router.aggregate(data.fan_in, messages)
        given = _Input(batch.executor_id, batch.source_ids, batch.message)
    executor = graph.executor(given.executor_id)
    if given.message is not None and not executor.can_handle(given.message):
        raise ApplicationError(
            f"Executor {executor.id!r} has no handler for {type(given.message.data).__name__}, which was routed to it "
            f"when the message was sent. It handles {', '.join(map(str, executor.input_types))}.",
            type=TYPE_MISMATCH,
            non_retryable=True,
        )
    return given


async def _execute(
    graph: BuiltGraph,
    given: _Input,
    data: wire.DeliveryInput,
    state: SharedState,
    context: InProcRunnerContext,
    reader: Reader,
) -> None:
    executor = graph.executor(given.executor_id)
    context.set_yield_output_classifier(lambda executor_id: _classify(graph.workflow, executor_id))
    async with AsyncExitStack() as stack:
        if data.nested is not None:
            await stack.enter_async_context(calls_recorded(graph.children[executor.id], data.nested, reader))
        for request_id in data.cancelled:
            await tell_of_cancelled_request(executor, request_id, state, context)
        if given.message is not None:
            await executor.execute(
                given.message,
                given.source_ids,
                state,
                context,
                trace_contexts=given.message.trace_contexts,
                source_span_ids=given.message.source_span_ids,
            )
    check_wanted()  # before anything of it reaches the store


def _classify(workflow: Workflow, executor_id: str) -> Any:
    if workflow.is_terminal_executor(executor_id):
        return "output"
    return "intermediate" if workflow.is_intermediate_executor(executor_id) else None


async def _result(
    graph: BuiltGraph,
    data: wire.DeliveryInput,
    context: InProcRunnerContext,
    state: SharedState,
    writer: Writer,
    asking: Asking,
) -> wire.DeliveryResult:
    table = ResultTable(graph.codec)
    sent = [message for messages in (await context.drain_messages()).values() for message in messages]
    messages = [await _sent(graph, table, position, message) for position, message in enumerate(sent)]
    drained: list[WorkflowEvent[Any]] = await context.drain_events()
    drained += [] if data.path else asking.doubts(drained)
    saved, attributes = await _state_of(graph, data.executor_id, drained)
    events = await result_events(drained, table, writer, strips=context.is_streaming())
    encoded_state = state.written()
    written: dict[str, int | None] = {key: table.add(encoded) for key, encoded in encoded_state.items()}
    written.update(dict.fromkeys(state.deleted()))
    patches = state.patches(encoded_state) if data.beside_others else {}
    executor_state = None if saved is None else table.index(saved, "on_checkpoint_save()")
    return wire.DeliveryResult(
        messages=messages,
        events=events,
        state=written,
        patches={key: None if patch is None else table.add(patch) for key, patch in patches.items()},
        executor_state=executor_state,
        attributes=None if attributes is None else table.add(attributes),
        at=now(),
        values=[await _value(table, place, writer) for place in range(len(table.encoded))],
    )


async def _value(table: ResultTable, place: int, writer: Writer) -> wire.Value:
    encoded = table.encoded[place]
    if place in table.many:
        return wire.replace(await writer.raw(encoded), many=table.many[place])
    times = (table.uses[place] + 1) // 2  # most are used twice: a message is in `executor_completed`, an output too
    return await (writer.readable(encoded, times) if place in table.outputs else writer.raw(encoded, times))


async def _sent(graph: BuiltGraph, table: ResultTable, position: int, message: WorkflowMessage) -> wire.SentMessage:
    return wire.SentMessage(
        data=table.index(message.data, f"message[{position}]"),
        target_id=message.target_id,
        trace_contexts=message.trace_contexts,
        source_span_ids=message.source_span_ids,
        routes=await graph.router.route(message),
    )


async def _state_of(
    graph: BuiltGraph, executor_id: str, events: list[WorkflowEvent[Any]]
) -> tuple[dict[str, Any] | None, Any]:
    """Return what an executor's hook saves, and what of its attributes travels; the latter alone if the hook fails."""
    attributes = graph.attributes[executor_id]
    try:
        saved = await _saved(graph, executor_id)
    except Exception as error:
        in_stead = attributes.in_stead_of_hooks()
        text = (
            f"on_checkpoint_save() of executor {executor_id!r} raised {type(error).__name__}: {error}. Its attributes "
            "travel with the run instead; a checkpoint that is opened in-process lacks its state."
        )
        events.append(WorkflowEvent.warning(text))
        logger.warning("%s", text, exc_info=error)
        return None, in_stead
    return saved, attributes.changes()


async def _saved(graph: BuiltGraph, executor_id: str) -> dict[str, Any] | None:
    executor = graph.executor(executor_id)
    if executor_id in graph.children:
        return await own_state(graph, executor_id)
    return await executor.on_checkpoint_save() if overrides_hooks(executor) else None


def _own_record(
    data: wire.DeliveryInput, snapshot: wire.Snapshot, result: wire.DeliveryResult
) -> wire.CheckpointRecord:
    """Return the checkpoint that the delivery's outcome makes, just as the engine will record it."""
    assert data.own is not None
    before = snapshot.changes
    changed = changes_of(data.executor_id, result)
    asked = {event.request.request_id: event.request for event in result.events if event.request is not None}
    changes = wire.Changes(
        state={**before.state, **changed.state},
        executors={**before.executors, **changed.executors},
        attributes={**before.attributes, **changed.attributes},
        buffers=before.buffers,
        requests={**before.requests, **asked},
        children=before.children,
    )
    messages = [routed.message for routed in messages_of(data.executor_id, result)]
    return wire.CheckpointRecord(
        header=data.own, snapshot=wire.Snapshot(base=snapshot.base, changes=changes), messages=messages
    )
