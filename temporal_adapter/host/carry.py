"""A run goes on as another Temporal run: what it leaves in the blob store, and how the next link begins.

What is carried over, and when, is the engine's to say (`engine.leaving`).
"""

from __future__ import annotations

import json
from typing import Any, cast

from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.store import StoreError
from temporal_adapter.wire.names import STORE_UNAVAILABLE

from .context import Host, Stores, now
from .migrate import migrated
from .seed import run_entry


async def keep(host: Host, data: wire.KeepInput) -> wire.KeepResult:
    """Write JSON to the blob store; return where it is.

    Raises:
        ApplicationError: The store cannot be written; Temporal may try again.
    """
    values = host.stores().values
    try:
        kept = [wire.Value(ref=await values.put(item), size=len(wire.to_bytes(item))) for item in data.items]
    except StoreError as error:
        raise ApplicationError(wire.encodable(str(error)), type=STORE_UNAVAILABLE) from error
    return wire.KeepResult(values=kept, at=now())


async def whole(host: Host, data: Any) -> Any:
    """Return what an activity was given; of what is in the blob store (`wire.InParts`), that.

    Raises:
        StoreError: The store cannot be read, or has it no more.
    """
    if not isinstance(data, dict) or "in_parts" not in data:
        return cast("Any", data)
    values = host.stores().values
    parts = [await values.resolve(part) for part in wire.load(wire.InParts, data).in_parts]
    return json.loads("".join(parts))


async def fetch(host: Host, data: wire.FetchInput) -> wire.FetchResult:
    """Read what `keep` wrote.

    Raises:
        StoreError: The store cannot be read, or has it no more.
    """
    return wire.FetchResult(item=await host.stores().values.resolve(data.value), at=now())


async def carry_on(host: Host, data: wire.CarryOnInput) -> wire.CarryOnResult:
    """Begin a link: the store learns of it, and a run whose workers have another graph now is migrated to that.

    Raises:
        StoreError: The store cannot be read or written.
        ApplicationError: The checkpoint cannot be migrated, and the run waits.
    """
    stores = host.stores()
    await _enter(host, stores, data)
    result = wire.CarryOnResult(continues=host.continues_after, moves=host.moves, at=now())
    if not data.migrates or data.header is None or data.checkpoint_id is None:
        return result
    async with host.pool.borrow() as graph:
        if graph.workflow.graph_signature_hash == data.graph:  # a rollback, or a worker of the release before
            return result
        restored, commit = await migrated(host, graph, stores, data.checkpoint_id, data.header, data.clock)
        description = graph.description()
    return wire.replace(result, graph=description, restored=restored, commit=commit, at=now())


async def _enter(host: Host, stores: Stores, data: wire.CarryOnInput) -> None:
    """Have the store know the link, and that the one before goes on in it."""
    entry = wire.replace(
        run_entry(host, data.options),
        on_failure="wait" if data.waits_for_operator else "fail",
        continued=wire.Continued(run_id=data.continued, checkpoint_id=data.checkpoint_id),
    )
    if await stores.checkpoints.run(host.name, entry.workflow_id, entry.run_id) is None:
        await stores.checkpoints.put_run(entry)
    before = await stores.checkpoints.run(host.name, entry.workflow_id, data.continued)
    if before is not None and (before.ended is None or before.ended.state == "reset"):
        ended = wire.Ended(state="continued", checkpoint_id=data.checkpoint_id, at=now())
        await stores.checkpoints.put_run(wire.replace(before, ended=ended))
