"""The engine: takes a fact, changes state, answers with decisions. See the package for the theory of operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from temporal_adapter import wire

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
from .journal import Journal
from .lineage import Lineage
from .recorder import Recorder, Stamp
from .snapshot import Section
from .superstep import Superstep, changes_of, events_of, invoked, messages_of, route, routing_error

SUPERSTEP_INLINE_BUDGET = 512 * 1024
DELIVERY_INLINE_BUDGET = 128 * 1024
"""Bytes of values that the results of one superstep, and of one delivery, may hold inline: a fan-in of them all must
fit one payload (Temporal's limit is 2 MiB), twice, since a checkpoint of them may ride along."""


class Phase(Enum):
    """Where a run stands."""

    SEEDING = "seeding"
    RUNNING = "running"
    PAUSED = "paused"
    ENDING = "ending"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class _Before:
    """What a superstep found and consumes."""

    messages: list[wire.RoutedMessage]
    buffers: dict[str, list[wire.Message]]  # those that its messages changed
    requests: dict[str, wire.Request]


class Engine:
    """One run of one MAF workflow."""

    def __init__(self, mint: Callable[[], Stamp]) -> None:
        self._decisions: list[Decision] = []
        self.phase = Phase.SEEDING
        self.journal = Journal()
        self._recorder = Recorder(mint, self.journal)
        self._inbox = Inbox()
        self._iteration = 0
        self._messages: list[wire.RoutedMessage] = []  # in flight
        self._buffers: dict[str, list[wire.Message]] = {}  # of fan-ins
        self._requests: dict[str, wire.Request] = {}  # pending, or answered in this superstep
        self._superstep: Superstep | None = None
        self._before = _Before([], {}, {})  # the superstep under way
        self._first_index = 0  # of the deliveries of the superstep under way
        self._carrier: int | None = None  # the delivery that writes records
        self._own: wire.CheckpointHeader | None = None  # the checkpoint that an activity makes of its own outcome
        self._accepted: list[wire.RoutedMessage] = []  # responses that wait for the superstep to end
        self._response_stamp: Stamp | None = None  # of the response-entry checkpoint for them
        self._failure: wire.Failure | None = None  # of a run that is ending badly
        self._cancelled = False
        self._discard: list[str] = []  # checkpoints that an abandoned activity may write
        self._committing, self._discarding = False, 0  # and how many of these a commit has with it

    # --- what the owner calls -------------------------------------------------------------------------------

    def start(self, message: Any, options: wire.StartOptions) -> wire.SeedInput:
        """Begin the run; the answer to the returned input is `Seeded`, or `abort`."""
        self.journal.begin()
        self._own = self._recorder.header("entry", self._iteration)
        return wire.SeedInput(message=message, options=options, header=self._own)

    def abort(self, failure: wire.Failure) -> None:
        """The run could not be seeded."""
        self.journal.fail(failure.details)
        self.phase = Phase.ENDED
        self._inbox.refuse_all("the run failed.")

    def cancel(self) -> list[Decision]:
        """The run was cancelled from outside; it is over when the decisions, if any, are carried out."""
        self.journal.status("CANCELLED")
        seeded = self.phase is not Phase.SEEDING
        self._stop("the run was cancelled.")
        if not seeded:  # there is no graph to commit for, and nothing but the input to lose
            self._discard = []
        self._cancelled = True
        return self._decide()

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
                self._discard = self._discard[self._discarding :]
                self._committing, self._discarding = False, 0
                self._recorder.settle(outcome)
        self._judge()
        return self._decide()

    def _decide(self) -> list[Decision]:
        self._mirror()
        self._conclude()
        decisions, self._decisions = [*self._inbox.take_answers(), *self._decisions], []
        return decisions

    @property
    def lineage(self) -> Lineage:
        """The checkpoints recorded so far."""
        return self._recorder.lineage

    def pending_requests(self) -> list[wire.Request]:
        """Return the requests that wait for a response, in order of first sight; none once the run is ending."""
        if self.phase in (Phase.ENDING, Phase.ENDED):
            return []
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
            self._recorder.put("state", key, value)
        for key, value in result.executors.items():
            self._recorder.put("executors", key, value)
        self._messages = [result.message]
        self.phase = Phase.RUNNING
        self._recorder.record(self._take_own("entry"), self._messages, result.commit)
        self._begin_superstep()

    def _on_delivery_finished(self, index: int, result: wire.DeliveryResult) -> None:
        superstep = self._superstep
        if superstep is None or self.phase is not Phase.RUNNING:
            return  # a sibling failed: this superstep leaves nothing
        position = index - self._first_index
        for event in events_of(superstep.deliveries[position], result):
            if event.request is not None:
                self._inbox.ask_again(event.request.request_id)
                self._requests[event.request.request_id] = event.request
                self._recorder.put("requests", event.request.request_id, event.request)
            self.journal.emit(event)
        if index == self._carrier:
            self._carrier = None
            self._recorder.settle(result.records)
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
        stamp = self._response_stamp = self._response_stamp or self._recorder.mint()
        judged, self._inbox.judging = self._inbox.judging, []
        for queued, judgement in zip(judged, result.judgements, strict=True):
            if judgement.message is not None:
                self._accepted.append(judgement.message)
                self._inbox.accept(queued, stamp.id)
            else:
                self._inbox.settle(queued, Fate(queued.response.request_id, refused=judgement.refused or "refused"))
        self._show_refusals()
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
        unchanged = {key: self._buffers.get(key, []) for key in routing.buffers}
        self._before = _Before(self._messages, unchanged, dict(self._requests))
        self._set_buffers(routing.buffers)
        self._messages = []
        self._superstep = Superstep(routing.deliveries)
        for position in self._superstep.first():
            self._deliver(self._superstep, position)
        if self._superstep.finished:
            self._end_superstep(self._superstep)

    def _set_buffers(self, buffers: dict[str, list[wire.Message]]) -> None:
        for key, buffered in buffers.items():
            self._buffers[key] = buffered
            self._recorder.put("buffers", key, buffered or None)

    def _deliver(self, superstep: Superstep, position: int) -> None:
        delivery = superstep.deliveries[position]
        index = self._first_index + position
        records = self._recorder.carry()
        if records:
            self._carrier = index
        if len(superstep.deliveries) == 1 and len(records) == self.lineage.unmirrored:
            self._own = self._recorder.header("superstep", self._iteration + 1)
        snapshot = self._recorder.snapshot(superstep.own_changes(delivery.executor_id))
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
                    self._recorder.put(section, key, value)
            self._messages.extend(messages_of(delivery.executor_id, result))
            self.journal.merge(events_of(delivery, result))
            committed = result.own
        self._iteration += 1
        self._first_index += len(superstep.deliveries)
        self._superstep = None
        self._recorder.record(self._take_own("superstep"), self._messages, committed)
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
        shown = message if self._graph.shows_error_messages else error_type  # as MAF's WorkflowErrorDetails does
        details = wire.ErrorDetails(error_type=error_type, message=shown)
        self._fail(wire.Failure(error_type=error_type, message=message, details=details))

    def _fail(self, failure: wire.Failure) -> None:
        self.journal.fail(failure.details)
        self._failure = failure
        self._stop("the run failed.")

    def _stop(self, reason: str) -> None:
        """Leave the superstep under way, if any, without its outcome."""
        self.phase = Phase.ENDING
        if self._own is not None:
            self._discard.append(self._own.checkpoint_id)
            self._own = None
        if self._carrier is not None:  # whether it wrote its records is not known, and writing them again is harmless
            self._carrier = None
            self._recorder.settle(None)
        if self._superstep is not None and self._accepted:
            self._keep_responses()
        self._inbox.refuse_all(reason)

    def _keep_responses(self) -> None:
        """Record the responses that were accepted while the abandoned superstep ran, on what it found.

        Their senders were promised a checkpoint; a resume from it has the superstep and the responses before it. A
        response to a request that this superstep made goes with the request.
        """
        self._set_buffers(self._before.buffers)
        for request_id in [one for one in self._requests if one not in self._before.requests]:
            self._recorder.put("requests", request_id, None)
        self._requests = dict(self._before.requests)
        self._messages = list(self._before.messages)
        self._accepted = [routed for routed in self._accepted if _request_id(routed) in self._requests]
        if self._accepted:
            self._enter_responses(None)

    # --- responses ------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        if self.phase in (Phase.ENDING, Phase.ENDED):
            self._inbox.refuse_all("the run has ended.")
            return
        batch = self._inbox.next_batch(self._requests)
        self._show_refusals()
        if not batch:
            return
        at_rest = self.phase is Phase.PAUSED and not self.lineage.unmirrored
        if at_rest:
            self._response_stamp = self._recorder.mint()
            self._own = self._recorder.header("response", self._iteration, self._response_stamp)
        self._decisions.append(
            Judge(
                wire.RespondInput(
                    graph=self._graph.signature,
                    requests=[self._requests[queued.response.request_id] for queued in batch],
                    responses=[queued.response for queued in batch],
                    header=self._own if at_rest else None,
                    snapshot=self._recorder.snapshot() if at_rest else None,
                )
            )
        )

    def _show_refusals(self) -> None:
        for fate in self._inbox.take_refusals():
            self.journal.warn(f"A response to request {fate.request_id!r} was refused: {fate.refused}")

    def _enter_responses(self, committed: wire.CommitOutcome | None) -> None:
        """Put the accepted responses in flight, in a checkpoint of their own."""
        for request_id in map(_request_id, self._accepted):
            if self._inbox.is_answered(request_id):  # else it was made again meanwhile, and waits
                del self._requests[request_id]
                self._recorder.put("requests", request_id, None)
        self._messages.extend(self._accepted)
        header = self._take_own("response", self._response_stamp)
        self._accepted, self._response_stamp = [], None
        self._recorder.record(header, self._messages, committed)

    # --- checkpoints and the end ----------------------------------------------------------------------------

    def _take_own(self, kind: wire.CheckpointKind, stamp: Stamp | None = None) -> wire.CheckpointHeader:
        """Return the header that an activity was given for its own outcome, or a new one."""
        own, self._own = self._own, None
        return own or self._recorder.header(kind, self._iteration, stamp)

    def _mirror(self) -> None:
        """Commit what no delivery will carry: at rest, and while the store is in trouble."""
        if self.phase is Phase.ENDED or (self.phase is Phase.RUNNING and not self._recorder.troubled):
            return
        if self._committing:
            return
        records = self.lineage.carry()
        if records or self._discard:
            self._committing = True
            self._discarding = len(self._discard)
            data = wire.CommitInput(graph=self._graph.signature, records=records, discard=list(self._discard))
            self._decisions.append(Commit(data))

    def _conclude(self) -> None:
        """End the run once the blob store has every checkpoint."""
        if self.phase is Phase.ENDING and not self.lineage.unmirrored and not self._discard:
            self.phase = Phase.ENDED
            if self._cancelled:
                return
            result = self.journal.result(self._iteration, self.lineage.head or "")
            self._decisions.append(Finish(result) if self._failure is None else Fail(self._failure))


_DELIVERED: tuple[Section, ...] = ("state", "executors", "attributes")


def _request_id(routed: wire.RoutedMessage) -> str:
    """Return the id of the request that a response answers."""
    request = routed.message.request
    return "" if request is None else request.request_id
