"""Whether a checkpoint fits a graph: its executors are there and take their states, and what is in flight arrives.

Only looking. Nothing of a checkpoint that does not fit is left out here to make it fit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from temporal_adapter import wire
from temporal_adapter.loading import described
from temporal_adapter.payload import Reader
from temporal_adapter.pool import BuiltGraph, UnknownExecutor
from temporal_adapter.values import DecodeError
from temporal_adapter.wire.names import path_of, path_text

from .restore import routed


async def check_fits(graph: BuiltGraph, record: wire.CheckpointRecord, reader: Reader) -> list[str]:
    """Return what of a checkpoint does not fit a graph: parts of a sentence, none if it fits.

    Args:
        graph: Its executors are restored for a try: put it back, or drop it.
        record: The checkpoint, without a base.
        reader: Reads its values.

    Raises:
        StoreError: A value cannot be read.
    """
    changes = record.snapshot.changes
    problems: list[str] = []
    for path, level in {"": changes, **changes.children}.items():
        try:
            at = graph.level(path_of(path))
        except UnknownExecutor:
            problems.append(f"it has state of a sub-workflow {path!r}, which the graph has not")
            continue
        problems += _unknown(at, level)
        problems += [one async for one in _not_restored(at, level, reader)]
    return [*problems, *[one async for one in _lost(graph, record.messages, reader)]]


def _unknown(graph: BuiltGraph, level: wire.Changes) -> Iterator[str]:
    executors = graph.workflow.executors
    for executor_id in dict.fromkeys([*level.executors, *level.attributes]):
        if executor_id not in executors:
            yield f"it has state of executor {_name(graph, executor_id)}, which the graph has not"
    for key, one in level.requests.items():
        executor_id = "" if one is None else one.source_executor_id
        if executor_id not in executors:
            yield f"request {key!r} was made by executor {_name(graph, executor_id)}, which the graph has not"
        elif not executors[executor_id].is_request_response_capable and executor_id not in graph.children:
            yield f"request {key!r} was made by executor {_name(graph, executor_id)}, which has no response handler"
    for key, buffered in level.buffers.items():
        fan_in = graph.router.fan_ins.get(key)
        if fan_in is None:
            yield f"it has messages that wait in the fan-in {key}, which the graph has not"
            continue
        for source in dict.fromkeys(one.source_id for one in buffered or []):
            if source not in fan_in.sources:
                yield f"it has messages of {source!r} that wait in the fan-in {key}, which is none of its sources"


async def _not_restored(graph: BuiltGraph, level: wire.Changes, reader: Reader) -> AsyncIterator[str]:
    """Yield what executors make of their states, as the activities restore them."""
    executors = graph.workflow.executors
    for executor_id, executor in executors.items():
        what = f"the state of executor {_name(graph, executor_id)}"
        state, attributes = level.executors.get(executor_id), level.attributes.get(executor_id)
        try:
            if state is not None:
                await executor.on_checkpoint_restore(await reader.value(state))
            if attributes is not None:
                graph.attributes[executor_id].restore(await reader.raw(attributes))
        except DecodeError as error:
            yield f"{what} cannot be rebuilt: {error}"
        except Exception as error:  # whatever a user's hook raises
            yield f"{what} is not taken by its on_checkpoint_restore: {described(error)}"


async def _lost(graph: BuiltGraph, messages: list[wire.Message], reader: Reader) -> AsyncIterator[str]:
    """Yield the messages in flight that reach nobody."""
    for message in messages:
        (one,) = await routed(graph, reader, [message])
        kind = type(await reader.value(message.data)).__name__
        to = "" if message.target_id is None else f" to {message.target_id!r}"
        what = f"a message ({kind}) of {message.source_id!r}{to} that is in flight"
        errors = [route.error for route in one.routes if route.error is not None]
        if errors:
            yield f"{what} cannot be routed: {errors[0].error_type}: {errors[0].message}"
        elif not one.routes:
            yield f"{what} reaches no executor; take it out of checkpoint.messages if it is not to"


def _name(graph: BuiltGraph, executor_id: str) -> str:
    return repr(path_text((*graph.path, executor_id)))
