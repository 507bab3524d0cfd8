"""What a run tells: queries, which cost no history. In plain JSON for anybody, and with types kept for MAF clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.answers import (
        page_of_headers,
        page_of_outputs,
        page_of_records,
        page_of_requests,
        readable_request,
        readable_responded,
    )
    from temporal_adapter.continuation import Continuation
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.engine import Engine, Phase
    from temporal_adapter.wire.names import NOT_TAKEN_UP


class Queries(Continuation):
    """A run that can be asked."""

    @property
    def _known(self) -> Engine:
        """What is known of the run: of a new Temporal run of it, once that has read what it carries."""
        if not self._taken_up:
            raise RuntimeError(
                f"{NOT_TAKEN_UP}: the run goes on as a new Temporal run just now. Ask again in a moment."
            )
        return self._engine

    @workflow.query(name="status", description="State, superstep, and the head of the checkpoint lineage.")
    def _status(self) -> Any:
        return ordered_json(wire.dump(self._known.status()))

    @workflow.query(name="pending_requests", description="Requests that wait for a response, in plain JSON.")
    def _pending_requests(self, offset: int = 0) -> Any:
        page = page_of_requests(self._known.pending_requests(), offset)
        reminders = self._known.reminders
        return ordered_json([wire.dump(readable_request(one, reminders(one.request_id))) for one in page])

    @workflow.query(name="requests", description="Requests that wait for a response, with their types kept.")
    def _requests(self, offset: int = 0) -> Any:
        return ordered_json(
            [wire.dump(request) for request in page_of_requests(self._known.pending_requests(), offset)]
        )

    @workflow.query(name="responses", description="Who answered or cancelled what, when; and what was refused.")
    def _responses(self, offset: int = 0) -> Any:
        return self._page("responses", offset, lambda items, first: map(_readable, page_of_records(items, first)))

    @workflow.query(name="recorded_responses", description="The same as `responses`, with types kept.")
    def _recorded_responses(self, offset: int = 0) -> Any:
        return self._page("responses", offset, lambda items, first: map(wire.dump, page_of_records(items, first)))

    @workflow.query(name="outputs", description="The outputs so far, in plain JSON.")
    def _outputs(self, offset: int = 0) -> Any:
        return self._page("outputs", offset, page_of_outputs)

    def _page(self, name: str, offset: int, page: Callable[[list[Any], int], Iterable[Any]]) -> Any:
        """Return a page of a list that grows with the run, or where in the blob store it is."""
        log, offset = self._known.logs[name], max(offset, 0)
        archived = log.archived(offset)
        if archived is not None:
            return ordered_json([{"archived": wire.dump(archived)}])
        return ordered_json(list(page(log.items, offset - log.first)))

    @workflow.query(name="graph", description="The graph, with where the run stands in it.")
    def _graph(self) -> Any:
        return ordered_json(wire.dump(self._known.progress()))

    @workflow.query(name="checkpoints", description="The checkpoint lineage, oldest first.")
    def _checkpoints(self, offset: int = 0) -> Any:
        return self._page("checkpoints", offset, lambda items, first: map(wire.dump, page_of_headers(items, first)))

    @workflow.query(name="events", description="Events from an offset on, in pages.")
    def _events(self, offset: int = 0) -> Any:
        page = self._known.journal.page(offset, ended=self._known.phase is Phase.ENDED)
        return ordered_json(wire.dump(page))

    @workflow.query(name="turn", description="Where the turn of an update `run` stands in the events, by its id.")
    def _turn_query(self, update_id: str = "") -> Any:
        progress = self._turn_progress.get(update_id)
        return None if progress is None else ordered_json(wire.dump(progress))


def _readable(record: wire.Responded) -> Any:
    return wire.dump(readable_responded(record))
