"""What a session on Temporal has now, as any process may see it: its state, its head, and the requests that wait."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agent_framework import WorkflowEvent, WorkflowRunState
from temporalio.client import WorkflowQueryRejectedError
from temporalio.common import QueryRejectCondition

from temporal_adapter import wire
from temporal_adapter.client import DurableRun, NoWorker, RunNotFound
from temporal_adapter.client.pages import all_items
from temporal_adapter.client.reading import EventReader
from temporal_adapter.client.taken_up import once_taken_up

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.05  # between looks whether a session that goes on as a new Temporal run has what it carries

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class Seen:
    """A session at some moment. One that is not open is as one that has had no input."""

    state: WorkflowRunState = WorkflowRunState.IDLE
    checkpoint_id: str | None = None
    events: int = 0
    requests: dict[str, WorkflowEvent[Any]] = field(default_factory=dict[str, WorkflowEvent[Any]])


class SessionView:
    """Looks at a session.

    A request is the same object each time it is seen, as in MAF: code puts marks on it.
    """

    def __init__(self, run: DurableRun, reader: EventReader) -> None:
        self._run = run
        self._reader = reader
        self._known: dict[str, tuple[wire.Request, WorkflowEvent[Any]]] = {}

    async def look(self) -> Seen:
        """Return what there is. While no worker serves the task queue it waits, and logs a warning."""
        return await _patiently(self._look, Seen())

    async def checkpoint_ids(self) -> set[str]:
        """Return the ids of the checkpoints so far; likewise."""
        return await _patiently(self._checkpoint_ids, set[str]())

    async def _look(self) -> Seen:
        status = wire.load(wire.RunStatus, await self._query("status"))
        requests = await all_items(self._query, "requests", wire.Request, self._reader)
        self._known = {one.request_id: (one, await self._event(one)) for one in requests}
        state = WorkflowRunState(status.state)
        return Seen(
            state=WorkflowRunState.IDLE if state is WorkflowRunState.STARTED else state,
            checkpoint_id=status.checkpoint_id,
            events=status.events,
            requests={request_id: event for request_id, (_, event) in self._known.items()},
        )

    async def _checkpoint_ids(self) -> set[str]:
        headers = await all_items(self._query, "checkpoints", wire.CheckpointHeader, self._reader)
        return {one.checkpoint_id for one in headers}

    async def _event(self, request: wire.Request) -> WorkflowEvent[Any]:
        known = self._known.get(request.request_id)
        return known[1] if known is not None and known[0] == request else await self._reader.request(request)

    async def _query(self, name: str, *args: Any) -> Any:
        async def ask() -> Any:
            query = self._run.handle.query(name, args=args, reject_condition=QueryRejectCondition.NOT_OPEN)
            with self._run.explained():
                return await self._run.unless_stuck(query)

        return await once_taken_up(ask, _LOOK_SECONDS)


async def _patiently(ask: Callable[[], Awaitable[AnswerT]], without: AnswerT) -> AnswerT:
    """Return what a session that is open answers, once there is a worker; or the other, if it is not open."""
    while True:
        try:
            return await ask()
        except (RunNotFound, WorkflowQueryRejectedError):
            return without
        except NoWorker as error:
            logger.warning("%s", error)
