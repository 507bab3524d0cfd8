"""Writing checkpoints to the blob store from an activity. Trouble is an outcome here, never an exception."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from temporalio import activity

from temporal_adapter import wire
from temporal_adapter.store import RECORDED_RANK, CheckpointStore, StoreError, attempt_rank

logger = logging.getLogger(__name__)


def own_rank() -> str:
    """Return the rank of what this attempt makes: a later attempt's outranks it, recorded history's all of them."""
    info = activity.info()
    return attempt_rank(info.started_time, info.attempt)


async def write(
    store: CheckpointStore, graph: wire.Graph, records: Sequence[wire.CheckpointRecord], rank: str = RECORDED_RANK
) -> wire.CommitOutcome:
    """Write checkpoints, parents first; stop at the first that cannot be written."""
    workflow_id = activity.info().workflow_id or ""
    base: wire.Base | None = None
    for record in records:
        try:
            base = await store.commit(record, graph=graph, workflow_id=workflow_id, rank=rank)
        except StoreError as error:
            logger.warning("Checkpoint %s is not yet in the blob store: %s", record.header.checkpoint_id, error)
            return wire.CommitOutcome(error=str(error))
    return wire.CommitOutcome(base=base)
