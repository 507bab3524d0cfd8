"""The engine: takes a fact, changes state, answers with decisions. See the package for the theory of operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from temporal_adapter import wire
from temporal_adapter.wire.tags import plain

from .decisions import Commit, Decision, Deliver, Fail, Fate, Finish, Judge
from .facts import (
    Committed,
    DeliveryFailed,
    DeliveryFinished,
    Fact,
    ResponsesJudged,
    ResponsesReceived,
    Seeded,
)
from .inbox import Inbox
from .journal import Journal, weight
from .lineage import Lineage
from .snapshot import Section, SnapshotTracker
from .superstep import Superstep, changes_of, events_of, invoked, messages_of, route, routing_error

SUPERSTEP_INLINE_BUDGET = 512 * 1024
DELIVERY_INLINE_BUDGET = 128 * 1024
"""Bytes of values that the results of one superstep, and of one delivery, may hold inline: a fan-in of them all must
fit one payload (Temporal's limit is 2 MiB), twice, since a checkpoint of them may ride along."""

RESULT_EVENTS_LIMIT = 512 * 1024
"""Bytes of events up to which a run's result carries them; beyond, they are read by the query `events`."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A new id and the present time (ISO 8601, UTC), from the owner's deterministic sources."""

    id: str
    timestamp: str


class Phase(Enum):
    """Where a run stands."""

    SEEDING = "seeding"
    RUNNING = "running"
    PAUSED = "paused"
    ENDING = "ending"
    ENDED = "ended"


class Engine:
    """One run of one MAF workflow."""

    def __init__(self, mint: Callable[[], Stamp]) -> None:
        self._mint = mint
        self._decisions: list[Decision] = []
        self.phase = Phase.SEEDING
        self.journal = Journal()
        self.lineage = Lineage()
        self._inbox = Inbox()
        self._snapshot = SnapshotTracker()
        self._iteration = 0
        self._messages: list[wire.RoutedMessage] = []  # in flight
        self._buffers: dict[str, list[wire.Message]] = {}  # of fan-ins
        self._requests: dict[str, wire.Request] = {}  # pending, or answered in this superstep
        self._superstep: Superstep | None = None
        self._first_index = 0  # of the deliveries of the superstep under way
        self._carrier: int | None = None  # the delivery that writes records
        self._own: wire.CheckpointHeader | None = None  # the checkpoint that an activity makes of its own outcome
        self._accepted: list[wire.RoutedMessage] = []  # responses that wait for the superstep to end
        self._response_stamp: Stamp | None = None  # of the response-entry checkpoint for them
        self._conclusion: Finish | Fail | None = None

    # --- what the owner calls -------------------------------------------------------------------------------

    def start(self, message: Any, options: wire.StartOptions) -> wire.SeedInput:
        """Begin the run; the answer to the returned input is `Seeded`, or `abort`."""
        self.journal.begin()
        self._own = self._header("entry")
        return wire.SeedInput(message=message, options=options, header=self._own)

    def abort(self, failure: wire.Failure) -> None:
        """The run could not be seeded."""
        self.journal.fail(failure.details)
        self.phase = Phase.ENDED
        self._inbox.refuse_all("the run failed.")

    def cancel(self) -> None:
        """The run was cancelled from outside."""
        self.journal.status("CANCELLED")
        self.phase = Phase.ENDED

    def receive(self, fact: Fact) -> list[Decision]:
        """Take a fact, return the decisions that follow from it."""
        match fact:
            case Seeded(result):
                self._on_seeded(result)
            case DeliveryFinished(index, result):
                self._on_delivery_finished(index, result)
            case DeliveryFailed(index, failure):
                self._on_delivery_failed(index, failure)
            case ResponsesReceived(ticket, responses):
                self._inbox.add(ticket, responses)
            case ResponsesJudged(result):
                self._on_responses_judged(result)
            case Committed(outcome):
                self._settle(outcome)
                self._mirror_if_at_rest()
        self._judge()
        decisions, self._decisions = [*self._inbox.take_answers(), *self._decisions], []
        return decisions

    def pending_requests(self) -> list[wire.Request]:
        """Return the requests that wait for a response, in order of first sight."""
        return [request for key, request in self._requests.items() if not self._inbox.is_answered(key)]

    def status(self) -> wire.RunStatus:
        """Return the run's status."""
        return wire.RunStatus(
            state=self.journal.state,
            iteration=self._iteration,
            pending_requests=len(self.pending_requests()),
            checkpoint_id=self.lineage.head,
            events=len(self.journal.events),
            unmirrored_checkpoints=self.lineage.unmirrored,
            mirror_error=self.lineage.mirror_error,
        )

    # --- facts ----------------------------------------------------------------------------------------------

    def _on_seeded(self, result: wire.SeedResult) -> None:
        self._graph = result.graph
        for key, value in result.state.items():
            self._put("state", key, value)
        for key, value in result.executors.items():
            self._put("executors", key, value)
        self._messages = [result.message]
        self.phase = Phase.RUNNING
        self._record(self._take_own() or self._header("entry"), result.commit)
        self._begin_superstep()

    def _on_delivery_finished(self, index: int, result: wire.DeliveryResult) -> None:
        superstep = self._superstep
        if superstep is None or self.phase is not Phase.RUNNING:
            return  # a sibling failed: this superstep leaves nothing
        position = index - self._first_index
        for event in events_of(superstep.deliveries[position], result):
            if event.request is not None:
                self._requests[event.request.request_id] = event.request
                self._put("requests", event.request.request_id, event.request)
            self.journal.emit(event)
        if index == self._carrier:
            self._carrier = None
            self._settle(result.records)
        following = superstep.finish(position, result)
        if following is not None:
            self._deliver(superstep, following)
        if superstep.finished:
            self._end_superstep(superstep)

    def _on_delivery_failed(self, index: int, failure: wire.Failure) -> None:
        if self._superstep is None or self.phase is not Phase.RUNNING:
            return
        delivery = self._superstep.deliveries[index - self._first_index]
        self.journal.emit(invoked(delivery))
        self.journal.emit(wire.Event(type="executor_failed", executor_id=delivery.executor_id, details=failure.details))
        self._fail(failure)

    def _on_responses_judged(self, result: wire.RespondResult) -> None:
        if self.phase not in (Phase.RUNNING, Phase.PAUSED):
            return  # refused already, when the run failed
        stamp = self._response_stamp = self._response_stamp or self._mint()
        judged, self._inbox.judging = self._inbox.judging, []
        for queued, judgement in zip(judged, result.judgements, strict=True):
            if judgement.message is not None:
                self._accepted.append(judgement.message)
                self._inbox.accept(queued, stamp.id)
            else:
                reason = judgement.refused or "refused"
                self.journal.warn(f"Response to request {queued.response.request_id!r} was refused: {reason}")
                self._inbox.settle(queued, Fate(queued.response.request_id, refused=reason))
        if self.phase is Phase.PAUSED and self._accepted:
            self.phase = Phase.RUNNING
            self.journal.begin()
            self._enter_responses(result.commit)
            self._begin_superstep()
        elif not self._accepted:
            self._response_stamp = None
            if self.phase is Phase.PAUSED:
                self._own = None

    # --- supersteps -----------------------------------------------------------------------------------------

    def _begin_superstep(self) -> None:
        if not self._messages:
            self._rest()
            return
        if self._iteration >= self._graph.max_iterations:
            message = f"Runner did not converge after {self._graph.max_iterations} iterations."
            self._fail_with("WorkflowConvergenceException", message)
            return
        self.journal.superstep("superstep_started", self._iteration + 1)
        error = routing_error(self._messages)
        if error is not None:
            self._fail(error)
            return
        routing = route(self._messages, self._buffers, self._graph.fan_ins)
        for key, buffered in routing.buffers.items():
            self._buffers[key] = buffered
            self._put("buffers", key, buffered or None)
        self._messages = []
        self._superstep = Superstep(routing.deliveries)
        for position in self._superstep.first():
            self._deliver(self._superstep, position)
        if self._superstep.finished:
            self._end_superstep(self._superstep)

    def _deliver(self, superstep: Superstep, position: int) -> None:
        delivery = superstep.deliveries[position]
        index = self._first_index + position
        records = self.lineage.carry()
        if records:
            self._carrier = index
        if len(superstep.deliveries) == 1 and len(records) == self.lineage.unmirrored:
            self._own = self._header("superstep", self._iteration + 1)
        snapshot = self._snapshot.snapshot(superstep.own_changes(delivery.executor_id))
        self._decisions.append(
            Deliver(
                index,
                wire.DeliveryInput(
                    graph=self._graph.signature,
                    executor_id=delivery.executor_id,
                    source_ids=delivery.source_ids,
                    messages=delivery.messages,
                    fan_in=delivery.fan_in,
                    iteration=self._iteration + 1,
                    inline_budget=min(DELIVERY_INLINE_BUDGET, SUPERSTEP_INLINE_BUDGET // len(superstep.deliveries)),
                    snapshot=None if records and records[-1].snapshot == snapshot else snapshot,
                    records=records,
                    own=self._own,
                ),
            )
        )

    def _end_superstep(self, superstep: Superstep) -> None:
        committed: wire.CommitOutcome | None = None
        for delivery, result in superstep.outcomes():
            changes = changes_of(delivery.executor_id, result)
            for section in _DELIVERED:
                for key, value in getattr(changes, section).items():
                    self._put(section, key, value)
            self._messages.extend(messages_of(delivery.executor_id, result))
            committed = result.own
        self._iteration += 1
        self._first_index += len(superstep.deliveries)
        self._superstep = None
        self._record(self._take_own() or self._header("superstep"), committed)
        self.journal.superstep("superstep_completed", self._iteration)
        if self._accepted:
            self._enter_responses(None)
        self._begin_superstep()

    def _rest(self) -> None:
        """No message is in flight: pause while requests are pending, end when none is."""
        if self._requests:
            self.phase = Phase.PAUSED
            self.journal.status("IDLE_WITH_PENDING_REQUESTS")
        else:
            self.phase = Phase.ENDING
            self._warn_of_unfilled_fan_ins()
            self.journal.status("IDLE")
            self._conclusion = Finish(self._result())
        self._mirror_if_at_rest()

    def _warn_of_unfilled_fan_ins(self) -> None:
        for key, buffered in self._buffers.items():
            if not buffered:
                continue
            fan_in = self._graph.fan_ins[key]
            present = {message.source_id for message in buffered}
            missing = [source for source in fan_in.sources if source not in present]
            self.journal.warn(
                f"Fan-in to executor {fan_in.target!r} never fired: {len(buffered)} message(s) are buffered, "
                f"and nothing came from {', '.join(map(repr, missing))}."
            )

    def _fail_with(self, error_type: str, message: str) -> None:
        details = wire.ErrorDetails(error_type=error_type, message=message)
        self._fail(wire.Failure(error_type=error_type, message=message, details=details))

    def _fail(self, failure: wire.Failure) -> None:
        self.journal.fail(failure.details)
        self.phase = Phase.ENDING
        self._own = None
        if self._carrier is not None:  # whether it wrote its records is not known, and writing them again is harmless
            self._carrier = None
            self._settle(None)
        self._inbox.refuse_all("the run failed.")
        self._conclusion = Fail(failure)
        self._mirror_if_at_rest()

    # --- responses ------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        if self.phase in (Phase.ENDING, Phase.ENDED):
            self._inbox.refuse_all("the run has ended.")
            return
        batch = self._inbox.next_batch(self._requests)
        if not batch:
            return
        at_rest = self.phase is Phase.PAUSED and not self.lineage.unmirrored
        if at_rest:
            self._response_stamp = self._mint()
            self._own = self._header("response", stamp=self._response_stamp)
        self._decisions.append(
            Judge(
                wire.RespondInput(
                    graph=self._graph.signature,
                    requests=[self._requests[queued.response.request_id] for queued in batch],
                    responses=[queued.response for queued in batch],
                    header=self._own if at_rest else None,
                    snapshot=self._snapshot.snapshot() if at_rest else None,
                )
            )
        )

    def _enter_responses(self, committed: wire.CommitOutcome | None) -> None:
        """Put the accepted responses in flight, in a checkpoint of their own."""
        for routed in self._accepted:
            if routed.message.request is not None:
                request_id = routed.message.request.request_id
                del self._requests[request_id]
                self._put("requests", request_id, None)
        self._messages.extend(self._accepted)
        header = self._take_own() or self._header("response", stamp=self._response_stamp)
        self._accepted, self._response_stamp = [], None
        self._record(header, committed)

    # --- checkpoints ----------------------------------------------------------------------------------------

    def _put(self, section: Section, key: str, value: Any) -> None:
        self._snapshot.put(section, key, value, self.lineage.next_ordinal)

    def _header(
        self, kind: wire.CheckpointKind, iteration: int | None = None, stamp: Stamp | None = None
    ) -> wire.CheckpointHeader:
        stamp = stamp or self._mint()
        return wire.CheckpointHeader(
            checkpoint_id=stamp.id,
            previous_checkpoint_id=self.lineage.head,
            iteration=self._iteration if iteration is None else iteration,
            timestamp=stamp.timestamp,
            kind=kind,
        )

    def _take_own(self) -> wire.CheckpointHeader | None:
        own, self._own = self._own, None
        return own

    def _record(self, header: wire.CheckpointHeader, committed: wire.CommitOutcome | None) -> None:
        """Append a checkpoint to the lineage; keep its record unless an activity has just written it."""
        ordinal = self.lineage.append(header)
        if committed is not None and committed.base is not None:
            self._snapshot.acknowledge(committed.base, ordinal)
            return
        messages = [routed.message for routed in self._messages]
        self.lineage.wait(
            ordinal, wire.CheckpointRecord(header=header, snapshot=self._snapshot.snapshot(), messages=messages)
        )
        if committed is not None:
            self._trouble(committed)

    def _settle(self, outcome: wire.CommitOutcome | None) -> None:
        """An activity that carried records has ended."""
        ordinal = self.lineage.settle(outcome)
        if ordinal is not None and outcome is not None and outcome.base is not None:
            self._snapshot.acknowledge(outcome.base, ordinal)
        elif outcome is not None:
            self._trouble(outcome)

    def _trouble(self, outcome: wire.CommitOutcome) -> None:
        """The blob store could not be written: say so once, and go on trying in a commit of its own."""
        self.lineage.mirror_error = outcome.error
        self.journal.warn(f"A checkpoint is recorded in history but not yet in the blob store: {outcome.error}")
        self._commit()

    def _mirror_if_at_rest(self) -> None:
        """Mirror what no delivery will carry; conclude once all is mirrored."""
        if self.phase is Phase.RUNNING:
            return
        self._commit()
        if self._conclusion is not None and not self.lineage.unmirrored:
            self.phase = Phase.ENDED
            self._decisions.append(self._conclusion)
            self._conclusion = None

    def _commit(self) -> None:
        records = self.lineage.carry()
        if records:
            self._decisions.append(Commit(wire.CommitInput(graph=self._graph.signature, records=records)))

    def _result(self) -> wire.RunResult:
        events = self.journal.events
        outputs = [_readable(event.data) for event in events if event.type == "output"]
        return wire.RunResult(
            outputs=outputs,
            state=self.journal.state,
            iteration=self._iteration,
            checkpoint_id=self.lineage.head or "",
            events=list(events) if sum(map(weight, events)) <= RESULT_EVENTS_LIMIT else None,
        )


_DELIVERED: tuple[Section, ...] = ("state", "executors", "attributes")


def _readable(value: wire.Value | None) -> Any:
    if value is None:
        return None
    return plain(value.inline) if value.ref is None else {"ref": value.ref, "size": value.size}
