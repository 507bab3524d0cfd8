"""The engine: takes a fact, changes state, answers with decisions. See the package for the theory of operation."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

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
from .level import Caller, Level
from .lineage import Lineage
from .recorder import Recorder, Stamp
from .snapshot import Place, as_changes, merged
from .superstep import Superstep, events_of, invoked

SUPERSTEP_INLINE_BUDGET = 512 * 1024
DELIVERY_INLINE_BUDGET = 128 * 1024
"""Bytes of values that the results of one superstep, and of one delivery, may hold inline: a fan-in of them all must
fit one payload (Temporal's limit is 2 MiB), twice, since a checkpoint of them may ride along."""


_NOT_SEEDED = wire.Graph(name="", signature="", start_executor_id="", executors=[], max_iterations=0)


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
        self._decisions: list[Decision] = []
        self.phase = Phase.SEEDING
        self.journal = Journal()
        self._recorder = Recorder(mint, self.journal)
        self._inbox = Inbox()
        self._root = Level(_NOT_SEEDED, self._recorder.put)
        self._aside: dict[Place, Any] = {}  # what sub-workflows changed in the superstep under way
        self._under_way: dict[int, tuple[Level, int]] = {}  # deliveries: the level and the position in its superstep
        self._deliveries = 0  # so far
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
        self._own = self._recorder.header("entry", 0)
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
        return [request for key, request in self._root.requests.items() if not self._inbox.is_answered(key)]

    def status(self) -> wire.RunStatus:
        """Return the run's status."""
        return wire.RunStatus(
            state=self.journal.state,
            iteration=self._root.iteration,
            pending_requests=len(self.pending_requests()),
            checkpoint_id=self.lineage.head,
            events=len(self.journal.events),
            unmirrored_checkpoints=self.lineage.unmirrored,
            mirror_error=self.lineage.mirror_error,
        )

    # --- facts ----------------------------------------------------------------------------------------------

    def _on_seeded(self, result: wire.SeedResult) -> None:
        self._root = root = Level(result.graph, self._recorder.put)
        root.add_children(self._aside.__setitem__)
        for key, value in result.state.items():
            root.put("state", key, value)
        for path, changes in {"": wire.Changes(executors={**result.executors}), **result.children}.items():
            for executor_id, value in changes.executors.items():
                self._recorder.put((path, "executors", executor_id), value)
        root.messages = [result.message]
        self.phase = Phase.RUNNING
        self._recorder.record(self._take_own("entry"), root.messages, result.commit)
        self._begin_superstep(root)

    def _on_delivery_finished(self, index: int, result: wire.DeliveryResult) -> None:
        if index not in self._under_way:
            return  # a sibling failed: this superstep leaves nothing
        level, position = self._under_way.pop(index)
        superstep = _under_way(level)
        if result.call is None:
            for event in events_of(superstep.deliveries[position], result):
                self._show(level, event)
        if index == self._carrier:
            self._carrier = None
            self._recorder.settle(result.records)
        if result.call is not None:
            child = level.children[superstep.deliveries[position].executor_id]
            child.call(Caller(level, position), result.call)
            self._begin_superstep(child)
            return
        following = superstep.finish(position, result)
        if following is not None:
            self._deliver(level, following)
        if superstep.finished:
            self._end_superstep(level)

    def _show(self, level: Level, event: wire.Event) -> None:
        level.show(event)
        if level is self._root:
            if event.request is not None:
                self._inbox.ask_again(event.request.request_id)
            self.journal.emit(event)

    def _on_delivery_failed(self, index: int, failure: wire.Failure) -> None:
        if index in self._under_way:
            level, position = self._under_way.pop(index)
            self._executor_failed(level, position, failure)

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
            self._begin_superstep(self._root)
        elif not self._accepted:
            self._response_stamp = None
            if self.phase is Phase.PAUSED:
                self._own = None

    # --- supersteps -----------------------------------------------------------------------------------------

    def _begin_superstep(self, level: Level) -> None:
        if not level.messages:
            self._rest(level)
            return
        failure = level.beyond_limit()
        if failure is not None:
            self._workflow_failed(level, failure)
            return
        if level is self._root:
            self.journal.superstep("superstep_started", level.iteration + 1)
        superstep = level.open_superstep(self._key(level))
        if not isinstance(superstep, Superstep):
            self._workflow_failed(level, superstep)
            return
        for position in superstep.first():
            self._deliver(level, position)
        if superstep.finished:
            self._end_superstep(level)

    def _key(self, level: Level) -> str:
        """Return the key of a level's next superstep, which a resume from the same checkpoint gives again."""
        if level.caller is None:
            return self.lineage.head or ""
        superstep, position = _under_way(level.caller.level), level.caller.position
        return f"{superstep.key_of(position)}/{len(superstep.nested[position].runs)}.{level.iteration + 1}"

    def _deliver(self, level: Level, position: int) -> None:
        superstep = _under_way(level)
        delivery = superstep.deliveries[position]
        index = self._deliveries
        self._deliveries += 1
        self._under_way[index] = level, position
        records = self._recorder.carry()
        if records:
            self._carrier = index
        own = self._own_of(level, superstep, records)
        snapshot = self._snapshot_for(level, superstep, delivery.executor_id, whole=own is not None)
        self._decisions.append(
            Deliver(
                index,
                wire.DeliveryInput(
                    graph=self._root.graph.signature,
                    executor_id=delivery.executor_id,
                    path=list(level.path),
                    key=superstep.key_of(position),
                    source_ids=delivery.source_ids,
                    messages=delivery.messages,
                    fan_in=delivery.fan_in,
                    iteration=level.iteration + 1,
                    inline_budget=_inline_budget(level, superstep),
                    nested=_nested(level, superstep, position),
                    snapshot=None if records and records[-1].snapshot == snapshot else snapshot,
                    records=records,
                    own=own,
                ),
            )
        )

    def _own_of(
        self, level: Level, superstep: Superstep, records: list[wire.CheckpointRecord]
    ) -> wire.CheckpointHeader | None:
        """Return the checkpoint that a delivery makes by its outcome: where it is the only one, and owes no other."""
        if level is not self._root or len(superstep.deliveries) > 1 or len(records) != self.lineage.unmirrored:
            return None
        self._own = self._own or self._recorder.header("superstep", level.iteration + 1)
        return self._own

    def _snapshot_for(self, level: Level, superstep: Superstep, executor_id: str, *, whole: bool) -> wire.Snapshot:
        """Return what an executor is to see: its own workflow; or all, where a checkpoint is to be made of it."""
        own = superstep.own_changes(executor_id)
        snapshot = self._recorder.snapshot()
        if level is self._root and not level.children:
            return wire.replace(snapshot, changes=merged(snapshot.changes, own))
        changes = merged(snapshot.changes, as_changes(self._aside.items()))
        if level is not self._root:
            changes = changes.children.get(path_text(level.path), wire.Changes())
        elif not whole:
            changes = wire.replace(changes, children={})
        return wire.replace(snapshot, changes=merged(changes, own))

    def _end_superstep(self, level: Level) -> None:
        superstep = _under_way(level)
        events = level.close_superstep(superstep)
        if level is not self._root:
            self._begin_superstep(level)
            return
        self.journal.merge(events)
        for place, value in self._aside.items():
            self._recorder.put(place, value)
        self._aside.clear()
        committed = superstep.last_result.own if superstep.deliveries else None
        self._recorder.record(self._take_own("superstep"), level.messages, committed)
        self.journal.superstep("superstep_completed", level.iteration)
        if self._accepted:
            self._enter_responses(None)
        self._begin_superstep(level)

    def _rest(self, level: Level) -> None:
        """No message is in flight: a sub-workflow's caller goes on; the run pauses while requests are pending."""
        if level.caller is not None:
            caller, position = level.caller.level, level.caller.position
            nested = _under_way(caller).nested
            nested[position] = wire.replace(nested[position], runs=[*nested[position].runs, level.shown])
            level.caller = None
            self._deliver(caller, position)
        elif level.requests:
            self.phase = Phase.PAUSED
            self.journal.status("IDLE_WITH_PENDING_REQUESTS")
        else:
            self.phase = Phase.ENDING
            for one in level.with_children():
                for warning in one.unfilled_fan_ins():
                    self.journal.warn(warning)
            self.journal.status("IDLE")

    def _executor_failed(self, level: Level, position: int, failure: wire.Failure) -> None:
        if level is self._root:
            delivery = _under_way(level).deliveries[position]
            self.journal.emit(invoked(delivery))
            details = failure.details
            self.journal.emit(wire.Event(type="executor_failed", executor_id=delivery.executor_id, details=details))
        self._workflow_failed(level, failure)

    def _workflow_failed(self, level: Level, failure: wire.Failure) -> None:
        """A workflow has failed; a sub-workflow's error is that of the executor around it."""
        if level.caller is None:
            self._fail(failure)
        else:
            self._executor_failed(level.caller.level, level.caller.position, failure)

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
        self._under_way.clear()
        self._aside.clear()
        if self._root.superstep is not None and self._accepted:
            self._keep_responses()
        self._inbox.refuse_all(reason)

    def _keep_responses(self) -> None:
        """Record the responses that were accepted while the abandoned superstep ran, on what it found.

        Their senders were promised a checkpoint; a resume from it has the superstep and the responses before it. A
        response to a request that this superstep made goes with the request.
        """
        self._root.undo_superstep()
        self._accepted = [routed for routed in self._accepted if _request_id(routed) in self._root.requests]
        if self._accepted:
            self._enter_responses(None)

    # --- responses ------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        if self.phase in (Phase.ENDING, Phase.ENDED):
            self._inbox.refuse_all("the run has ended.")
            return
        batch = self._inbox.next_batch(self._root.requests)
        self._show_refusals()
        if not batch:
            return
        at_rest = self.phase is Phase.PAUSED and not self.lineage.unmirrored
        if at_rest:
            self._response_stamp = self._recorder.mint()
            self._own = self._recorder.header("response", self._root.iteration, self._response_stamp)
        self._decisions.append(
            Judge(
                wire.RespondInput(
                    graph=self._root.graph.signature,
                    requests=[self._root.requests[queued.response.request_id] for queued in batch],
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
                self._root.answered(request_id)
        self._root.messages.extend(self._accepted)
        header = self._take_own("response", self._response_stamp)
        self._accepted, self._response_stamp = [], None
        self._recorder.record(header, self._root.messages, committed)

    # --- checkpoints and the end ----------------------------------------------------------------------------

    def _take_own(self, kind: wire.CheckpointKind, stamp: Stamp | None = None) -> wire.CheckpointHeader:
        """Return the header that an activity was given for its own outcome, or a new one."""
        own, self._own = self._own, None
        return own or self._recorder.header(kind, self._root.iteration, stamp)

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
            data = wire.CommitInput(graph=self._root.graph.signature, records=records, discard=list(self._discard))
            self._decisions.append(Commit(data))

    def _conclude(self) -> None:
        """End the run once the blob store has every checkpoint."""
        if self.phase is Phase.ENDING and not self.lineage.unmirrored and not self._discard:
            self.phase = Phase.ENDED
            if self._cancelled:
                return
            result = self.journal.result(self._root.iteration, self.lineage.head or "")
            self._decisions.append(Finish(result) if self._failure is None else Fail(self._failure))


def _under_way(level: Level) -> Superstep:
    assert level.superstep is not None
    return level.superstep


def _nested(level: Level, superstep: Superstep, position: int) -> wire.Nested | None:
    """Return what a delivery is told of the sub-workflow that its executor wraps, if it wraps one."""
    child = level.children.get(superstep.deliveries[position].executor_id)
    if child is None:
        return None
    return superstep.nested.setdefault(position, wire.Nested(requests=list(child.requests.values())))


def _inline_budget(level: Level, superstep: Superstep) -> int:
    """Return what a delivery's result may hold inline: all that a sub-workflow shows goes into one payload."""
    shown = sum(map(weight, level.shown))
    return max(0, min(DELIVERY_INLINE_BUDGET, (SUPERSTEP_INLINE_BUDGET - shown) // len(superstep.deliveries)))


def _request_id(routed: wire.RoutedMessage) -> str:
    """Return the id of the request that a response answers."""
    request = routed.message.request
    return "" if request is None else request.request_id
