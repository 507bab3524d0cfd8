"""Where a run stands, all at once: what `watch` shows. How it is drawn is `picture`'s affair."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, cast

import msgspec

from temporal_adapter import wire

from .archive import Archive
from .found import Found, asked, query, refreshed


@dataclass(frozen=True)
class Snapshot:
    """A run at a moment.

    Attributes:
        one: The run, as Temporal knows it.
        status: As its workers know it; None where none answers.
        graph: Likewise. A run that was never seeded has none.
        requests: That wait for a response.
        outputs: So far, in plain JSON.
        unanswered: Why its workers say nothing.
    """

    one: Found
    status: wire.RunStatus | None = None
    graph: wire.GraphProgress | None = None
    requests: list[wire.PendingRequest] = field(default_factory=list[wire.PendingRequest])
    outputs: list[Any] = field(default_factory=list[Any])
    unanswered: str | None = None

    @property
    def state(self) -> str:
        """MAF's state; Temporal's, if the run did not end by itself or nobody tells."""
        ended_otherwise = not self.one.is_open and self.one.status != "COMPLETED"
        return self.one.status if self.status is None or ended_otherwise else self.status.state

    @property
    def elapsed(self) -> timedelta:
        """How long it has run, until now or until it ended."""
        about = self.one.description
        return (about.close_time or datetime.now(timezone.utc)) - self.one.started_at

    def json(self) -> dict[str, Any]:
        """Return it as JSON."""
        about = self.one.description
        return {
            "workflow_id": about.id,
            "run_id": about.run_id,
            "workflow_name": about.workflow_type,
            "task_queue": about.task_queue,
            "status": self.one.status,
            "started_at": self.one.started_at.isoformat(),
            "closed_at": None if about.close_time is None else about.close_time.isoformat(),
            "elapsed": self.elapsed.total_seconds(),
            "state": None if self.status is None else self.status.state,
            "iteration": None if self.status is None else self.status.iteration,
            "checkpoint_id": None if self.status is None else self.status.checkpoint_id,
            "failed_executors": [] if self.status is None else msgspec.to_builtins(self.status.failed_executors),
            "graph": None if self.graph is None else msgspec.to_builtins(self.graph),
            "pending_requests": [msgspec.structs.asdict(request) for request in self.requests],
            "outputs": self.outputs,
            "unanswered": self.unanswered,
        }


async def snapshot(one: Found, archive: Archive, before: Snapshot | None = None) -> Snapshot:
    """Return where a run stands now.

    Args:
        one: The run.
        archive: Has what earlier Temporal runs of it left in the checkpoint store.
        before: Where it stood, whose outputs need not be asked for again.
    """
    one = await refreshed(one)
    async with asked(one):
        status = wire.load(wire.RunStatus, await query(one, "status"))
        graph = wire.load(wire.GraphProgress, await query(one, "graph"))
        requests = await one.run.open_requests() if status.pending_requests and one.is_open else []
        outputs = [] if before is None else list(before.outputs)
        while page := await query(one, "outputs", len(outputs)):
            pointer = _archived(page[0])
            outputs += page if pointer is None else (await archive.outputs(pointer))[len(outputs) - pointer.first :]
    return Snapshot(one, status, graph, requests, outputs)


def _archived(item: Any) -> wire.ArchivedPage | None:
    """Return the page in the store that an answer points to in place of outputs. An output may be any JSON."""
    if not isinstance(item, dict) or list(cast("dict[str, Any]", item)) != ["archived"]:
        return None
    try:
        return wire.load(wire.ArchivedPage, item["archived"])
    except wire.WireError:
        return None
