"""What a run tells: queries, which cost no history. In plain JSON for anybody, and with types kept for MAF clients."""

from __future__ import annotations

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
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.engine import Phase
    from temporal_adapter.execution import Execution


class Queries(Execution):
    """A run that can be asked."""

    @workflow.query(name="status", description="State, superstep, and the head of the checkpoint lineage.")
    def _status(self) -> Any:
        return ordered_json(wire.dump(self._engine.status()))

    @workflow.query(name="pending_requests", description="Requests that wait for a response, in plain JSON.")
    def _pending_requests(self, offset: int = 0) -> Any:
        page = page_of_requests(self._engine.pending_requests(), offset)
        reminders = self._engine.reminders
        return ordered_json([wire.dump(readable_request(one, reminders(one.request_id))) for one in page])

    @workflow.query(name="requests", description="Requests that wait for a response, with their types kept.")
    def _requests(self, offset: int = 0) -> Any:
        return ordered_json(
            [wire.dump(request) for request in page_of_requests(self._engine.pending_requests(), offset)]
        )

    @workflow.query(name="responses", description="Who answered or cancelled what, when; and what was refused.")
    def _responses(self, offset: int = 0) -> Any:
        return ordered_json(
            [wire.dump(readable_responded(record)) for record in page_of_records(self._engine.answered, offset)]
        )

    @workflow.query(name="recorded_responses", description="The same as `responses`, with types kept.")
    def _recorded_responses(self, offset: int = 0) -> Any:
        return ordered_json([wire.dump(record) for record in page_of_records(self._engine.answered, offset)])

    @workflow.query(name="outputs", description="The outputs so far, in plain JSON.")
    def _outputs(self, offset: int = 0) -> Any:
        return ordered_json(page_of_outputs(self._engine.journal.outputs, offset))

    @workflow.query(name="graph", description="The graph, with where the run stands in it.")
    def _graph(self) -> Any:
        return ordered_json(wire.dump(self._engine.progress()))

    @workflow.query(name="checkpoints", description="The checkpoint lineage, oldest first.")
    def _checkpoints(self, offset: int = 0) -> Any:
        return ordered_json([wire.dump(header) for header in page_of_headers(self._engine.lineage.headers, offset)])

    @workflow.query(name="events", description="Events from an offset on, in pages.")
    def _events(self, offset: int = 0) -> Any:
        page = self._engine.journal.page(offset, ended=self._engine.phase is Phase.ENDED)
        return ordered_json(wire.dump(page))

    @workflow.query(name="turn", description="Where the turn of an update `run` stands in the events, by its id.")
    def _turn_query(self, update_id: str = "") -> Any:
        progress = self._turn_progress.get(update_id)
        return None if progress is None else ordered_json(wire.dump(progress))
