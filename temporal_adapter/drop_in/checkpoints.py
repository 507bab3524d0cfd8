"""The checkpoints of a session, for code that wants them in a storage of its own, or brings some along.

The workers write them to their checkpoint store; here they are only copied.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from agent_framework import CheckpointStorage, WorkflowCheckpoint

from temporal_adapter.checkpoints import BlobCheckpointStorage
from temporal_adapter.client import DurableRun

logger = logging.getLogger(__name__)

_PATIENCE, _LOOK_SECONDS = 30.0, 0.05  # for the workers' store to have all checkpoints, and between looks


class SessionCheckpoints(BlobCheckpointStorage):
    """The workers' checkpoint store, for one session.

    What a run on Temporal wrote is not written again: of a checkpoint that is saved anew with other metadata (AG-UI
    notes whose it is) the metadata is kept in memory, for this object only.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._notes: dict[str, dict[str, Any]] = {}

    async def has(self, checkpoint_id: str) -> bool:
        """Whether there is a checkpoint of this id.

        Raises:
            WorkflowCheckpointException: The store cannot be read.
        """
        return await self._found(checkpoint_id) is not None

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Save a checkpoint that the workers' store does not have; note the metadata of one that it has."""
        if not await self.has(checkpoint.checkpoint_id):
            return await super().save(checkpoint)
        self._notes[checkpoint.checkpoint_id] = dict(checkpoint.metadata)
        return checkpoint.checkpoint_id

    async def delete(self, checkpoint_id: str) -> bool:
        """See base class."""
        self._notes.pop(checkpoint_id, None)
        return await super().delete(checkpoint_id)

    async def _found(self, checkpoint_id: str) -> WorkflowCheckpoint | None:
        found = await super()._found(checkpoint_id)
        if found is not None:
            found.metadata = {**found.metadata, **self._notes.get(checkpoint_id, {})}
        return found


class Copies:
    """Copies the checkpoints that a session makes from now on. Trouble is logged, as in MAF, and fails no run.

    Args:
        run: The session's run.
        known: Checkpoints that are not copied.
        source: The workers' store.
        target: Whither.
    """

    def __init__(self, run: DurableRun, known: set[str], source: SessionCheckpoints, target: CheckpointStorage) -> None:
        self._run = run
        self._known = known
        self._source = source
        self._target = target

    async def take(self) -> None:
        """Copy what is new, once the workers' store has it."""
        try:
            await _mirrored(self._run)
            for info in await self._run.checkpoints():
                if info.checkpoint_id not in self._known:
                    await self._target.save(await self._source.load(info.checkpoint_id))
                    self._known.add(info.checkpoint_id)
        except Exception as error:
            logger.warning("Checkpoints of session %r are not copied: %r", self._run.id, error)


async def _mirrored(run: DurableRun) -> None:
    """Wait until the workers' store has all checkpoints.

    Raises:
        TimeoutError: It has not got them in time.
    """

    async def look() -> None:
        while (await run.status()).unmirrored_checkpoints:  # noqa: ASYNC110 - it cannot be awaited, only looked at
            await asyncio.sleep(_LOOK_SECONDS)

    await asyncio.wait_for(look(), _PATIENCE)
